"""The operations of the API, and the OpenAPI document of them.

It is made of the types that the code itself uses; its descriptions are their docstrings and those of the handlers.
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from quartermaster.serving.http.answers import REFERENCE, Failure, answer_schemas
from quartermaster.serving.http.settings import PROBES
from router.distribution import version

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
# The request guard may refuse a request to any path.
GUARD_FAILURES = (400, 401, 408, 413, 421, 429, 500, 503)
LOOKUP_FAILURES = (*GUARD_FAILURES, 404, 422)
BODY_FAILURES = (*LOOKUP_FAILURES, 415)

Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A method of a path.

    Attributes:
        tag: The group of operations that it belongs to.
        handle: What answers it.
        failures: The statuses of the failures that it may answer with.
        answer: The type of its answer; a text says that the answer is a text, or none with status 204, and of what.
        body: The type of the body that it takes; None for none.
        query: The struct of the parameters that it takes; None for none.
    """

    method: str
    path: str
    tag: str
    handle: Handler
    failures: Sequence[int]
    answer: type | str
    status: int = 200
    body: type[msgspec.Struct] | None = None
    query: type[msgspec.Struct] | None = None


def document(operations: Sequence[Operation], *, token: bool) -> dict[str, Any]:
    """Return the OpenAPI document of operations; with `token`, all but the probes need one."""
    answers = [operation.answer for operation in operations if isinstance(operation.answer, type)]
    bodies = [operation.body for operation in operations if operation.body]
    _, components = msgspec.json.schema_components(bodies, ref_template=REFERENCE)
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        path = re.sub(r":\w+}", "}", operation.path)
        paths.setdefault(path, {})[operation.method.lower()] = _described(operation, token)
    made: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "Quartermaster",
            "summary": "The few tools that fit a request, out of thousands.",
            "version": version(),
        },
        "paths": paths,
        "components": {"schemas": {**components, **answer_schemas([*answers, Failure])}},
    }
    if token:
        made["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    return made


def _described(operation: Operation, token: bool) -> dict[str, Any]:
    answer = operation.answer
    name = operation.handle.__name__
    if isinstance(answer, type):
        said = {"description": (answer.__doc__ or "").partition("\n")[0], "content": _json(answer)}
    else:
        text = {"content": {"text/plain": {"schema": {"type": "string"}}}} if operation.status == 200 else {}
        said = {"description": answer, **text}
    failures = {
        str(status): {"description": _FAILURES[status], "content": _json(Failure)} for status in operation.failures
    }
    row: dict[str, Any] = {
        "tags": [operation.tag],
        "summary": name.replace("_", " ").capitalize(),
        "description": operation.handle.__doc__,
        "operationId": name,
        "responses": {str(operation.status): said, **dict(sorted(failures.items()))},
    }
    if parameters := [*_path_parameters(operation.path), *_query_parameters(operation.query)]:
        row["parameters"] = parameters
    if operation.body:
        row["requestBody"] = {"required": True, "content": _json(operation.body)}
    if token and operation.path not in PROBES:
        row["security"] = [{"token": []}]
    return row


def _json(kind: type) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": REFERENCE.format(name=kind.__name__)}}}


def _path_parameters(path: str) -> list[dict[str, Any]]:
    schema = {"type": "string", "minLength": 1, "maxLength": 512}
    return [
        {"name": name, "in": "path", "required": True, "schema": schema} for name in re.findall(r"{(\w+)[:}]", path)
    ]


def _query_parameters(query: type[msgspec.Struct] | None) -> list[dict[str, Any]]:
    if query is None:
        return []
    properties = msgspec.json.schema_components([query])[1][query.__name__]["properties"]
    return [{"name": name, "in": "query", "schema": schema} for name, schema in properties.items()]
