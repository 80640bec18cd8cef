"""A hub of models on loopback, as huggingface_hub asks it: revisions, trees, files in ranges, checksums."""

import hashlib
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from urllib.parse import unquote, urlsplit

import pytest
from huggingface_hub import constants, file_download

_LARGE = ".safetensors"  # kept by LFS: known by its sha256


class Hub:
    """The hub: `revisions` are folders by commit, `main` is the commit of each model's branch.

    `asked` are the requests so far. An answer with a file of `cuts` ends half-way, one for each time that it is named
    there. The content of `damaged` is wrong.
    """

    def __init__(self) -> None:
        self.address = ""
        self.main: dict[str, str] = {}
        self.revisions: dict[str, Path] = {}
        self.asked: list[str] = []
        self.cuts: list[str] = []
        self.damaged = ""

    def publish(self, model: str, folder: Path, commit: str) -> None:
        """Make a folder the newest revision of a model."""
        self.main[model], self.revisions[commit] = commit, folder

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        path = unquote(urlsplit(handler.path).path).strip("/")
        first = int(handler.headers.get("Range", "bytes=0-")[len("bytes=") :].split("-")[0])
        self.asked.append(f"{path} from {first}" if first else path)  # in one step: files are asked for by many threads
        parts = path.removeprefix("api/models/").split("/")
        model, rest = "/".join(parts[:2]), parts[2:]
        commit = rest[1] if len(rest) > 1 and rest[1] != "main" else self.main.get(model, "")
        if model not in self.main or commit not in self.revisions:
            handler.send_response(404)
            handler.send_header("X-Error-Code", "RepoNotFound" if model not in self.main else "RevisionNotFound")
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        files = {
            one.relative_to(folder).as_posix(): one for folder in [self.revisions[commit]] for one in _files(folder)
        }
        if rest[:1] == ["resolve"]:
            self._send_file(handler, "/".join(rest[2:]), files, commit, first)
        elif rest[:1] == ["tree"]:
            _send_json(handler, [_entry(name, file) for name, file in files.items()])
        else:
            siblings = [{"rfilename": name, "size": file.stat().st_size} for name, file in files.items()]
            _send_json(handler, {"id": model, "sha": commit, "siblings": siblings})

    def _send_file(
        self, handler: BaseHTTPRequestHandler, name: str, files: dict[str, Path], commit: str, first: int
    ) -> None:
        content = files[name].read_bytes()
        size, digest = len(content), _digest(files[name])
        if name == self.damaged:
            content = bytes([content[0] ^ 1]) + content[1:]
        handler.send_response(206 if first else 200)
        handler.send_header("X-Repo-Commit", commit)
        handler.send_header("ETag", f'"{digest}"')
        handler.send_header("Content-Length", str(size - first))
        if first:
            handler.send_header("Content-Range", f"bytes {first}-{size - 1}/{size}")
        handler.end_headers()
        if handler.command == "HEAD":
            return
        with suppress(ValueError):
            self.cuts.remove(name)
            content, handler.close_connection = content[: (first + size) // 2], True
        handler.wfile.write(content[first:])


@contextmanager
def connected(cache: Path) -> Iterator[Hub]:
    """Run a hub for the length of a block, which huggingface_hub asks in this process, with an empty cache."""
    with _serving() as hub, pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "HF_HUB_OFFLINE": False,
            "ENDPOINT": hub.address,
            "HUGGINGFACE_CO_URL_TEMPLATE": hub.address + "/{repo_id}/resolve/{revision}/{filename}",
            "HF_HUB_CACHE": str(cache),
            "DOWNLOAD_CHUNK_SIZE": 10_000,  # what is lost when an answer ends half-way
        }.items():
            patch.setattr(constants, name, value)
        # It waits a second before it asks again.
        patch.setattr(file_download, "time", SimpleNamespace(time=time.time, sleep=lambda _: None))
        yield hub


@contextmanager
def _serving() -> Iterator[Hub]:
    hub = Hub()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            hub.answer(self)

        do_HEAD = do_GET

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    hub.address = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _digest(file: Path) -> str:
    content = file.read_bytes()
    if file.suffix == _LARGE:
        return hashlib.sha256(content).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _entry(name: str, file: Path) -> dict[str, object]:
    size, digest = file.stat().st_size, _digest(file)
    entry: dict[str, object] = {"type": "file", "path": name, "size": size, "oid": digest}
    if file.suffix == _LARGE:
        entry["lfs"] = {"oid": digest, "size": size, "pointerSize": 134}
    return entry


def _send_json(handler: BaseHTTPRequestHandler, value: object) -> None:
    content = json.dumps(value).encode()
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    handler.wfile.write(content)
