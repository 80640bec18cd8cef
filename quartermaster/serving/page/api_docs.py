"""The documentation of the HTTP API: values for its page, read from the OpenAPI document."""

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

_Json = Mapping[str, Any]
_SCHEMAS = "#/components/schemas/"
_LIMITS = {
    "minimum": "at least {:,g}",
    "maximum": "at most {:,g}",
    "minLength": "at least {:,} characters",
    "maxLength": "at most {:,} characters",
    "minItems": "at least {:,} items",
    "maxItems": "at most {:,} items",
}
_TRIVIAL = frozenset(("at least 1 characters", "at least 0 items"))

_REGISTERED = "my-server/get_weather"  # what the example of PUT registers


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter, or a property of a schema. `type` is in pieces: a text, and the schema that it links to or None."""

    name: str
    where: str
    type: tuple[tuple[str, str | None], ...]
    required: bool
    default: str | None
    limits: tuple[str, ...]
    description: str


@dataclass(frozen=True, slots=True)
class Operation:
    """A method of a path: its fields, the schemas of its body and its answer, and a command that calls it."""

    anchor: str
    method: str
    path: str
    description: str
    parameters: tuple[Field, ...]
    body: str | None
    answer: str | None
    failures: tuple[str, ...]
    guarded: bool
    curl: str


@dataclass(frozen=True, slots=True)
class Schema:
    """An object of a request or an answer with its fields, or a text that is one of `values`."""

    name: str
    description: str
    fields: tuple[Field, ...]
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ApiDocs:
    """The values of the template."""

    operations: Mapping[str, list[Operation]]  # by tag
    schemas: tuple[Schema, ...]
    failures: tuple[tuple[str, str], ...]  # status and description
    guarded: bool


def api_docs(document: _Json, base_url: str, examples: _Json) -> ApiDocs:
    """Return an OpenAPI document as the page shows it. `examples` are values of parameters and fields by name."""
    schemas: _Json = document["components"]["schemas"]
    operations: dict[str, list[Operation]] = {}
    failures: dict[str, str] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            read = _operation(method.upper(), path, operation, schemas, base_url, examples)
            operations.setdefault(operation["tags"][0], []).append(read)
            failures |= {status: operation["responses"][status]["description"] for status in read.failures}
    return ApiDocs(
        operations,
        tuple(_schema(name, schema) for name, schema in sorted(schemas.items())),
        tuple(sorted(failures.items())),
        guarded="securitySchemes" in document["components"],
    )


def _operation(method: str, path: str, operation: _Json, schemas: _Json, base_url: str, examples: _Json) -> Operation:
    body = _content(operation.get("requestBody", {}))
    statuses = operation["responses"]
    guarded = bool(operation.get("security"))
    if method == "DELETE":  # whoever tries the example must not remove a tool that serves
        examples = {**examples, "tool_id": _REGISTERED}
    return Operation(
        anchor=operation["operationId"],
        method=method,
        path=path,
        description=operation.get("description", ""),
        parameters=tuple(
            _field(one["name"], one["schema"], one.get("required", False), one["in"])
            for one in operation.get("parameters", ())
        ),
        body=_name(body),
        answer=_name(_content(statuses["200"])),
        failures=tuple(sorted(status for status in statuses if int(status) >= 400)),
        guarded=guarded,
        curl=_curl(method, base_url + _filled(path, examples), _example(body, schemas, examples), guarded),
    )


def _schema(name: str, schema: _Json) -> Schema:
    required = schema.get("required", ())
    properties = schema.get("properties", {})
    return Schema(
        name,
        schema.get("description", ""),
        tuple(_field(key, value, key in required) for key, value in properties.items()),
        tuple(schema.get("enum", ())),
    )


def _field(name: str, schema: _Json, required: bool, where: str = "") -> Field:
    default = schema.get("default")
    shown = None if default in (None, "", [], {}) else json.dumps(default, ensure_ascii=False)
    limits = tuple(dict.fromkeys(_limits(schema)))
    return Field(name, where, tuple(_type(schema)), required, shown, limits, schema.get("description", ""))


def _type(schema: _Json) -> Iterator[tuple[str, str | None]]:
    """Yield a schema's type as pieces of text; the second part names the schema that a piece stands for."""
    if reference := _name(schema):
        yield reference, reference
    elif choices := schema.get("anyOf") or schema.get("oneOf"):
        for position, choice in enumerate(choices):
            if position:
                yield " or ", None
            yield from _type(choice)
    elif schema.get("type") == "array":
        yield "array of ", None
        yield from _type(schema.get("items", {}))
    elif isinstance(schema.get("additionalProperties"), Mapping):
        yield "object of ", None
        yield from _type(schema["additionalProperties"])
    elif values := schema.get("enum") or ([schema["const"]] if "const" in schema else None):
        yield " or ".join(json.dumps(value, ensure_ascii=False) for value in values), None
    else:
        yield schema.get("type", "any value"), None


def _limits(schema: _Json) -> Iterator[str]:
    for key, text in _LIMITS.items():
        if key in schema and (limit := text.format(schema[key])) not in _TRIVIAL:
            yield limit
    for choice in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from _limits(choice)


def _content(part: _Json) -> _Json:
    return next((content["schema"] for content in part.get("content", {}).values()), {})


def _name(schema: _Json) -> str | None:
    return schema["$ref"].removeprefix(_SCHEMAS) if "$ref" in schema else None


def _filled(path: str, examples: _Json) -> str:
    """Return a path with an example in the place of each parameter."""
    for name, value in examples.items():
        path = path.replace(f"{{{name}}}", quote(str(value)))
    return path


def _example(schema: _Json, schemas: _Json, examples: _Json, name: str = "") -> Any:
    """Return an example of a value: the required fields of an object, with `examples` where they name one."""
    if name in examples:
        return examples[name]
    if reference := _name(schema):
        return _example(schemas[reference], schemas, examples, name)
    if "properties" in schema:
        wanted = schema.get("required", ())
        return {
            key: _example(value, schemas, examples, key) for key, value in schema["properties"].items() if key in wanted
        }
    return None


def _curl(method: str, url: str, body: Any, guarded: bool) -> str:
    is_implied = method == "GET" or (method == "POST" and body is not None)
    parts = [f"curl -s {'' if is_implied else f'-X {method} '}{shlex.quote(url)}"]
    if guarded:
        parts.append('-H "Authorization: Bearer $QUARTERMASTER_TOKEN"')
    if body is not None:
        parts += ["-H 'Content-Type: application/json'", f"-d {shlex.quote(json.dumps(body, ensure_ascii=False))}"]
    return " \\\n  ".join(parts)
