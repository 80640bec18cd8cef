"""Every failure as one JSON shape, `Failure`: {"error": {"type", "message", "field"?}}; to a browser, as a page."""

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from msgspec import UNSET
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import Scope

from quartermaster.serving import status_of
from quartermaster.serving.http.messages import Failure, Problem
from quartermaster.serving.page.rendering import render
from router.errors import QuartermasterError

_logger = logging.getLogger("router.http")

# The type of a failure by its status, and what the OpenAPI document says of it; empty for what no operation answers.
FAILURES = {
    400: ("malformed", "The body is not JSON, or was cut off."),
    401: ("unauthorized", "The token is missing or wrong."),
    403: ("forbidden", "This token may not change tools."),
    404: ("not_found", "Not found."),
    405: ("method_not_allowed", ""),
    408: ("too_slow", "The body did not come in time."),
    413: ("too_large", "The body is too large."),
    415: ("no_json", "The request does not say that its body is JSON."),
    417: ("malformed", ""),
    421: ("unknown_host", "This host name is not served here."),
    422: ("invalid", "A field is invalid; the error names it, and what it may be."),
    429: ("too_many_requests", "Too many requests: `Retry-After` says how many seconds to wait."),
    431: ("too_large", ""),
    500: ("internal", "An error in the server."),
    501: ("malformed", ""),
    503: ("unavailable", "Not now: too many requests are being answered, or no snapshot serves."),
}
_REFUSED = -32_000  # JSON-RPC leaves this code to servers
_MAX_MESSAGE = 1_000  # characters of a message, which may quote the request
_MCP_PATH = "/mcp"
_API_PATHS = ("/v1/", _MCP_PATH)


def failure(status: int, message: str, field: str = "", headers: Mapping[str, str] | None = None) -> Response:
    """Return the answer to a request that fails, with the reason and, if known, the field that is wrong."""
    return json_response(problem_of(status, message, field), status, headers)


def refusal(
    scope: Scope, status: int, message: str, field: str = "", headers: Mapping[str, str] | None = None
) -> Response:
    """Return a failure as its client reads it: JSON-RPC for MCP, a page for a browser, else JSON."""
    if scope["path"].startswith(_MCP_PATH):  # its clients show no other reason; without id, as the request was not read
        told = {"code": _REFUSED, "message": _bounded(message)}
        return json_response({"jsonrpc": "2.0", "id": None, "error": told}, status, headers)
    if is_api(scope) or not _prefers_page(Headers(scope=scope).get("accept", "")):
        return failure(status, message, field, headers)
    title, why = HTTPStatus(status).phrase, HTTPStatus(status).description
    values = {"title": title, "message": message if message != title else f"{why}."}
    return HTMLResponse(render("base.jinja", values), status, headers)


def is_api(scope: Scope) -> bool:
    """Return whether a request is a program's, whatever it accepts."""
    path: str = scope["path"]
    return path.startswith(_API_PATHS)


def _prefers_page(accept: str) -> bool:
    page, json = accept.find("text/html"), accept.find("application/json")
    return page >= 0 and not 0 <= json < page


def problem_of(status: int, message: str, field: str = "") -> Failure:
    """Return a failure as the API answers it."""
    kind, _ = FAILURES.get(status, ("error", ""))
    return Failure(Problem(kind, _bounded(message), _bounded(field) if field else UNSET))


def route_of(scope: Scope) -> str:
    """Return the declared path of a request, such as `/v1/tools/{tool_id}`: logs and labels hold no ids."""
    return scope["route"].path if "route" in scope else "unmatched"


def json_response(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a value as JSON, encoded by msgspec, which takes an eighth of the time of `json`."""
    return Response(msgspec.json.encode(content), status, headers, media_type="application/json")


async def router_failed(request: Request, error: Exception) -> Response:
    """Answer an error of the router, with the field that is wrong where one is."""
    assert isinstance(error, QuartermasterError)
    status = status_of(error)
    if status >= 500:
        _logger.error("%s %s failed: %s", request.method, route_of(request.scope), error)
    return refusal(request.scope, status, str(error), getattr(error, "field", ""))


async def crashed(request: Request, _error: Exception) -> Response:
    """Answer an error that nobody foresaw. The access log has it."""
    return refusal(request.scope, 500, "internal error; the server's log has the details")


async def http_failed(request: Request, error: Exception) -> Response:
    """Answer an error of the framework."""
    assert isinstance(error, HTTPException)
    return refusal(request.scope, error.status_code, error.detail, headers=error.headers)


def _bounded(text: str) -> str:
    return text[:_MAX_MESSAGE].encode("utf-8", "replace").decode("utf-8")
