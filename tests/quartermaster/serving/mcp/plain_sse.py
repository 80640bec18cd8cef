"""An MCP server of the protocol before 2026 over HTTP+SSE alone, in this process: GET /sse, POST /messages."""

import json
import queue
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.quartermaster.serving.mcp.plain_http import in_thread
from tests.quartermaster.serving.mcp.plain_server import Plain


class PlainSse(ThreadingHTTPServer):
    """`called` are the methods that it was sent. It has one client at a time."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.called: list[str] = []
        self.events: queue.Queue[str | None] = queue.Queue()
        self.plain = Plain()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/sse"


@contextmanager
def serving() -> Iterator[PlainSse]:
    """The server, for as long as it is needed."""
    with in_thread(PlainSse()) as server:
        try:
            yield server
        finally:
            server.events.put(None)


class _Handler(BaseHTTPRequestHandler):
    server: PlainSse

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        event: str | None = "event: endpoint\r\ndata: /messages\r\n\r\n"
        while event is not None:
            try:
                self.wfile.write(event.encode())
            except OSError:
                return
            event = self.server.events.get()

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.called.append(message["method"])
        self.send_response(202)
        self.send_header("content-length", "0")
        self.end_headers()
        for said in self.server.plain.hear(message):
            self.server.events.put(f"event: message\r\ndata: {json.dumps(said)}\r\n\r\n")

    def log_message(self, *_: object) -> None:
        pass
