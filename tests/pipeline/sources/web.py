"""A real web server on loopback for the tests: each page is told what it answers."""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Web:
    """Pages by address, those with a query first. `pause` is the seconds before each byte: a server that drips."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.pages: dict[str, tuple[int, Mapping[str, str], bytes, float]] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []  # each request's target, and its headers in small letters

    def page(
        self,
        body: str | bytes,
        *,
        path: str = "",
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        pause: float = 0.0,
    ) -> str:
        """Put up a page and return its URL."""
        name = path or f"/{len(self.pages)}"
        content = body if isinstance(body, bytes) else body.encode()
        self.pages[name] = (status, headers or {}, content, pause)
        return self.root + name


@contextmanager
def serving() -> Iterator[Web]:
    """The server, for as long as it is needed."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            web.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            status, headers, body, pause = web.pages.get(self.path) or web.pages[self.path.partition("?")[0]]
            self.send_response(status)
            for name, value in {"content-length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                for part in (body,) if not pause else (bytes([byte]) for byte in body):
                    time.sleep(pause)
                    self.wfile.write(part)
            except ConnectionError:
                pass  # the reader had enough

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        web = Web(f"http://127.0.0.1:{server.server_port}")
        with in_thread(server):
            yield web


@contextmanager
def in_thread(server: ThreadingHTTPServer) -> Iterator[None]:
    """Let a server serve in a thread."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
