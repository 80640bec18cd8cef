"""What each path can answer, for the OpenAPI document."""

import re
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel

from router.serving.http.answers import Failure
from router.serving.http.settings import PROBES, HttpSettings

Responses = dict[int | str, dict[str, Any]]

_SAID = {
    400: "The body is not JSON, or was cut off.",
    401: "The token is missing or wrong.",
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


def json_of(model: type[BaseModel], status: int = 200) -> Responses:
    """A good answer, by its model."""
    return {status: {"model": model, "description": (model.__doc__ or "").partition("\n")[0]}}


def failures(*statuses: int) -> Responses:
    """These ways to fail."""
    return {status: {"model": Failure, "description": _SAID[status]} for status in sorted(statuses)}


# What the gate refuses, whatever is asked for.
GATE = failures(400, 401, 408, 413, 421, 429, 500, 503)
FAILURES = GATE | failures(404, 422)
OF_A_BODY = FAILURES | failures(415)


def allowed(api: FastAPI, path: str) -> str:
    """The methods that the document has for a path. The framework names those of the first route alone."""
    found = {
        method.upper()
        for template, operations in api.openapi()["paths"].items()
        if re.fullmatch(re.sub(r"\\{\w+\\}", ".+", re.escape(template)), path)
        for method in operations
    }
    return ", ".join(sorted(found))


def describe(api: FastAPI, settings: HttpSettings) -> None:
    """Say in the document of an app what its layers ask for: the token, where there is one."""
    made = api.openapi

    def document() -> dict[str, Any]:
        if api.openapi_schema is not None:
            return api.openapi_schema
        row = made()  # and keeps it
        if settings.token is not None:
            row["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            guarded = (operations for path, operations in row["paths"].items() if path not in PROBES)
            for operation in (operation for operations in guarded for operation in operations.values()):
                operation["security"] = [{"token": []}]
        return row

    api.openapi = document  # type: ignore[method-assign]
