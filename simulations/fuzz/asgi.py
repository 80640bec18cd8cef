"""An ASGI app that is asked in this process: its lifespan, one request at a time, on an event loop of its own."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

_Headers = Sequence[tuple[bytes, bytes]]


@dataclass(slots=True)
class Answer:
    """An app's answer; `status` is 0 where it sent none."""

    status: int = 0
    headers: dict[bytes, bytes] = field(default_factory=dict)
    body: bytes = b""


class Asked:
    """An app that has started. `ask` it from one thread."""

    def __init__(self, app: Any, loop: asyncio.AbstractEventLoop) -> None:
        """Internal: use `asked`."""
        self._app = app
        self._loop = loop

    def ask(self, method: str, path: bytes, query: bytes, headers: _Headers, body: bytes) -> Answer:
        """Return the answer to one request, sent whole. Raises what the app raises."""
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path.decode("utf-8", "replace"),
            "raw_path": path,
            "query_string": query,
            "root_path": "",
            "headers": list(headers),
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
        }
        return self._loop.run_until_complete(self._answer(scope, body))

    async def _answer(self, scope: dict[str, Any], body: bytes) -> Answer:
        answer = Answer()
        messages = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def receive() -> Any:
            return next(messages, {"type": "http.disconnect"})

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                answer.status, answer.headers = message["status"], dict(message["headers"])
            else:
                answer.body += message.get("body", b"")

        await self._app(scope, receive, send)
        return answer


@contextmanager
def asked(app: Any) -> Iterator[Asked]:
    """Start an app, and end it with the block."""
    incoming: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    outgoing: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    with asyncio.Runner() as runner:  # it also ends what the app has begun: the streams of MCP look for a shutdown
        loop = runner.get_loop()
        life = loop.create_task(app({"type": "lifespan", "asgi": {"version": "3.0"}}, incoming.get, outgoing.put))
        for event in ("startup", "shutdown"):
            loop.run_until_complete(incoming.put({"type": f"lifespan.{event}"}))
            told = loop.run_until_complete(outgoing.get())
            assert told["type"] == f"lifespan.{event}.complete", told
            if event == "startup":
                yield Asked(app, loop)
        loop.run_until_complete(life)
