"""Errors as pages: a browser gets HTML where a program gets JSON."""

from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, Response
from starlette.types import Scope

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


def wants_page(scope: Scope) -> bool:
    """Return whether an error should be a page: a browser asks, and the path is not the API's."""
    if scope["method"] not in ("GET", "HEAD") or scope["path"].startswith(_API) or scope["path"] in _FILES:
        return False
    accepted = Headers(scope=scope).get("accept", "").split(",")
    return any(part.partition(";")[0].strip().lower() == "text/html" for part in accepted)


def error_page(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return the page of an error. It says nothing of the catalog: it may answer somebody without the token."""
    title = _TITLES.get(status, "An error in the server" if status >= 500 else "The request cannot be answered")
    shown = "There is no such page." if status == 404 else message
    values = {"title": title, "status": status, "message": shown, "manifest": None}
    return HTMLResponse(render("error.jinja", values), status, headers)
