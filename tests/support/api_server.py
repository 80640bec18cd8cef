"""An HTTP API on loopback that keeps what it receives and answers as a test says."""

import json
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True)
class Received:
    """A request as it came over the wire. `target` is not decoded."""

    method: str
    target: str
    headers: dict[str, str]  # by lower-case name
    body: bytes

    @property
    def path(self) -> str:
        """Return the path, still percent-encoded."""
        return urlsplit(self.target).path

    @property
    def query(self) -> list[tuple[str, str]]:
        """Return the decoded query."""
        return parse_qsl(urlsplit(self.target).query, keep_blank_values=True)


@dataclass(frozen=True)
class Reply:
    """What the server answers."""

    body: bytes = b"{}"
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})

    @classmethod
    def of(cls, value: Any, status: int = 200) -> "Reply":
        """Return an answer in JSON."""
        return cls(json.dumps(value).encode(), status)


@dataclass
class ApiServer:
    """The running server: its address, what it received, and how it answers from now on."""

    url: str
    received: list[Received]
    answer: Callable[[Received], Reply]

    @property
    def last(self) -> Received:
        """Return the latest request."""
        return self.received[-1]


@contextmanager
def api_server(
    answer: Callable[[Received], Reply] = lambda _: Reply(), tls: ssl.SSLContext | None = None
) -> Iterator[ApiServer]:
    """Run an API on loopback until the block ends, over HTTPS where it has a certificate."""

    class Handler(BaseHTTPRequestHandler):
        def _handle(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Received(self.command, self.path, headers, body)
            server.received.append(request)
            reply = server.answer(request)
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(reply.body)

        do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _handle

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        if tls:
            listening.socket = tls.wrap_socket(listening.socket, server_side=True)
        server = ApiServer(f"http{'s' if tls else ''}://127.0.0.1:{listening.server_port}", [], answer)
        thread = Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            listening.shutdown()
            thread.join()
