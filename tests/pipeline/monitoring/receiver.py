"""An HTTP server on loopback that keeps what is posted to it."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Posted:
    """One request: its path with the query, its headers in small letters, its body."""

    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> dict[str, Any]:
        """The body, which is a JSON object."""
        content = json.loads(self.body)
        assert isinstance(content, dict)
        return content


@dataclass
class Receiver:
    """The server: its address, what it received, and what it answers, which `answers` may hold back."""

    url: str
    status: int = 200
    location: str | None = None
    answers: threading.Event = field(default_factory=threading.Event)
    posted: list[Posted] = field(default_factory=list)


@contextmanager
def receiver() -> Iterator[Receiver]:
    """Run a receiver inside the `with` block."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            received.posted.append(Posted(self.path, headers, body))
            received.answers.wait(60)
            self.send_response(received.status)
            if received.location:
                self.send_header("location", received.location)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    received = Receiver(f"http://127.0.0.1:{server.server_port}")
    received.answers.set()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield received
    finally:
        received.answers.set()
        server.shutdown()
        server.server_close()
        thread.join()
