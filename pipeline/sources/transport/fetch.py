"""Get documents from commands and URLs at build time, as files for the readers; find and run the programs for it.

Messages name the program, or the URL without user and query: the rest may be secret.
"""

import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from pipeline.errors import RunAborted, Unavailable
from pipeline.settings import LimitsSettings, SourceSettings
from pipeline.sources.formats.document import is_page, suffix_of, unpacked
from pipeline.sources.formats.openapi_files import NotFollowed, Opener, read_file
from pipeline.sources.formats.other_kinds import other_text
from pipeline.sources.naming import redacted, subject, too_large, too_late, without_user
from pipeline.sources.transport.access import Access, resolve_access
from pipeline.sources.transport.answers import Answer, Page

_CHUNK = 65_536
_INHERITED = frozenset(
    "HOME LOGNAME USER SHELL TERM LANG LANGUAGE TZ TMPDIR XDG_CACHE_HOME SSL_CERT_FILE SSL_CERT_DIR".split()
)
_BESIDE_PYTHON = Path(sys.executable).parent


@contextmanager
def document(
    source: SourceSettings, folder: Path, limits: LimitsSettings, page: Page | None = None
) -> Iterator[tuple[Path, Answer | None]]:
    """Open a temporary file with the document of a `command` or `url`, or a `page` of it, and give a server's answer.

    Its suffix says how it is written. Raises Unavailable where it may come another time, else RunAborted.
    """
    access, answer = resolve_access(source), None
    if source.command is not None:
        content_type, body = "", _run(source, folder, access, limits)
    else:
        from pipeline.sources.transport import http  # with httpx, where something is fetched

        content_type, body, *_ = answer = http.get(source, access, limits, page)
    body = unpacked(body, subject(source), limits.document_bytes)
    if not body.strip():
        raise RunAborted(f"{subject(source)} gave nothing: its {source.format} document is empty")
    if is_page(body, content_type):
        if other := other_text(body[:1024].decode(errors="replace")):
            raise RunAborted(f"{subject(source)} gave {other}")
        raise RunAborted(
            f"{subject(source)} gave a web page (HTML), not a document in the format {source.format}: "
            "it may ask for a login, or be down"
        )
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary, f"document{_suffix(source, content_type, body)}")
        path.write_bytes(body)
        yield path, answer


def files_of_server(source: SourceSettings) -> Opener:
    """Return what opens the files that a `url`'s document refers to: those of its own server, asked in the same way."""
    written, own, until = source.url or "", without_user(source.url or ""), time.monotonic() + 10 * source.timeout_s

    def opened(address: str, limits: LimitsSettings) -> tuple[Any, int]:
        parts = without_user(address)
        if (parts.scheme, parts.netloc.lower()) != (own.scheme, own.netloc.lower()):
            raise NotFollowed("is on another server")
        if time.monotonic() > until:
            raise too_late(source)
        url = urlunsplit(parts._replace(netloc=urlsplit(written).netloc))
        try:
            with document(source.model_copy(update={"url": url}), Path(), limits) as (path, _):
                return read_file(path, limits)
        except RunAborted as error:
            if isinstance(error, Unavailable):  # the tools would lose what the file says: they are kept as they were
                raise
            raise NotFollowed(f"could not be had: {error}") from None

    return opened


def _suffix(source: SourceSettings, content_type: str, body: bytes) -> str:
    """Return how the body is written: as the server says, else as the URL ends, else as the body begins."""
    if source.format == "jsonl":
        return ".jsonl"
    path = urlsplit(source.url).path if source.url is not None else ""
    for hint in (content_type.partition(";")[0].lower(), suffix_of(Path(path))):
        for words, suffix in ((("yaml", "yml"), ".yaml"), (("jsonl", "ndjson"), ".jsonl"), (("json",), ".json")):
            if any(word in hint for word in words):
                return suffix
    return ".json" if body.removeprefix(b"\xef\xbb\xbf").lstrip().startswith((b"{", b"[")) else ".yaml"


def program(access: Access, folder: Path) -> str:
    """Return the program of a command as a full path. Raises RunAborted where it is not installed."""
    name = access.command[0]
    # A path is meant from the catalog's folder, where the command runs.
    found = shutil.which(str((folder / name).absolute()) if os.sep in name else name, path=search_path())
    if found is None:
        where = "there is no such program" if os.sep in name else f"it is neither in {_BESIDE_PYTHON} nor on PATH"
        raise RunAborted(f"the command {name!r} is not installed: {where}")
    return os.path.abspath(found)


def search_path() -> str:
    """Return PATH for commands, led by this Python's folder: its programs are found though it is not activated."""
    return os.pathsep.join((str(_BESIDE_PYTHON), os.environ.get("PATH") or os.defpath))


def environment(access: Access) -> dict[str, str]:
    """Return the environment of a command: where programs and files are, the language, its own variables; no secret."""
    kept = {name: value for name, value in os.environ.items() if name in _INHERITED or name.startswith("LC_")}
    return {**kept, "PATH": search_path(), **access.env}


def _run(source: SourceSettings, folder: Path, access: Access, limits: LimitsSettings) -> bytes:
    """Return what a command prints on standard output. Raises Unavailable where it takes too long, else RunAborted."""
    command = [program(access, folder), *access.command[1:]]
    pipe, silent, env = subprocess.PIPE, subprocess.DEVNULL, environment(access)
    try:
        process = subprocess.Popen(  # noqa: S603 - the catalog's own command, and no shell
            command, stdin=silent, stdout=pipe, stderr=pipe, cwd=folder, env=env, start_new_session=True
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "an argument holds a NUL"
        raise RunAborted(f"{subject(source)} could not be started: {reason}") from None
    with process:
        try:
            output, errors = _listen(process, source, limits)
        except BaseException:
            # With all that it started, while its number is still its own; macOS refuses where all have ended.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode:
        lines = [line for line in errors.decode("utf-8", "replace").splitlines() if line.strip()]
        how = f"exit code {process.returncode}" if process.returncode > 0 else f"signal {-process.returncode}"
        why = redacted(lines[-1], source, access.secrets) if lines else "it said nothing"
        raise RunAborted(f"{subject(source)} ended with {how}: {why}")
    return output


def _listen(process: "subprocess.Popen[bytes]", source: SourceSettings, limits: LimitsSettings) -> tuple[bytes, bytes]:
    """Return all of a process's output and the end of its errors, read together so that neither pipe fills up."""
    until = time.monotonic() + source.timeout_s
    output, errors = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        for pipe, kept in ((process.stdout, output), (process.stderr, errors)):
            assert pipe is not None
            selector.register(pipe, selectors.EVENT_READ, kept)
        while selector.get_map():
            if (left := until - time.monotonic()) <= 0:
                raise too_late(source)
            for key, _ in selector.select(left):
                if not (chunk := os.read(key.fd, _CHUNK)):
                    selector.unregister(key.fileobj)
                key.data.extend(chunk)
            if len(output) > limits.document_bytes:
                raise too_large(source, limits)
            del errors[:-_CHUNK]  # its last words are enough
    try:
        process.wait(max(0.0, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise too_late(source) from None
    return bytes(output), bytes(errors)
