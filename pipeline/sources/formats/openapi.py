"""Read OpenAPI 3 and Swagger 2.0, JSON or YAML: one tool per operation.

Parameters and the request body become one JSON Schema. References to schemas stay references, into a `$defs` of those
that the operation uses, so that cycles are no problem. `openapi_files` follows references into other files,
`openapi_inputs` makes that schema, `json_schema` rewrites the document's schemas, `openapi_document` reads servers,
security and what operations answer.

A tool without an `operationId` is named by method and path, so that the name stays when other operations come and go.
Only where two would have one name do those that left out parameters name them all: beside `GET /emp/mgr`,
`GET /emp/{id}/mgr` is `get_emp_by_id_mgr` in place of `get_emp_mgr`.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.errors import RecordRejected, RunAborted
from pipeline.settings import LimitsSettings
from pipeline.sources.formats.document import DEFAULT_LIMITS, Items, read_document
from pipeline.sources.formats.json_schema import SchemaBudget, SchemaScope, mapping
from pipeline.sources.formats.openapi_document import ApiDocument, operation_id
from pipeline.sources.formats.openapi_files import Opener, files_beside, whole_document
from pipeline.sources.formats.openapi_inputs import Inputs
from pipeline.sources.formats.repeated_keys import RepeatedKeys
from pipeline.sources.provider_label import label_of_document
from router.operation import Operation
from router.record import Origin
from router.tools.definitions.json_values import escape_pointer_part
from router.tools.definitions.raw_tool import FieldReader, RawTool
from router.tools.definitions.vendors import unread_keys
from router.tools.naming import route_name

# Keys of an operation that are read here, or say nothing about its purpose.
_KNOWN = set(
    "operationId summary description tags parameters requestBody deprecated security servers callbacks externalDocs "
    "produces consumes schemes".split()
)
_WORDS = ("summary", "description")
_SENTENCE_END = re.compile("[.!?:;\u2026\u3002\uff01\uff1f\u0964\u061f][\"')\\]\u201d\u2019*_`]*$")
_CJK_END = re.compile("[\u3040-\u30ff\u3400-\u9fff]$")
_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
_ADDITIONAL = ("additionalOperations", "x-oai-additionalOperations")  # of OpenAPI 3.2, and before it
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_READ_ONLY = ("GET", "HEAD", "OPTIONS", "TRACE", "QUERY")


class _Found(NamedTuple):
    """An operation, its path item, and the scope of its schemas. `method` is its key in the document."""

    route: str
    method: str
    item: dict[str, Any]
    row: Any
    scope: SchemaScope


def read(path: Path, limits: LimitsSettings = DEFAULT_LIMITS, root: str = "", open_file: Opener | None = None) -> Items:
    """Yield the tools of a document. Raises RunAborted where it is not an OpenAPI or Swagger document with paths.

    `open_file` opens the files that it refers to from the address `root`: by default those in its own folder.
    """
    document = read_document(path, limits, repeats := RepeatedKeys())
    yield from repeats.notices()
    version = str(mapping(document).get("openapi") or mapping(document).get("swagger"))
    if not re.match(r"3\.|2\.0", version):
        raise RunAborted(f"the source {path} is not an OpenAPI 3 or Swagger 2.0 document: it names no such version")
    if not isinstance(document.get("paths") or {}, dict):
        raise RunAborted(f"the source {path}: paths is not an object")
    document = whole_document(document, root or path.name, limits, open_file or files_beside(path))
    found = list(_operations(document, path.name, SchemaBudget(limits)))
    names = _tool_names([one for one in found if isinstance(one, _Found)])
    api, provider = ApiDocument(document, names), label_of_document(document)
    for one in found:
        try:
            yield one if isinstance(one, RecordRejected) else api.with_answer(_tool(one, provider, api), one.row)
        except RecordRejected as rejected:
            yield rejected


def _operations(document: dict[str, Any], file: str, budget: SchemaBudget) -> Iterator[_Found | RecordRejected]:
    """Yield the operations of a document, references followed, and those that cannot be read."""

    def followed(value: Any, pointer: str) -> tuple[Any, SchemaScope]:
        """Return the value that stands at a pointer, or why its reference cannot be followed, and its scope."""
        scope = SchemaScope(document, Origin(file, pointer), budget)
        try:
            value, away = scope.whole(value)
        except RecordRejected as rejected:
            return rejected, scope
        return RecordRejected(scope.origin, f"the reference {away}") if away else value, scope

    paths, _ = followed(document.get("paths") or {}, "/paths")
    if isinstance(paths, RecordRejected):
        yield paths
    for route, item in mapping(paths).items():
        if str(route).startswith("x-"):
            continue
        item, scope = followed(item, pointer := f"/paths/{escape_pointer_part(route)}")
        if not isinstance(item, dict):
            why = "a path item is an object"
            yield item if isinstance(item, RecordRejected) else RecordRejected(scope.origin, why)
            continue
        listed = [(method, method, item[method]) for method in _METHODS if method in item]
        listed += [
            (str(method), f"{key}/{escape_pointer_part(method)}", row)
            for key in _ADDITIONAL
            for method, row in mapping(item.get(key)).items()
        ]
        for method, place, row in listed:
            row, scope = followed(row, f"{pointer}/{place}")
            if not _TOKEN.fullmatch(method):
                row = RecordRejected(scope.origin, f"{method[:80]!r} is no method of HTTP")
            yield row if isinstance(row, RecordRejected) else _Found(str(route), method, item, row, scope)


def _tool_names(found: Sequence[_Found]) -> dict[tuple[str, str], str]:
    """Return the names of operations by path and method: their ids, else words."""
    names = {(one.route, one.method): operation_id(one.row) or route_name(one.method, one.route) for one in found}
    times = Counter(names.values())
    for one in found:
        if not operation_id(one.row) and times[names[one.route, one.method]] > 1:
            names[one.route, one.method] = route_name(one.method, one.route, every=True)
    return names


def _tool(one: _Found, provider: str | None, api: ApiDocument) -> RawTool:
    fields, method = FieldReader(one.row, one.scope.origin), one.method.upper()
    # A path's words are for operations that have none.
    said = fields if any(fields.row.get(key) for key in _WORDS) else FieldReader(one.item, one.scope.origin)
    summary, description = (said.text(key).strip() for key in _WORDS)
    inputs = Inputs(one.item, fields, one.scope, api)
    servers, has_own_servers = api.servers(one.item, fields.row)
    security, schemes = api.security(fields.row)
    parameters = tuple(inputs.parameters)
    return RawTool(
        name=fields.text("operationId").strip() or api.names[one.route, one.method],
        origin=one.scope.origin,
        description=_description(summary, description),
        input_schema=inputs.schema(),
        provider=provider,
        categories=tuple(tag for tag in fields.texts("tags") if tag.strip()),
        annotations={"method": method, "path": one.route, "readOnlyHint": method in _READ_ONLY},
        deprecated=fields.row.get("deprecated") is True,
        notices=tuple(one.scope.notices),
        operation=Operation(method, one.route, servers, has_own_servers, parameters, inputs.body, security, schemes),
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
