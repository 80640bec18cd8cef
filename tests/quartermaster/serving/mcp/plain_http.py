"""An MCP server of the protocol before 2026 over HTTP, in this process: it keeps sessions, and may forget them."""

import gzip
import json
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.quartermaster.serving.mcp.plain_server import Plain


class PlainHttp(ThreadingHTTPServer):
    """`sessions` are those it knows; `seen` are the headers of each request that called a tool.

    With `compresses`, it compresses its answers, though nobody asks for it.
    """

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.sessions: set[str] = set()
        self.seen: list[dict[str, str]] = []
        self.compresses = False
        self.plain = Plain()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/mcp"


@contextmanager
def serving(port: int = 0) -> Iterator[PlainHttp]:
    """The server, in a thread, for as long as it is needed."""
    with PlainHttp(port) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: PlainHttp

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        method, session = message["method"], self.headers.get("mcp-session-id", "")
        if method == "initialize":
            session = uuid.uuid4().hex
            self.server.sessions.add(session)
        elif session not in self.server.sessions and method != "server/discover":
            return self._say(404)
        if "id" not in message:
            return self._say(202)
        if method == "tools/call":
            self.server.seen.append(dict(self.headers))
        (said,) = self.server.plain.hear(message)
        return self._say(200, said, session)

    def do_GET(self) -> None:
        self._say(405)

    do_DELETE = do_GET

    def _say(self, status: int, body: Any = None, session: str = "") -> None:
        data = json.dumps(body).encode() if body is not None else b""
        encoding = "gzip" if self.server.compresses else ""
        data = gzip.compress(data) if encoding and data else data
        self.send_response(status)
        headers = {"content-type": "application/json", "mcp-session-id": session, "content-encoding": encoding}
        for name, value in headers.items():
            if value and data:
                self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass
