"""An HTTP/1.1 proxy in front of an S3 server that injects faults by a plan."""

import http.client
import socket
import struct
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.support.faults import Fault, Logged, Plan
from tests.support.ports import kept_port

# Headers of one connection, which are not passed on.
_HOP = ("connection", "keep-alive", "transfer-encoding", "content-length", "expect")


_ERROR = '<?xml version="1.0" encoding="UTF-8"?><Error><Code>{0}</Code><Message>Please try again.</Message></Error>'


@dataclass(frozen=True)
class Answer:
    """An HTTP answer: status, headers and body."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def flipped(self) -> "Answer":
        """Return the answer with one bit of its body turned."""
        return Answer(self.status, self.headers, flipped(self.body))


def error(status: int, code: str, retry_after: float = 0) -> Answer:
    """Return an error as S3 answers it. `retry_after` is in seconds; 0 for no such header."""
    headers = [("content-type", "application/xml")]
    if retry_after:
        headers.append(("retry-after", f"{retry_after:.0f}"))
    return Answer(status, headers, _ERROR.format(code).encode())


def flipped(body: bytes) -> bytes:
    """Return the body with one bit of its middle byte turned."""
    if not body:
        return body
    middle = len(body) // 2
    return body[:middle] + bytes([body[middle] ^ 1]) + body[middle + 1 :]


def _ask(port: int, method: str, path: str, body: bytes, headers: dict[str, str]) -> Answer:
    """Pass a request on to the server on a port of loopback, and return its answer."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return Answer(answer.status, answer.getheaders(), answer.read())


def _send_half(port: int, method: str, path: str, body: bytes, headers: dict[str, str]) -> None:
    """Pass half of a body on and hang up."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            connection.putheader(name, value)
        connection.endheaders(body[: len(body) // 2])


def reset(connection: socket.socket) -> None:
    """Break a connection, as a server that died does."""
    with suppress(OSError):  # the client was faster
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.shutdown(socket.SHUT_RDWR)


class FaultyProxy:
    """Passes requests on to an S3 server on loopback, and injects the faults of its plan.

    Attributes:
        target: The port of the server.
        port: Where it listens, kept for it over `refuse` and `accept`.
        plan: Its faults and its log.
        stopping: Set when it ends, so that no request hangs on.
    """

    def __init__(self, target: int, port: int, seed: int = 0) -> None:
        """Listen at `port` in front of the server on port `target`."""
        self.target = target
        self.port = port
        self.plan = Plan(seed)
        self.stopping = Event()
        self._server: _Server | None = None
        self.accept()

    def accept(self) -> None:
        """Take connections, which is so at the beginning."""
        if self._server is None:
            self.stopping.clear()
            self._server = _Server(("127.0.0.1", self.port), self)
            Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def refuse(self) -> None:
        """Refuse connections from now on, and break those that there are."""
        if self._server is not None:
            self.stopping.set()
            self._server.shutdown()
            self._server.server_close()
            self._server.break_connections()
            self._server = None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], proxy: FaultyProxy) -> None:
        self.proxy = proxy
        self._connections: set[socket.socket] = set()
        super().__init__(address, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that are killed hang up in the middle."""

    def break_connections(self) -> None:
        for connection in list(self._connections):
            reset(connection)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.proxy = self.server.proxy
        self.fault: Fault | None = None

    def _handle(self) -> None:
        url = urlsplit(self.path)
        self.query = {name: values[0] for name, values in parse_qs(url.query, keep_blank_values=True).items()}
        self.key = unquote(url.path).lstrip("/").partition("/")[2]
        self.method = self.command
        if self.command == "GET" and not self.key:
            self.method, self.key = "LIST", self.query.get("prefix", "")
        length = int(self.headers.get("content-length") or 0)
        self.body = self.rfile.read(length)
        self.fault = None
        if len(self.body) < length:  # the client died in the middle
            self._hang_up(None)
            return
        self.fault = self.proxy.plan.draw(self.method, self.key)
        answer = self._result()
        if answer is None or self._kind == "lost answer":
            self._hang_up(answer)
        elif self._kind == "failed answer":
            self._send(error(500, "InternalError"), done=_done(answer))
        else:
            self._send(answer, done=_done(answer), cut=self._kind == "cut answer")

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _handle

    @property
    def _kind(self) -> str:
        return self.fault.kind if self.fault else ""

    @property
    def _seconds(self) -> float:
        return self.fault.seconds if self.fault else 0.0

    def _result(self) -> Answer | None:
        """Return the answer to this request under its fault; None where the server answered nothing."""
        match self._kind:
            case "hang":
                self.proxy.stopping.wait(self._seconds)
            case "break":
                pass
            case "cut request":
                _send_half(self.proxy.target, self.command, self.path, self.body, self._passed_on())
            case "slow down":
                return error(503, "SlowDown", retry_after=self._seconds)
            case "error":
                return error(500, "InternalError")
            case "flip request":
                return self._pass_on(flipped(self.body))
            case "flip answer":
                return self._pass_on(self.body).flipped()
            case kind:
                if kind == "delay":
                    self.proxy.stopping.wait(self._seconds)
                return self._pass_on(self.body)
        return None

    def _pass_on(self, body: bytes) -> Answer:
        return _ask(self.proxy.target, self.command, self.path, body, self._passed_on())

    def _passed_on(self) -> dict[str, str]:
        return {name: value for name, value in self.headers.items() if name.lower() not in _HOP}

    def _hang_up(self, answer: Answer | None) -> None:
        self._record(0, 0, answer is not None and _done(answer))
        reset(self.connection)
        self.close_connection = True

    def _send(self, answer: Answer, *, done: bool, cut: bool = False) -> None:
        body = answer.body[: len(answer.body) // 2] if cut else answer.body
        self._record(answer.status, len(body), done)  # before the answer: who has it finds the request in the log
        self.send_response_only(answer.status)
        length = str(len(answer.body))
        for name, value in answer.headers:
            if name.lower() == "content-length":
                length = value if self.command == "HEAD" else length
            elif name.lower() not in _HOP:
                self.send_header(name, value)
        self.send_header("content-length", length)
        self.end_headers()
        if self.command != "HEAD" and answer.status not in (204, 304):
            self.wfile.write(body)
        if cut:
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True

    def _record(self, status: int, received: int, done: bool) -> None:
        if self.fault and self.fault.act:
            self.fault.act()
        kept = self.body if fnmatchcase(self.key, self.proxy.plan.keep) else b""
        condition = self.headers.get("if-match") or self.headers.get("if-none-match") or ""
        self.proxy.plan.record(
            Logged(self.method, self.key, status, len(self.body), received, self._kind, done, kept, condition)
        )

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


def _done(answer: Answer) -> bool:
    return 200 <= answer.status < 300


@contextmanager
def faulty_proxy(target: int, seed: int = 0) -> Iterator[FaultyProxy]:
    """Yield a proxy to the S3 server on a port of this machine; its faults are drawn by the seed."""
    with kept_port() as port:
        proxy = FaultyProxy(target, port, seed)
        try:
            yield proxy
        finally:
            proxy.refuse()
