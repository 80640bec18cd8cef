"""A provider's API on loopback: it answers POST requests by a function, and keeps them."""

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from tests.support.api_server import Received, Reply, api_server


def events(rows: Iterable[Mapping[str, Any]]) -> Reply:
    """Return the server-sent events of a stream, each named by its type."""
    lines = (f"event: {row['type']}\ndata: {json.dumps(row)}\n\n" for row in rows)
    return Reply("".join(lines).encode(), headers={"Content-Type": "text/event-stream"})


@dataclass(frozen=True)
class Posted:
    """A request: its path without the query, its headers with names in lower case, and its JSON."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass
class Loopback:
    """Serves for the length of a `with`. What `answer` raises is the answer, status 400, and is kept in `errors`."""

    answer: Callable[[Posted], Reply]
    requests: list[Posted] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def __enter__(self) -> "Loopback":
        self._stack = ExitStack()
        self.url = self._stack.enter_context(api_server(self._answered)).url
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _answered(self, received: Received) -> Reply:
        if received.method != "POST":
            return Reply(status=200 if received.method == "HEAD" else 404)
        request = Posted(received.path, received.headers, json.loads(received.body or b"{}"))
        self.requests.append(request)
        try:
            return self.answer(request)
        except (LookupError, TypeError, ValueError, StopIteration) as error:  # the test reads it
            self.errors.append(f"{request.path}: {error!r}")
            return Reply.of({"error": {"type": "invalid_request_error", "message": str(error)}}, 400)
