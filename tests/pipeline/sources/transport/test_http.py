"""Connections of sources: where they may lead, whom TLS names, which proxy is asked, and their deadline."""

import asyncio
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import RunAborted, Unavailable
from pipeline.monitoring.hook import HookFailed, post
from pipeline.settings import NotifySettings
from pipeline.sources.transport import http
from pipeline.sources.transport.http import Reach
from tests.pipeline.sources.reading import read_one, stop_one
from tests.pipeline.sources.web import Web, in_thread
from tests.support.certificates import write_certificate

HOST = "tools.example.com"
_JSON = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
_HEADERS = b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: y\r\n" % number for number in range(1_000))


def _resolved(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    """Let every name have these addresses: there is no network in a test."""
    rows = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 80)) for address in addresses]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: rows)


@pytest.mark.parametrize(
    "host",
    "127.0.0.1 10.0.0.1 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0 [::1] 2130706433 0x7f.1".split(),
)
def test_a_public_source_leads_to_no_written_private_address(host: str) -> None:
    with pytest.raises(RunAborted, match=r"an address of this machine or a private network. If that is right, write"):
        Reach("the url 'x'", HOST).check(host)
    Reach("the url 'x'", host).check(host)  # the operator's own word
    Reach("the url 'x'", HOST, (host,)).check(host)


@pytest.mark.parametrize("addresses", [("169.254.169.254",), ("93.184.216.34", "10.0.0.7")])
@pytest.mark.parametrize("kind", ["openapi", None])
def test_a_public_name_with_a_private_address_is_refused(
    monkeypatch: pytest.MonkeyPatch, addresses: tuple[str, ...], kind: str | None
) -> None:
    _resolved(monkeypatch, *addresses)
    stopped = stop_one(url=f"http://{HOST}/mcp", format=kind, timeout_s=20)
    assert f"leads to '{HOST}', which is {addresses[-1]}: an address of this machine" in str(stopped)
    assert f'write private_hosts = ["{HOST}"] under its [[source]]' in str(stopped)
    assert not isinstance(stopped, Unavailable)


@pytest.mark.parametrize("host", ["localhost", "mcp-server", "tools.internal", "printer.local", "127.0.0.1"])
def test_a_host_that_can_only_be_private_is_the_operators_word(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    _resolved(monkeypatch, "127.0.0.1")
    assert asyncio.run(Reach("the url 'x'", host).resolve(host, 80)) == ["127.0.0.1"]
    with pytest.raises(RunAborted):
        asyncio.run(Reach("the url 'x'", HOST).resolve(host, 80))


def test_a_name_that_is_not_resolved_in_time_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    hangs = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: hangs.wait(10) and [])
    try:
        stopped = stop_one(url=f"http://{HOST}/api", format="openapi", timeout_s=0.05)
        assert isinstance(stopped, Unavailable) and "took more than the 0.05 s" in str(stopped)
    finally:
        hangs.set()


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
        ("hook", _HEADERS),
    ],
    ids=["headers", "a-body-that-ends-with-the-connection", "chunks", "headers-of-an-mcp-server", "of-a-hook"],
)
def test_whatever_a_server_drips_a_request_ends_at_its_deadline(kind: str | None, content: bytes) -> None:
    with _dripping(content, pause=0.05 if content == _HEADERS else 0.002) as url:
        started = time.monotonic()
        if kind == "hook":
            with pytest.raises(HookFailed, match=r"took more than 0\.2 s"):
                post(NotifySettings(url=url, timeout_s=0.2), {})
        else:
            assert isinstance(stop_one(url=url, format=kind, timeout_s=0.2), Unavailable)
        assert time.monotonic() - started < 30  # the headers take minutes


@pytest.fixture
def secure(tmp_path: Path) -> Iterator[int]:
    """The port of a server that says which host it is asked for, by TLS, with a certificate of HOST."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = f'{{"name": "{self.headers["host"].partition(":")[0]}"}}'.encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    write_certificate(HOST, tmp_path / "certificate", tmp_path / "key")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "certificate", tmp_path / "key")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        with in_thread(server):
            yield server.server_port


def test_the_certificate_is_that_of_the_host_and_the_next_address_is_tried(
    secure: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "looked_up", lambda *_: ["127.0.0.2", "127.0.0.1"])  # nothing listens at the first
    monkeypatch.setattr(http, "is_public", lambda _: True)
    told = "has a certificate that cannot be trusted"
    assert told in str(stop_one(url=f"https://{HOST}:{secure}/x", format="function"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate"))
    (tool,) = read_one(url=f"https://{HOST}:{secure}/x", format="function").tools
    assert tool.name == HOST
    assert told in str(stop_one(url=f"https://other.example.com:{secure}/x", format="function"))


def test_a_source_is_read_where_an_event_loop_runs_already_as_in_a_notebook(web: Web) -> None:
    async def cell() -> Any:
        return read_one(url=web.page('{"name": "a"}'), format="function").tools

    assert len(asyncio.run(cell())) == 1


def test_a_proxy_of_the_environment_is_asked_and_looks_names_up_itself(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "looked_up", lambda *_: pytest.fail("the proxy looks names up"))
    monkeypatch.setenv("http_proxy", web.root)
    web.page('{"name": "a"}', path=f"http://{HOST}/tools.json")
    assert len(read_one(url=f"http://{HOST}/tools.json", format="function").tools) == 1
    assert web.asked[-1][1]["host"] == HOST
    monkeypatch.setenv("no_proxy", HOST)
    monkeypatch.setattr(http, "looked_up", lambda *_: [])
    assert isinstance(stop_one(url=f"http://{HOST}/tools.json", format="function"), Unavailable)
