"""An HTTP server on loopback that answers POST requests by a function, and keeps them."""

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Answer:
    """The body of an answer, with its type and status."""

    body: str
    content_type: str = "application/json"
    status: int = 200

    @classmethod
    def of_events(cls, events: Iterable[Mapping[str, Any]]) -> "Answer":
        """Return the server-sent events of a stream, each named by its type."""
        lines = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        return cls("".join(lines), "text/event-stream")


@dataclass(frozen=True)
class Posted:
    """A request: its path without the query, its headers with names in lower case, and its JSON."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass
class Loopback:
    """Serves for the length of a `with`. What `answer` raises is the answer, status 400, and is kept in `errors`."""

    answer: Callable[[Posted], Answer]
    requests: list[Posted] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def __enter__(self) -> "Loopback":
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_HEAD(self) -> None:
                self._send(Answer(""))

            def do_GET(self) -> None:
                self._send(Answer("{}", status=404))

            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                request = Posted(self.path.partition("?")[0], headers, json.loads(data or "{}"))
                self._send(outer._answered(request))

            def _send(self, answer: Answer) -> None:
                body = answer.body.encode()
                self.send_response(answer.status)
                self.send_header("content-type", answer.content_type)
                self.send_header("content-length", str(len(body)))
                self.send_header("connection", "close")  # a client may outlive the event loop of its first request
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Print nothing."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True  # a client may open a connection and send nothing
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def _answered(self, request: Posted) -> Answer:
        self.requests.append(request)
        try:
            return self.answer(request)
        except (LookupError, TypeError, ValueError, StopIteration) as error:  # the test reads it
            self.errors.append(f"{request.path}: {error!r}")
            return Answer(json.dumps({"error": {"type": "invalid_request_error", "message": str(error)}}), status=400)
