"""Read OpenAPI 3.0 and 3.1 and Swagger 2.0, JSON or YAML: one tool per operation.

Parameters and the request body become one JSON Schema. References to schemas stay references, into a `$defs` of those
that the operation uses, so that cycles are no problem. `openapi_inputs` makes that schema, `json_schema` rewrites the
document's schemas, `openapi_document` reads servers, security and what operations answer.
"""

import re
from pathlib import Path
from typing import Any

from pipeline.errors import RecordRejected, RunAborted
from pipeline.settings import LimitsSettings
from pipeline.sources.formats.document import DEFAULT_LIMITS, Items, read_document
from pipeline.sources.formats.json_schema import SchemaBudget, SchemaScope, mapping
from pipeline.sources.formats.openapi_document import METHODS, ApiDocument, operation_name
from pipeline.sources.formats.openapi_inputs import Inputs
from pipeline.sources.formats.repeated_keys import RepeatedKeys
from pipeline.sources.provider_label import label_of_document
from router.operation import Operation
from router.record import Origin
from router.tools.definitions.json_values import escape_pointer_part
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


def read(path: Path, limits: LimitsSettings = DEFAULT_LIMITS) -> Items:
    """Yield the tools of a document. Raises RunAborted where it is not an OpenAPI or Swagger document with paths."""
    document = read_document(path, limits, repeats := RepeatedKeys())
    yield from repeats.notices()
    version = str(mapping(document).get("openapi") or mapping(document).get("swagger"))
    if not re.match(r"3\.|2\.0", version):
        raise RunAborted(f"the source {path} is not an OpenAPI 3 or Swagger 2.0 document: it names no such version")
    paths = document.get("paths") or {}
    if not isinstance(paths, dict):
        raise RunAborted(f"the source {path}: paths is not an object")
    api, budget, provider = ApiDocument(document), SchemaBudget(limits), label_of_document(document)
    for route, item in paths.items():
        if str(route).startswith("x-"):
            continue
        pointer = f"/paths/{escape_pointer_part(route)}"
        try:
            item = _path_item(item, SchemaScope(document, Origin(path.name, pointer), budget))
        except RecordRejected as rejected:
            yield rejected
            continue
        for method in METHODS:
            if method in item:
                scope = SchemaScope(document, Origin(path.name, f"{pointer}/{method}"), budget)
                try:
                    tool = _operation(str(route), method, item, provider, scope, api)
                    yield api.with_answer(tool, item[method])
                except RecordRejected as rejected:
                    yield rejected


def _path_item(item: Any, scope: SchemaScope) -> dict[str, Any]:
    item = scope.target(item)
    if isinstance(away := mapping(item).get("$ref"), str):
        raise RecordRejected(scope.origin, f"the reference {away[:200]} leads to another document")
    if not isinstance(item, dict):
        raise RecordRejected(scope.origin, "a path item is an object")
    return item


def _operation(
    route: str, method: str, item: dict[str, Any], provider: str | None, scope: SchemaScope, api: ApiDocument
) -> RawTool:
    fields = FieldReader(item[method], scope.origin)
    inputs = Inputs(item, fields, scope, api)
    servers, has_own_servers = api.servers(item, fields.row)
    security, schemes = api.security(fields.row)
    parameters = tuple(inputs.parameters)
    return RawTool(
        name=operation_name(fields.text("operationId"), method, route),
        origin=scope.origin,
        description=_description(fields.text("summary").strip(), fields.text("description").strip()),
        input_schema=inputs.schema(),
        provider=provider,
        categories=tuple(tag for tag in fields.texts("tags") if tag.strip()),
        annotations={"method": method.upper(), "path": route, "readOnlyHint": method in _READ_ONLY},
        deprecated=fields.row.get("deprecated") is True,
        notices=tuple(scope.notices),
        operation=Operation(
            method.upper(), route, servers, has_own_servers, parameters, inputs.body, security, schemes
        ),
        shape="parameters: OpenAPI" if inputs.properties else "",
        unread=dict(unread_keys(fields.row, _KNOWN)),
    )


def _description(summary: str, description: str) -> str:
    """Return summary and description as one text, the summary as a separate sentence.

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
