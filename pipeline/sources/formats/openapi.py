"""Read OpenAPI 3.0 and 3.1 and Swagger 2.0, JSON or YAML: one tool per operation.

Parameters and the request body become one JSON Schema. References to schemas stay references, into a `$defs` of those
that the operation uses, so that cycles are no problem.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.errors import RecordRejected, RunAborted
from pipeline.settings import LimitsSettings
from pipeline.sources.formats.document import DEFAULT_LIMITS, read_document
from pipeline.sources.formats.json_schema import SchemaBudget, SchemaScope, check_chain, resolve_pointer
from pipeline.sources.formats.openapi_responses import JSON_MEDIA, METHODS, Responses, operation_name
from pipeline.sources.provider_label import label_of_document
from router.record import Origin
from router.tools.definitions.raw_tool import FieldReader, RawTool
from router.tools.definitions.vendors import unread_keys

# Keys of an operation that are read here, or say nothing about its purpose.
_KNOWN = set(
    "operationId summary description tags parameters requestBody deprecated security servers callbacks externalDocs "
    "produces consumes schemes".split()
)
_SENTENCE_END = re.compile("[.!?:;\u2026\u3002\uff01\uff1f\u0964\u061f][\"')\\]\u201d\u2019*_`]*$")
_CJK_END = re.compile("[\u3040-\u30ff\u3400-\u9fff]$")
_READ_ONLY = ("get", "head", "options", "trace", "query")


def read(path: Path, limits: LimitsSettings = DEFAULT_LIMITS) -> Iterator[RawTool | RecordRejected]:
    """Yield the tools of a document. Raises RunAborted where it is no OpenAPI or Swagger document with paths."""
    document = read_document(path, limits)
    if not isinstance(document, dict) or not re.match(
        r"^(3\.|2\.0)", str(document.get("openapi") or document.get("swagger"))
    ):
        raise RunAborted(f"the source {path} is not an OpenAPI 3 or Swagger 2.0 document: it names no such version")
    paths = document.get("paths") or {}
    if not isinstance(paths, dict):
        raise RunAborted(f"the source {path}: paths is not an object")
    provider = label_of_document(document)
    budget = SchemaBudget(limits)
    responses = Responses(document)
    for route, item in paths.items():
        if str(route).startswith("x-"):
            continue
        pointer = "/paths/" + str(route).replace("~", "~0").replace("/", "~1")
        try:
            item = _follow(item, document, Origin(path.name, pointer))
        except RecordRejected as rejected:
            yield rejected
            continue
        if not isinstance(item, dict):
            yield RecordRejected(Origin(path.name, pointer), "a path item is an object")
            continue
        for method in METHODS:
            if method in item:
                origin = Origin(path.name, f"{pointer}/{method}")
                try:
                    scope = SchemaScope(document, origin, budget)
                    tool = _operation(document, str(route), method, item, provider, origin, scope)
                    yield responses.added_to(tool, item[method])
                except RecordRejected as rejected:
                    yield rejected


def _operation(
    document: dict[str, Any],
    route: str,
    method: str,
    item: dict[str, Any],
    provider: str | None,
    origin: Origin,
    scope: SchemaScope,
) -> RawTool:
    fields = FieldReader(item[method], origin)
    properties: dict[str, Any] = {}
    required: list[str] = []
    body: dict[str, Any] | None = None
    body_required = False
    for parameter in _parameters(document, item, fields, scope):
        if parameter.get("in") == "body":
            body, body_required = dict(parameter), parameter.get("required") is True
            continue
        name, property_schema = _parameter(parameter, scope)
        if name in properties:
            other, name = name, f"{parameter.get('in')}_{name}"
            scope.notices.append(f"a second parameter named {other} became {name}")
        properties[name] = property_schema
        if parameter.get("required") is True or parameter.get("in") == "path":
            required.append(name)
    if fields.row.get("requestBody") is not None:
        body = _follow(fields.row["requestBody"], document, origin, scope)
        if body is not None and not isinstance(body, dict):
            raise RecordRejected(origin, "requestBody is not an object")
        body_required = body is not None and body.get("required") is True
    if body:
        _add_body(body, body_required, properties, required, scope)
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(dict.fromkeys(required))
    if definitions := scope.definitions():
        schema["$defs"] = definitions
    return RawTool(
        name=operation_name(fields.text("operationId"), method, route),
        origin=origin,
        description=_description(fields.text("summary").strip(), fields.text("description").strip()),
        input_schema=schema,
        provider=provider,
        categories=tuple(tag for tag in fields.texts("tags") if tag.strip()),
        annotations={"method": method.upper(), "path": route, "readOnlyHint": method in _READ_ONLY},
        deprecated=fields.row.get("deprecated") is True,
        notices=tuple(scope.notices),
        shape="parameters: OpenAPI" if properties else "",
        unread=dict(unread_keys(fields.row, _KNOWN)),
    )


def _description(summary: str, description: str) -> str:
    """Return summary and description as one text, the summary as a sentence of its own.

    The summary is left out where the description begins with its words.
    """
    if not summary or not description:
        return summary or description
    words = summary.rstrip(" .!?:;")
    if re.match(rf"{re.escape(words)}(?!\w)", description, re.IGNORECASE):
        return description
    if not _SENTENCE_END.search(summary):
        summary += "\u3002" if _CJK_END.search(summary) else "."
    return f"{summary}\n\n{description}"


def _parameters(
    document: dict[str, Any], item: dict[str, Any], fields: FieldReader, scope: SchemaScope
) -> list[dict[str, Any]]:
    """Return the path item's parameters, then the operation's, which replace those of the same name and place."""
    by_name: dict[tuple[str, str], dict[str, Any]] = {}
    for listed in (item.get("parameters"), fields.row.get("parameters")):
        if listed is not None and not isinstance(listed, list):
            raise RecordRejected(fields.origin, "parameters is not a list")
        for parameter in listed or ():
            parameter = _follow(parameter, document, fields.origin, scope)
            if parameter is None:
                continue
            if not isinstance(parameter, dict) or not isinstance(parameter.get("name"), str):
                raise RecordRejected(fields.origin, "a parameter has no name")
            by_name[str(parameter.get("in")), parameter["name"]] = parameter
    return list(by_name.values())


def _parameter(parameter: dict[str, Any], scope: SchemaScope) -> tuple[str, dict[str, Any]]:
    """Return a parameter as a property. OpenAPI 3 has a schema (or one per media type), Swagger 2.0 has it inline."""
    if "schema" in parameter:
        raw = parameter["schema"]
    elif isinstance(content := parameter.get("content"), dict) and content:
        media = next(iter(content.values()))
        raw = media.get("schema", {}) if isinstance(media, dict) else {}
    else:
        kept = ("type", "format", "items", "enum", "default", "minimum", "maximum", "pattern", "minLength", "maxLength")
        raw = {key: parameter[key] for key in kept if key in parameter}
    schema = scope.rewrite(raw)
    schema = dict(schema) if isinstance(schema, dict) else {}
    if isinstance(parameter.get("description"), str):
        schema["description"] = parameter["description"]
        scope.take(parameter["description"])
    return parameter["name"], schema


def _add_body(
    body: dict[str, Any], is_required: bool, properties: dict[str, Any], required: list[str], scope: SchemaScope
) -> None:
    """Merge an object body's properties with the parameters; any other body, or a clash of names, goes under `body`."""
    raw = body.get("schema")
    content = body.get("content")
    if isinstance(content, dict) and content:
        media = content[next((key for key in content if JSON_MEDIA.match(str(key))), next(iter(content)))]
        raw = media.get("schema") if isinstance(media, dict) else None
    target = scope.target(raw)
    inner = target.get("properties") if isinstance(target, dict) else None
    if isinstance(inner, dict) and inner and not _is_open(target) and not set(inner) & set(properties):
        properties.update({name: scope.rewrite(schema) for name, schema in inner.items()})
        if is_required and isinstance(target.get("required"), list):
            required.extend(name for name in target["required"] if isinstance(name, str) and name in inner)
        return
    schema = scope.rewrite(raw)
    schema = dict(schema) if isinstance(schema, dict) else {}
    if isinstance(body.get("description"), str):
        schema.setdefault("description", body["description"])
        scope.take(body["description"])
    name = "body" if "body" not in properties else "request_body"
    properties[name] = schema
    if is_required:
        required.append(name)


def _is_open(schema: dict[str, Any]) -> bool:
    """Return whether a body accepts more than its named properties, which merging would lose."""
    return any(key in schema for key in ("oneOf", "anyOf", "allOf", "not", "patternProperties")) or (
        schema.get("additionalProperties") not in (None, False)
    )


def _follow(value: Any, document: dict[str, Any], origin: Origin, scope: SchemaScope | None = None) -> Any:
    """Return the end of a chain of references; None, with a notice, where it leads to another document."""
    seen: set[str] = set()
    while isinstance(value, dict) and isinstance(value.get("$ref"), str):
        reference = value["$ref"]
        check_chain(seen, reference, origin)
        if not reference.startswith("#"):
            if scope is None:
                raise RecordRejected(origin, f"the reference {reference[:200]} leads to another document")
            scope.notices.append(f"{reference[:200]} is in another document: left open")
            return None
        value = resolve_pointer(document, reference, origin)
    return value
