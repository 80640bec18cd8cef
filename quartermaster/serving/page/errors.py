"""Errors as pages: a browser gets HTML where a program gets JSON."""

import json
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quartermaster.serving.page.rendering import render

# Paths of programs: their errors are JSON, whoever asks.
_API = ("/v1/", "/mcp")
_FILES = frozenset(("/openapi.json", "/metrics", "/healthz", "/readyz"))
_TITLES = {
    401: "A token is required",
    404: "Not found",
    405: "Not allowed here",
    421: "Unknown host",
    429: "Too many requests",
    503: "Not now",
}


class HtmlErrors:
    """Turns the JSON of an error into a page where a browser asks for one. Status and headers stay."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and its answer back."""
        wanted = scope["type"] == "http" and wants_page(scope["path"], scope["method"], Headers(scope=scope))
        await self._app(scope, receive, _Rewriting(send) if wanted else send)


def wants_page(path: str, method: str, headers: Headers) -> bool:
    """Return whether an error at this path should be a page: a browser asks, and the path is not the API's."""
    accepted = (part.partition(";")[0].strip().lower() for part in headers.get("accept", "").split(","))
    return method in ("GET", "HEAD") and not path.startswith(_API) and path not in _FILES and "text/html" in accepted


class _Rewriting:
    """A `send` that holds back the start of a failure in JSON until its body is there."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message | None = None
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_failure(message):
            self._start = message
            return
        if self._start is None:
            await self._send(message)
            return
        self._body += message.get("body", b"")
        if not message.get("more_body"):
            page = _page(self._start["status"], json.loads(self._body)["error"])
            await self._send({**self._start, "headers": _headers(self._start, len(page))})
            await self._send({"type": "http.response.body", "body": page})


def _is_failure(start: Message) -> bool:
    return start["status"] >= 400 and (b"content-type", b"application/json") in start["headers"]


def _page(status: int, error: dict[str, Any]) -> bytes:
    title = _TITLES.get(status, "An error in the server" if status >= 500 else "The request cannot be answered")
    # The page of an error says nothing of the catalog: it may answer somebody without the token.
    message = "There is no such page." if status == 404 else error["message"]
    values = {"title": title, "status": status, "message": message, "manifest": None, "comparable": False}
    return render("error.jinja", values)


def _headers(start: Message, length: int) -> list[tuple[bytes, bytes]]:
    own = [(b"content-type", b"text/html; charset=utf-8"), (b"content-length", str(length).encode())]
    return [*own, *((name, value) for name, value in start["headers"] if name not in dict(own))]
