"""The OpenAPI document of the operations.

It is made of the types that the code itself uses; its descriptions are their docstrings and those of the handlers.
"""

import re
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from quartermaster.serving.http.errors import FAILURES
from quartermaster.serving.http.messages import Failure
from quartermaster.serving.http.service import Operation
from quartermaster.serving.http.settings import PROBES
from router.distribution import version
from router.provider_formats.rendering import Rendered
from router.tools.trust.trusted import WithheldText

_REFERENCE = "#/components/schemas/{name}"
_ATTRIBUTE = re.compile(r"^ {8}(\w+): (.+?)(?=^ {8}\w+: |\Z)", re.DOTALL | re.MULTILINE)


def document(operations: Sequence[Operation], *, token: bool) -> dict[str, Any]:
    """Return the OpenAPI document of operations; with `token`, all but the probes need one."""
    answers = [operation.answer for operation in operations if isinstance(operation.answer, type)]
    bodies = [operation.body for operation in operations if operation.body]
    _, components = msgspec.json.schema_components(bodies, ref_template=_REFERENCE)
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
        "components": {"schemas": {**components, **_answer_schemas([*answers, Failure])}},
    }
    if token:
        made["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    return made


def _described(operation: Operation, token: bool) -> dict[str, Any]:
    answer, name = operation.answer, operation.handle.__name__
    if isinstance(answer, type):
        said = {"description": (answer.__doc__ or "").partition("\n")[0], "content": _json(answer)}
    else:
        text = {"content": {"text/plain": {"schema": {"type": "string"}}}} if operation.status == 200 else {}
        said = {"description": answer, **text}
    failures = {
        str(status): {"description": FAILURES[status][1], "content": _json(Failure)} for status in operation.failures
    }
    row: dict[str, Any] = {
        "tags": [operation.tag],
        "summary": name.replace("_", " ").capitalize(),
        "description": operation.handle.__doc__,
        "operationId": name,
        "responses": {str(operation.status): said, **failures},
    }
    if parameters := _parameters(operation):
        row["parameters"] = parameters
    if operation.body:
        row["requestBody"] = {"required": True, "content": _json(operation.body)}
    if token and operation.path not in PROBES:
        row["security"] = [{"token": []}]
    return row


def _json(kind: type) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": _REFERENCE.format(name=kind.__name__)}}}


def _parameters(operation: Operation) -> list[dict[str, Any]]:
    text = {"type": "string", "minLength": 1, "maxLength": 512}
    names = re.findall(r"{(\w+)[:}]", operation.path)
    parameters = [{"name": name, "in": "path", "required": True, "schema": text} for name in names]
    if operation.takes and not operation.body:
        query = msgspec.json.schema_components([operation.takes])[1][operation.takes.__name__]["properties"]
        parameters += [{"name": name, "in": "query", "schema": schema} for name, schema in query.items()]
    return parameters


class _Handed(msgspec.Struct):
    """What a record has in answers beside its own fields."""

    withheld: Annotated[list[WithheldText], Meta(description="Steering text and hidden characters that were left out.")]
    unusable: Annotated[
        str, Meta(description="Why no model should be handed the tool; empty for a tool that can be called.")
    ]


class _Routed(msgspec.Struct):
    """What an answer has over HTTP beside its own fields."""

    rendered: Annotated[Rendered | None, Meta(description="The tools as the asked `form` has them.")]


# By class: fields that no answer has, and a struct of those that it has beside its own.
_OTHERWISE: dict[str, tuple[tuple[str, ...], type[msgspec.Struct] | None]] = {
    "RoutedTools": (("vendor_text",), _Routed),
    "ToolRecord": (("outputs", "links", "operation"), _Handed),
    "Rendered": (("form", "strict"), None),
}
_OPTIONAL = {"ToolRecord": ("kind", "instructions"), "Health": ("stale",), "Problem": ("field",)}


def _answer_schemas(kinds: list[type]) -> dict[str, Any]:
    """Return the JSON schemas of answers by name, those that they refer to among them."""
    extras = [extra for _, extra in _OTHERWISE.values() if extra]
    _, components = msgspec.json.schema_components([*kinds, *extras], ref_template=_REFERENCE)
    for name, (omitted, extra) in _OTHERWISE.items():
        properties = components[name]["properties"]
        for field in omitted:
            del properties[field]
        properties |= components[extra.__name__]["properties"] if extra else {}
    for name, schema in components.items():
        if "properties" in schema:
            optional = _OPTIONAL.get(name, ())
            schema["required"] = [field for field in schema["properties"] if field not in optional]
            schema["additionalProperties"] = False
            _describe(schema)
    return _reached(components, [kind.__name__ for kind in kinds])


def _reached(components: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """Return the components of these names, and those that they refer to: not what is left out of an answer."""
    reached: dict[str, Any] = {}
    while names:
        if (name := names.pop()) not in reached:
            reached[name] = components[name]
            names += re.findall(r"#/components/schemas/(\w+)", msgspec.json.encode(components[name]).decode())
    return dict(sorted(reached.items()))


def _describe(schema: dict[str, Any]) -> None:
    """Move what a docstring says of each attribute to the attribute."""
    schema["description"], _, attributes = schema.get("description", "").partition("\n\n    Attributes:\n")
    for name, text in _ATTRIBUTE.findall(attributes):
        if name in schema["properties"] and "$ref" not in schema["properties"][name]:
            schema["properties"][name].setdefault("description", " ".join(text.split()))
