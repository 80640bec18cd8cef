"""Find the operations of an API document, and name those without an `operationId` by method and path.

The name stays when other operations come and go. Only where two would have one name do those that left out parameters
name them all: beside `GET /emp/mgr`, `GET /emp/{id}/mgr` is `get_emp_by_id_mgr` in place of `get_emp_mgr`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from pipeline.errors import RecordRejected
from pipeline.sources.formats.json_schema import SchemaBudget, SchemaScope, mapping
from pipeline.sources.formats.openapi_document import operation_id
from router.record import Origin
from router.tools.definitions.json_values import escape_pointer_part
from router.tools.naming import route_name

_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
_ADDITIONAL = ("additionalOperations", "x-oai-additionalOperations")  # of OpenAPI 3.2, and before it
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


class FoundOperation(NamedTuple):
    """An operation, its path item, and the scope of its schemas. `method` is its key in the document."""

    route: str
    method: str
    item: dict[str, Any]
    row: Any
    scope: SchemaScope


def operations(
    document: dict[str, Any], paths: Mapping[Any, Any], file: str, budget: SchemaBudget
) -> Iterator[FoundOperation | RecordRejected]:
    """Yield the operations of a document, references followed, and those that cannot be read."""
    try:
        paths = mapping(_whole(paths, SchemaScope(document, Origin(file, "/paths"), budget)))
    except RecordRejected as rejected:
        yield rejected
        return
    for route, item in paths.items():
        if str(route).startswith("x-"):
            continue
        pointer = f"/paths/{escape_pointer_part(route)}"
        try:
            item = _whole(item, SchemaScope(document, Origin(file, pointer), budget))
            if not isinstance(item, dict):
                raise RecordRejected(Origin(file, pointer), "a path item is an object")
        except RecordRejected as rejected:
            yield rejected
            continue
        listed = [(method, method, item[method]) for method in _METHODS if method in item]
        listed += [
            (str(method), f"{key}/{escape_pointer_part(method)}", row)
            for key in _ADDITIONAL
            for method, row in mapping(item.get(key)).items()
        ]
        for method, place, row in listed:
            scope = SchemaScope(document, Origin(file, f"{pointer}/{place}"), budget)
            try:
                if not _TOKEN.fullmatch(method):
                    raise RecordRejected(scope.origin, f"{method[:80]!r} is no method of HTTP")
                yield FoundOperation(str(route), method, item, _whole(row, scope), scope)
            except RecordRejected as rejected:
                yield rejected


def _whole(value: Any, scope: SchemaScope) -> Any:
    if away := scope.away(value := scope.whole(value)):
        raise RecordRejected(scope.origin, f"the reference {away}")
    return value


def tool_names(found: Iterable[FoundOperation | RecordRejected]) -> dict[tuple[str, str], str]:
    """Return the names of operations by path and method: their ids, else words."""
    kept = [one for one in found if isinstance(one, FoundOperation)]
    names = {(one.route, one.method): operation_id(one.row) or route_name(one.method, one.route) for one in kept}
    times = Counter(names.values())
    for one in kept:
        if not operation_id(one.row) and times[names[one.route, one.method]] > 1:
            names[one.route, one.method] = route_name(one.method, one.route, every=True)
    return names
