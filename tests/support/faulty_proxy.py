"""An HTTP/1.1 proxy in front of an S3 server that injects faults by a plan."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.support.faults import Fault, Logged, Plan
from tests.support.http_exchange import Answer, Upstream, error, flipped, reset
from tests.support.stale_listing import History

# Headers of one connection, which are not passed on.
_HOP = ("connection", "keep-alive", "transfer-encoding", "content-length", "expect")
_BROKEN = "break", "hang", "cut request", "lost answer"


class FaultyProxy:
    """Passes requests on to an S3 server on loopback, and injects the faults of its plan.

    Attributes:
        upstream: The server.
        port: Where it listens. It stays the same over `refuse` and `accept`.
        plan: Its faults and its log.
        history: When objects were written and deleted.
        stopping: Set when it ends, so that no request hangs on.
    """

    def __init__(self, target: int, seed: int = 0) -> None:
        self.upstream = Upstream(target)
        self.port = 0
        self.plan = Plan(seed)
        self.history = History()
        self.stopping = Event()
        self._server: _Server | None = None
        self.accept()

    def accept(self) -> None:
        """Take connections, which is so at the beginning."""
        if self._server is None:
            self.stopping.clear()
            self._server = _Server(("127.0.0.1", self.port), self)
            self.port = self._server.server_port
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

    def handleerror(self, request: Any, client_address: Any) -> None:
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

    def _handle(self) -> None:
        url = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query, keep_blank_values=True).items()}
        self.key = unquote(url.path).lstrip("/").partition("/")[2]
        self.method = self.command
        if self.command == "GET" and not self.key:
            self.method, self.key = "LIST", query.get("prefix", "")
        self.body = self.rfile.read(int(self.headers.get("content-length") or 0))
        fault = self.proxy.plan.draw(self.method, self.key)
        answer = self._result(fault, query)
        done = answer is not None and 200 <= answer.status < 300
        if fault is not None and fault.kind == "failed answer" and answer is not None:
            answer = error(500, "InternalError")
        broken = answer is None or (fault is not None and fault.kind in _BROKEN)
        if answer is None or broken:
            reset(self.connection)
            self.close_connection = True
            self._record(0, 0, fault, done)
        else:
            cut = fault is not None and fault.kind == "cut answer"
            # Before the answer: who has it finds the request in the log.
            self._record(answer.status, len(answer.body) // (2 if cut else 1), fault, done)
            self._send(answer, cut=cut)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _handle

    def _result(self, fault: Fault | None, query: dict[str, str]) -> Answer | None:
        """Return the answer to this request under its fault; None where the server was not asked and none is sent."""
        match fault.kind if fault else "":
            case "hang":
                self._wait(fault)
            case "break":
                pass
            case "slow down":
                return error(503, "SlowDown", retry_after=fault.seconds if fault else 0)
            case "error":
                return error(500, "InternalError")
            case "cut request":
                self.proxy.upstream.send_half(self.command, self.path, self.body, self._passed_on())
            case "flip request":
                return self._pass_on(flipped(self.body))
            case "flip answer":
                return self._pass_on(self.body).flipped()
            case "stale list":
                return self.proxy.history.listing(
                    self.proxy.upstream.ask, self.path, query, fault.seconds if fault else 0
                )
            case "delay":
                self._wait(fault)
                return self._pass_on(self.body)
            case _:
                return self._pass_on(self.body)
        return None

    def _wait(self, fault: Fault | None) -> None:
        self.proxy.stopping.wait(fault.seconds if fault else 0)

    def _pass_on(self, body: bytes) -> Answer:
        self.proxy.history.before(self.proxy.upstream.ask, self.command, self.path, body)
        answer = self.proxy.upstream.ask(self.command, self.path, body, self._passed_on())
        self.proxy.history.after(self.command, self.path, answer.status)
        return answer

    def _passed_on(self) -> dict[str, str]:
        return {name: value for name, value in self.headers.items() if name.lower() not in _HOP}

    def _send(self, answer: Answer, *, cut: bool) -> None:
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
            self.wfile.write(answer.body[: len(answer.body) // 2] if cut else answer.body)
        if cut:
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True

    def _record(self, status: int, received: int, fault: Fault | None, done: bool) -> None:
        kind = fault.kind if fault else ""
        self.proxy.plan.record(Logged(self.method, self.key, status, len(self.body), received, kind, done))

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@contextmanager
def faulty_proxy(target: int, seed: int = 0) -> Iterator[FaultyProxy]:
    """Yield a proxy to the S3 server on a port of this machine; its faults are drawn by the seed."""
    proxy = FaultyProxy(target, seed)
    try:
        yield proxy
    finally:
        proxy.refuse()
