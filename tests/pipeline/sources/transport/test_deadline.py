"""Servers that drip: whatever they drip, a request ends at its deadline."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pipeline.errors import Unavailable
from pipeline.monitoring.hook import HookFailed, post
from pipeline.settings import NotifySettings
from tests.pipeline.sources.reading import stop_one

_JSON = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
_HEADERS = b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: y\r\n" % number for number in range(1_000))


@contextmanager
def _dripping(content: bytes, pause: float = 0.05) -> Iterator[str]:
    """A server that sends its answer byte by byte, whatever it is asked."""
    stop = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while not stop.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                try:
                    connection.recv(65_536)
                    for byte in content:
                        if stop.wait(pause):
                            return
                        connection.sendall(bytes([byte]))
                except OSError:
                    continue

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
    finally:
        stop.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("openapi", _HEADERS),
        ("openapi", _JSON + b"\r\n" + b"[" * 1_000),
        ("openapi", _JSON + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\n[\r\n" * 1_000),
        (None, _HEADERS),
    ],
    ids=["headers", "a-body-that-ends-with-the-connection", "chunks", "headers-of-an-mcp-server"],
)
def test_a_source_that_drips_is_unavailable_at_its_deadline(kind: str | None, content: bytes) -> None:
    with _dripping(content, pause=0.05 if content == _HEADERS else 0.002) as url:
        started = time.monotonic()
        stopped = stop_one(url=url, format=kind, timeout_s=0.2)
        assert isinstance(stopped, Unavailable)
        assert time.monotonic() - started < 30  # the headers alone would take minutes


def test_a_hook_that_drips_its_headers_fails_at_its_deadline() -> None:
    with _dripping(_HEADERS) as url:
        started = time.monotonic()
        with pytest.raises(HookFailed, match=r"took more than 0\.2 s"):
            post(NotifySettings(url=url, timeout_s=0.2), {})
        assert time.monotonic() - started < 30
