"""What each path can answer, for the OpenAPI document."""

from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel

from router.serving.http.answers import Failure
from router.serving.http.gate import PROBES
from router.serving.http.settings import HttpSettings

Responses = dict[int | str, dict[str, Any]]

_SAID = {
    400: "The body is no JSON, or was cut off.",
    401: "The token is missing or wrong.",
    404: "There is no such thing.",
    408: "The body did not come in time.",
    413: "The body is too large.",
    421: "The host that was asked is not served here.",
    422: "A field is wrong: which, and what it may be.",
    429: "Too many requests: `Retry-After` says how many seconds to wait.",
    500: "An error of the server's own.",
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


def describe(api: FastAPI, settings: HttpSettings) -> None:
    """Say in the document of an app what its layers ask for: the token, where there is one."""
    made = api.openapi

    def document() -> dict[str, Any]:
        if api.openapi_schema is None:
            row = made()
            if settings.token is not None:
                row["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
                for path, operations in row["paths"].items():
                    for operation in () if path in PROBES else operations.values():
                        operation["security"] = [{"token": []}]
        return made()

    api.openapi = document  # type: ignore[method-assign]
