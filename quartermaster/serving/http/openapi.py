"""The OpenAPI document: the answers of each path, and the token.

Its descriptions are the docstrings of paths and models.
"""

import re
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel

from quartermaster.serving.http.responses import FailureJson
from quartermaster.serving.http.settings import PROBES, HttpSettings

Responses = dict[int | str, dict[str, Any]]

_FAILURES = {
    400: "The body is not JSON, or was cut off.",
    401: "The token is missing or wrong.",
    403: "This token may not change tools.",
    404: "Not found.",
    408: "The body did not come in time.",
    413: "The body is too large.",
    415: "The request does not say that its body is JSON.",
    421: "This host name is not served here.",
    422: "A field is invalid; the error names it, and what it may be.",
    429: "Too many requests: `Retry-After` says how many seconds to wait.",
    500: "An error in the server.",
    503: "Not now: too many requests are being answered, or no snapshot serves.",
}


def success(model: type[BaseModel], status: int = 200) -> Responses:
    """Return the entry of a successful answer; its description is the first line of the model's docstring."""
    return {status: {"model": model, "description": (model.__doc__ or "").partition("\n")[0]}}


def failures(*statuses: int) -> Responses:
    """Return the entries of these failure statuses."""
    return {status: {"model": FailureJson, "description": _FAILURES[status]} for status in sorted(statuses)}


# The request guard may refuse a request to any path.
GUARD_FAILURES = failures(400, 401, 408, 413, 421, 429, 500, 503)
LOOKUP_FAILURES = GUARD_FAILURES | failures(404, 422)
BODY_FAILURES = LOOKUP_FAILURES | failures(415)


def allowed_methods(api: FastAPI, path: str) -> str:
    """Return the methods that the document has for a path, for `Allow`; the framework names those of one route only."""
    methods = {
        method.upper()
        for template, operations in api.openapi()["paths"].items()
        if re.fullmatch(re.sub(r"\\{\w+\\}", ".+", re.escape(template)), path)
        for method in operations
    }
    return ", ".join(sorted(methods))


def document_token(api: FastAPI, settings: HttpSettings) -> None:
    """Add the bearer token to an app's OpenAPI document if the settings have one: the guard checks it, not the app."""
    generate = api.openapi

    def document() -> dict[str, Any]:
        if api.openapi_schema is not None:
            return api.openapi_schema
        schema = generate()  # and stores it in api.openapi_schema
        if settings.asks_for_token:
            schema["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            guarded = (operations for path, operations in schema["paths"].items() if path not in PROBES)
            for operation in (operation for operations in guarded for operation in operations.values()):
                operation["security"] = [{"token": []}]
        return schema

    api.openapi = document  # type: ignore[method-assign]
