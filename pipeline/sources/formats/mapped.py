"""Read documents of any other shape, as [source.fields] in catalog.toml says."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError

from pipeline.errors import RecordRejected, RunAborted
from pipeline.settings import FieldSettings, LimitsSettings
from pipeline.sources.formats.document import DEFAULT_LIMITS, read_document, read_source_lines
from pipeline.sources.formats.function_schema import listed_tool
from router.record import Origin
from router.tools.definitions.json_values import escape_pointer_part
from router.tools.definitions.nesting import ListedDefinition, definitions_within, find_definitions, provider_of
from router.tools.definitions.raw_tool import RawTool
from router.tools.definitions.vendors import PARAMETERS, SPLIT_PARAMETERS

_SECTION = "source.fields"


def read(
    path: Path, fields: FieldSettings, limits: LimitsSettings = DEFAULT_LIMITS, *, lines: bool
) -> Iterator[RawTool | RecordRejected]:
    """Yield the tools of a document, or of each of its `lines`. Raises RunAborted where the selectors find nothing."""
    for pointer, value in _documents(path, lines, limits):
        if isinstance(value, RecordRejected):
            yield value
            continue
        records = _records(value, fields, pointer)
        if records is None and lines:
            yield RecordRejected(Origin(path.name, pointer), _nothing(fields, value))
        elif records is None:
            raise RunAborted(f"the source {path}: {_nothing(fields, value)}")
        for record, server in records or ():
            yield _tool(record, server, fields, path.name)


def _documents(path: Path, lines: bool, limits: LimitsSettings) -> Iterator[tuple[str, Any]]:
    if not lines:
        yield "", read_document(path, limits)
        return
    for line in read_source_lines(path, limits):
        yield ("", line) if isinstance(line, RecordRejected) else (line[0].pointer, line[1])


def _records(value: Any, fields: FieldSettings, pointer: str) -> list[tuple[ListedDefinition, Any]] | None:
    """Return the records, each with its server where there are servers; None where nothing is selected."""
    if fields.servers is None:
        if fields.tools is not None:
            found = _selected(fields.tools, ListedDefinition(pointer, value))
        else:
            found = definitions_within(value, pointer) if pointer else find_definitions(value)
        return None if found is None else [(record, None) for record in found]
    servers = _selected(fields.servers, ListedDefinition(pointer, value))
    if servers is None:
        return None
    records: list[tuple[ListedDefinition, Any]] = []
    for server in servers:
        held = _selected(fields.tools, server) if fields.tools else definitions_within(server.row, server.pointer)
        records.extend((record, server.row) for record in held or ())
    return records


def _selected(expression: str, whole: ListedDefinition) -> list[ListedDefinition] | None:
    """Return the objects that an expression selects, with their JSON pointers and the provider that lists them."""
    try:
        found = jmespath.search(expression, whole.row)
    except JMESPathError:  # a function that this document's values are not for
        return None
    if isinstance(found, dict):
        found = [found]
    if not isinstance(found, list):
        return None
    # An expression selects objects of the document itself: their identity gives their pointers.
    places = dict(_places(whole.row, whole.pointer))
    provider = provider_of(whole.row) if isinstance(whole.row, dict) else None
    return [
        ListedDefinition(places.get(id(row), f"{whole.pointer}/{expression}/{index}"), row, provider)
        for index, row in enumerate(found)
    ]


def _places(value: Any, pointer: str) -> Iterator[tuple[int, str]]:
    stack = [(value, pointer)]
    while stack:
        item, place = stack.pop()
        if isinstance(item, dict):
            yield id(item), place
            stack.extend((child, f"{place}/{escape_pointer_part(key)}") for key, child in item.items())
        elif isinstance(item, list):
            stack.extend((child, f"{place}/{index}") for index, child in enumerate(item))


def _tool(record: ListedDefinition, server: Any, fields: FieldSettings, file: str) -> RawTool | RecordRejected:
    """Return a record as a tool, its fields under the names that every reader knows, or why it is rejected."""
    row = record.row
    if not isinstance(row, dict):
        return listed_tool(record, file)
    read: dict[str, Any] = {}
    try:
        for field, expression in fields.of_a_record().items():
            read[field] = jmespath.search(expression, row)
        provider = _provider(fields.provider, row, server)
    except JMESPathError as error:
        return RecordRejected(Origin(file, record.pointer), f"{_SECTION}: {' '.join(str(error).split())}")
    # A mapped field is read under its own name only.
    taken = fields.keys() - FieldSettings.model_fields.keys()
    taken |= {*PARAMETERS, *SPLIT_PARAMETERS} if "parameters" in read else set()
    rest = {key: value for key, value in row.items() if key not in taken}
    one = ListedDefinition(record.pointer, {**rest, **read}, provider or record.provider)
    found = listed_tool(one, file, own_id="id" in read)
    if isinstance(found, RecordRejected) and found.keys:
        return RecordRejected(found.origin, _unnamed(fields, found.reason), keys=tuple(row))
    return found


def _provider(expression: str | None, row: Any, server: Any) -> str | None:
    for holder in (row, server):
        found = jmespath.search(expression, holder) if expression and holder is not None else None
        if isinstance(found, str) and found.strip():
            return found
    return None


def _unnamed(fields: FieldSettings, reason: str) -> str:
    return f"{_SECTION}.name = {fields.name!r} gives no name" if fields.name else reason


def _nothing(fields: FieldSettings, value: Any) -> str:
    keys = f"; the keys here are {', '.join(map(str, list(value)[:8]))}" if isinstance(value, dict) else ""
    for field in ("servers", "tools"):
        if expression := getattr(fields, field):
            return f"{_SECTION}.{field} = {expression!r} selects no list{keys}"
    return f'it holds no list of tools that is known: say in {_SECTION} where they are, such as tools = "apis[]"{keys}'
