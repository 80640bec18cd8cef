"""Read lists of tool definitions: function schemas, JSONL, saved answers of MCP servers, and any other shape.

Each definition may have any form that `router.tools.definitions.vendors` knows; OpenAI's and Anthropic's function
schemas are the best known. They may be in a list, under `tools` or `functions`, by name, or under the servers that
offer them, which are then their providers (`router.tools.definitions.nesting`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jmespath

from pipeline.errors import RecordRejected, RunAborted
from pipeline.memo import Memo, digest
from pipeline.settings import FieldSettings, LimitsSettings
from pipeline.sources.formats.document import (
    DEFAULT_LIMITS,
    Items,
    Line,
    parse_line,
    read_document,
    read_source_lines,
    suffix_of,
)
from pipeline.sources.formats.other_kinds import other_document
from pipeline.sources.formats.repeated_keys import RepeatedKeys
from pipeline.sources.provider_label import label_of_server
from router.record import Kind, Origin
from router.tools.definitions.json_values import escape_pointer_part
from router.tools.definitions.nesting import (
    ListedDefinition,
    definitions_within,
    find_definitions,
    provider_of,
    unfinished_lists,
)
from router.tools.definitions.raw_tool import FieldReader, RawTool
from router.tools.definitions.vendors import PARAMETERS, SPLIT_PARAMETERS, read_tool

MORE_PAGES = "says that more pages follow"
_SECTION = "source.fields"
_Found = RawTool | ListedDefinition | RecordRejected
_AT_ONCE = 2_048  # definitions read
# What an expression raises where the values are not for it: jmespath's errors are ValueErrors, others are Python's.
_UNFIT = (ValueError, TypeError, ArithmeticError, RecursionError)


class MorePages(str):
    """A notice that more pages follow. It begins with the place that says so, a JSON pointer, and has its `value`."""

    value: str | int


def read_functions(path: Path, limits: LimitsSettings = DEFAULT_LIMITS, memo: Memo | None = None) -> Items:
    """Yield the tools of a file. Raises RunAborted where it has no function schemas."""
    if suffix_of(path) == ".jsonl":
        yield from read_jsonl(path, limits, memo, own_id=False)
        return
    document = read_document(path, limits, repeats := RepeatedKeys())
    found = find_definitions(document)
    if found is None:
        expected = other_document(document) or "no function schemas: expected a list, or an object with `tools`"
        raise RunAborted(f"the source {path} holds {expected}")
    yield from _of_whole(document, repeats)
    yield from _listed_tools(found, path.name, memo)


def read_jsonl(
    path: Path, limits: LimitsSettings = DEFAULT_LIMITS, memo: Memo | None = None, *, own_id: bool = True
) -> Items:
    """Yield the tools of a JSONL file, each `{"id", "name", "provider", "description", "parameters", "category",
    "examples"}`. Only name is required; null, {} and missing mean the same. A row may also hold several tools.

    `own_id` keeps the ids of the file.
    """
    memo = memo or Memo()

    def known(lines: Sequence[tuple[Origin, str]]) -> Sequence[RawTool | None]:
        keys = [digest(text, own_id, limits.record_characters) for _, text in lines]
        return memo.results("line", keys, RawTool | None, lambda places: [only_tool(*lines[p]) for p in places])

    def only_tool(origin: Origin, text: str) -> RawTool | None:
        """Return the tool of a line that is one definition and nothing else."""
        line = parse_line(origin, text, limits, repeats := RepeatedKeys())
        if isinstance(line, RecordRejected) or any(_of_whole(line[1:], repeats)):
            return None
        one, *others = definitions_within(line[1], origin.pointer)
        tool = listed_tool(one, origin.file, own_id=own_id)
        return tool if not others and isinstance(tool, RawTool) and tool.origin == origin else None

    lines = read_source_lines(path, limits, repeats := RepeatedKeys(), known)
    values = [line[1] for line in lines if not isinstance(line, RecordRejected)]
    yield from _of_whole([{"name": v.name} if isinstance(v, RawTool) else v for v in values], repeats)
    found: list[_Found] = []
    for line in lines:
        if isinstance(line, RecordRejected):
            found.append(line)
        elif isinstance(tool := line[1], RawTool):
            found.append(tool if tool.origin == line[0] else replace(tool, origin=line[0]))
        else:
            found += definitions_within(line[1], line[0].pointer)
    yield from _listed_tools(found, path.name, memo, own_id=own_id)


def read_mcp(path: Path, limits: LimitsSettings = DEFAULT_LIMITS, memo: Memo | None = None) -> Items:
    """Yield the tools of saved answers: the result, the whole JSON-RPC response, a list of pages, a bare list of tools,
    or the answers of several servers by their names. Prompts are read from a result, a response or a list of pages."""
    document = read_document(path, limits, repeats := RepeatedKeys())
    yield from _of_whole(document, repeats)
    prompts = take_prompts(document)
    found = find_definitions(document)
    if found is None and not prompts:
        why = other_document(document) or "it has no list of tools"
        raise RunAborted(f"the source {path} is not a saved tools/list answer: {why}")
    # The tools first: where a tool and a prompt share a name, the tool has the plain id, as from a live server.
    servers = {one.provider for one in found or ()}
    if len(servers) == 1:  # the names of several servers tell their tools apart: shortened, two could be one
        found = [replace(one, provider=one.provider and label_of_server(one.provider)) for one in found or ()]
    yield from _listed_tools(found or (), path.name, memo)
    yield from read_prompts(prompts, path.name, None)


def _of_whole(document: Any, repeats: RepeatedKeys) -> Iterator[str]:
    """Yield what a document as a whole lacks: values of repeated keys, and further pages."""
    yield from repeats.notices()
    for place, value in unfinished_lists(document):
        notice = MorePages(f"{place} {MORE_PAGES}: save those too, a list of all pages is read whole")
        notice.value = value
        yield notice


def listed_tool(one: ListedDefinition, file: str, *, own_id: bool = False) -> RawTool | RecordRejected:
    """Return a listed definition as a tool, or why it is rejected."""
    try:
        return read_tool(one.row, Origin(file, one.pointer), one.provider, own_id=own_id)
    except RecordRejected as rejected:
        return rejected


def _listed_tools(
    found: Sequence[_Found], file: str, memo: Memo | None, *, own_id: bool = False
) -> Iterator[RawTool | RecordRejected]:
    """Yield listed definitions as tools, or why they are rejected. `memo` has what earlier builds read."""
    if len(found) > _AT_ONCE:  # whoever counts the tools and their bytes may stop in between
        for first in range(0, len(found), _AT_ONCE):
            yield from _listed_tools(found[first : first + _AT_ONCE], file, memo, own_id=own_id)
        return
    listed = [one for one in found if isinstance(one, ListedDefinition)]

    def read(places: Sequence[int]) -> list[RawTool | None]:
        tools = (listed_tool(listed[place], file, own_id=own_id) for place in places)
        return [tool if isinstance(tool, RawTool) else None for tool in tools]

    keys = [digest(one.row, one.provider, own_id) for one in listed]
    tools = iter((memo or Memo()).results("read", keys, RawTool | None, read))
    for one in found:
        if not isinstance(one, ListedDefinition):
            yield one
        elif tool := next(tools):
            origin = Origin(file, one.pointer)
            yield tool if tool.origin == origin else replace(tool, origin=origin)
        else:
            yield listed_tool(one, file, own_id=own_id)


def take_prompts(document: Any) -> list[tuple[str, Any]]:
    """Take the prompts out of saved answers: a result, a response, or a list of pages. Return them by JSON pointer.

    Prompts look like tools, so readers of tools must not see them.
    """
    pages = document if isinstance(document, list) else [document]
    found: list[tuple[str, Any]] = []
    for number, page in enumerate(pages):
        pointer = f"/{number}" if isinstance(document, list) else ""
        if isinstance(page, dict) and isinstance(page.get("result"), dict):
            page, pointer = page["result"], f"{pointer}/result"
        rows = page.get("prompts") if isinstance(page, dict) else None
        if isinstance(rows, list) and any(isinstance(row, dict) and "name" in row for row in rows):
            del page["prompts"]
            page.setdefault("tools", [])
            found += [(f"{pointer}/prompts/{place}", row) for place, row in enumerate(rows)]
    return found


def read_prompts(rows: list[tuple[str, Any]], file: str, provider: str | None) -> Items:
    """Yield the prompts of rows with their pointers; a row that is not a prompt is rejected."""
    for pointer, row in rows:
        try:
            yield _prompt(row, Origin(file, pointer), provider)
        except RecordRejected as rejected:
            yield rejected


def _prompt(row: Any, origin: Origin, provider: str | None) -> RawTool:
    fields = FieldReader(row, origin)
    title, description = fields.text("title").strip(), fields.text("description").strip()
    arguments = fields.row.get("arguments")
    if arguments is not None and not isinstance(arguments, list):
        raise RecordRejected(origin, f"arguments is {fields.kind('arguments')}, not a list")
    schema: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
    for place, argument in enumerate(arguments or ()):
        argument = FieldReader(argument, Origin(origin.file, f"{origin.pointer}/arguments/{place}"))
        said = argument.text("description").strip()
        # The protocol has only texts.
        schema["properties"][argument.name()] = {"type": "string", **({"description": said} if said else {})}
        if argument.row.get("required") is True:
            schema.setdefault("required", []).append(argument.name())
    return RawTool(
        name=fields.name(),
        origin=origin,
        description=description or title,
        input_schema=schema,
        provider=provider,
        annotations={**({"title": title} if title else {}), "readOnlyHint": True},
        kind=Kind.PROMPT,
    )


def read_mapped(path: Path, fields: FieldSettings, limits: LimitsSettings = DEFAULT_LIMITS, *, lines: bool) -> Items:
    """Yield the tools of a document, or of each of its `lines`, as [source.fields] in catalog.toml says.

    Raises RunAborted where the selectors find nothing.
    """
    repeats = RepeatedKeys()
    documents: Sequence[Line]
    if lines:
        documents = read_source_lines(path, limits, repeats)
    else:
        documents = [(Origin(path.name, ""), read_document(path, limits, repeats))]
    yield from _of_whole([line[1] for line in documents if not isinstance(line, RecordRejected)], repeats)
    for document in documents:
        if isinstance(document, RecordRejected):
            yield document
            continue
        origin, value = document
        records = _records(ListedDefinition(origin.pointer, value), fields)
        if records is None and not lines:
            raise RunAborted(f"the source {path}: {_nothing(fields, value)}")
        if records is None:
            yield RecordRejected(origin, _nothing(fields, value))
        for record, server in records or ():
            yield _mapped_tool(record, server, fields, path.name)


def _records(whole: ListedDefinition, fields: FieldSettings) -> list[tuple[ListedDefinition, Any]] | None:
    """Return the records, each with its server where there are servers; None where nothing is selected."""
    if fields.servers is None:
        found = _held(whole, fields) if fields.tools or whole.pointer else find_definitions(whole.row)
        return None if found is None else [(record, None) for record in found]
    servers = _selected(fields.servers, whole)
    if servers is None:
        return None
    return [(record, server.row) for server in servers for record in _held(server, fields) or ()]


def _held(holder: ListedDefinition, fields: FieldSettings) -> list[ListedDefinition] | None:
    return _selected(fields.tools, holder) if fields.tools else definitions_within(holder.row, holder.pointer)


def _selected(expression: str, whole: ListedDefinition) -> list[ListedDefinition] | None:
    """Return the objects that an expression selects, with their JSON pointers and the provider that lists them."""
    try:
        found = jmespath.search(expression, whole.row)
    except _UNFIT:
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


def _mapped_tool(record: ListedDefinition, server: Any, fields: FieldSettings, file: str) -> RawTool | RecordRejected:
    """Return a record as a tool, its fields under the names that every reader knows, or why it is rejected."""
    row = record.row
    if not isinstance(row, dict):
        return listed_tool(record, file)
    try:
        read = {field: jmespath.search(expression, row) for field, expression in fields.of_a_record().items()}
        holders = [holder for holder in (row, server) if holder is not None] if fields.provider else []
        named = (jmespath.search(fields.provider, holder) for holder in holders)
        provider = next((name for name in named if isinstance(name, str) and name.strip()), record.provider)
    except _UNFIT as error:
        return RecordRejected(Origin(file, record.pointer), f"{_SECTION}: {' '.join(str(error).split())}")
    # A mapped field is read under its own name only.
    taken = fields.keys() - FieldSettings.model_fields.keys()
    taken |= {*PARAMETERS, *SPLIT_PARAMETERS} if "parameters" in read else set()
    rest = {key: value for key, value in row.items() if key not in taken}
    found = listed_tool(ListedDefinition(record.pointer, {**rest, **read}, provider), file, own_id="id" in read)
    if isinstance(found, RecordRejected) and found.keys:
        reason = f"{_SECTION}.name = {fields.name!r} gives no name" if fields.name else found.reason
        return RecordRejected(found.origin, reason, keys=tuple(row))
    return found


def _nothing(fields: FieldSettings, value: Any) -> str:
    keys = f"; the keys here are {', '.join(map(str, list(value)[:8]))}" if isinstance(value, dict) else ""
    for field in ("servers", "tools"):
        if expression := getattr(fields, field):
            return f"{_SECTION}.{field} = {expression!r} selects no list{keys}"
    return f'it holds no list of tools that is known: say in {_SECTION} where they are, such as tools = "apis[]"{keys}'
