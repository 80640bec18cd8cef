"""CURRENT in Google Cloud Storage, which compares generations where S3 compares ETags."""

import hashlib
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar

import pytest

from router.snapshot.store.bucket.objects import ObjectChanged, Objects

_OBJECT = "CURRENT"


class _Handler(BaseHTTPRequestHandler):
    """Objects by the XML interface of Google Cloud Storage, with the condition that it has for writes."""

    protocol_version = "HTTP/1.1"
    stored: ClassVar[dict[str, tuple[bytes, int]]] = {}

    def do_GET(self) -> None:
        found = self.stored.get(self.path)
        if found is None:
            self._answer(404)
        elif self.headers.get("if-none-match") == _etag(found[0]):
            self._answer(304)
        else:
            self._answer(200, *found)

    def do_PUT(self) -> None:
        data = self.rfile.read(int(self.headers["content-length"]))
        before = self.stored.get(self.path, (b"", 0))[1]
        if int(self.headers.get("x-goog-if-generation-match", before)) != before:
            self._answer(412)
            return
        self.stored[self.path] = data, before + 1
        self._answer(200, data, before + 1, with_body=False)

    def _answer(self, status: int, data: bytes = b"", generation: int = 0, *, with_body: bool = True) -> None:
        body = data if with_body else b""
        self.send_response_only(status)
        self.send_header("content-length", str(len(body)))
        self.send_header("last-modified", "Wed, 21 Oct 2026 07:28:00 GMT")
        if generation:
            self.send_header("etag", _etag(data))
            self.send_header("x-goog-generation", str(generation))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def _etag(data: bytes) -> str:
    return f'"{hashlib.md5(data, usedforsecurity=False).hexdigest()}"'


@pytest.fixture
def objects(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Objects]:
    """The objects of a catalog at an address of Google Cloud Storage."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        account = {"gcs_base_url": f"http://127.0.0.1:{server.server_port}", "disable_oauth": True}
        secrets = dict.fromkeys(("client_email", "private_key", "private_key_id"), "")
        (tmp_path / "account.json").write_text(json.dumps({**account, **secrets}))
        monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT", str(tmp_path / "account.json"))
        monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")  # which allows HTTP
        yield Objects("gs://bucket/catalogs/office", patience_s=1.0)
        server.shutdown()
        _Handler.stored.clear()


def test_an_object_is_replaced_by_whoever_read_it_last_whatever_its_content(objects: Objects) -> None:
    objects.replace(_OBJECT, b"one", None)
    data, version = objects.read(_OBJECT, 100)
    assert objects.read_if_changed(_OBJECT, version, 100) is None
    objects.replace(_OBJECT, data + b" two", version)
    objects.put(_OBJECT, b"one")  # an earlier content is another version all the same
    with pytest.raises(ObjectChanged):
        objects.replace(_OBJECT, b"lost", version)
    assert objects.read(_OBJECT, 100)[0] == b"one"
