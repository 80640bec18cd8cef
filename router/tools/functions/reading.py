"""Reads a program's tools into records with ids, the functions behind them, and notes for the user."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from router.errors import RecordRejected, SettingsInvalid, quoted
from router.record import Origin, ToolRecord
from router.tools.definitions import records_of
from router.tools.functions.objects import ParsedTool, parse_tool
from router.tools.functions.signatures import Function

# A function, a definition or record, or an object of MCP, LangChain, LlamaIndex or OpenAI's Agents SDK.
Tool = Any
Tools = Iterable[Tool] | Mapping[str, Iterable[Tool]]

_LIST = "tools"


@dataclass(frozen=True)
class ToolSet:
    """The records in the order of the tools, their functions by tool id, and notes for the user."""

    records: tuple[ToolRecord, ...]
    functions: Mapping[str, Function] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def read_tools(tools: Tools, provider: str | None = None) -> ToolSet:
    """Return the records of a program's tools; in a mapping, the keys are the providers.

    As in a build, exact duplicates are dropped, and another tool of an id that is taken gets `~2`, `~3` in order; the
    notes say so. Raises SettingsInvalid, which names the place of the first object that is no tool.
    """
    parsed_tools: dict[str, ParsedTool] = {}
    records: dict[str, ToolRecord] = {}
    for place, tool, label in _places(tools, provider):
        try:
            parsed = parse_tool(tool)
        except RecordRejected as rejected:
            raise SettingsInvalid(f"{place}: {rejected.reason}") from None
        for number, record in enumerate(_records(parsed, place, label)):
            # A definition may hold several tools.
            record_place = f"{place}/{number}" if number else place
            parsed_tools[record_place], records[record_place] = parsed, record
    # The place, as the origin, leads from each kept record back to its tool.
    placed = [replace(record, origin=Origin(_LIST, place)) for place, record in records.items()]
    kept_records = {record.origin.pointer: record for record in records_of(placed)}
    functions = {r.tool_id: f for place, r in kept_records.items() if (f := parsed_tools[place].function) is not None}
    served = tuple(replace(record, origin=records[place].origin) for place, record in kept_records.items())
    return ToolSet(served, functions, (*_unread(tools), *_notes(parsed_tools, records, kept_records)))


def _records(parsed: ParsedTool, place: str, provider: str | None) -> tuple[ToolRecord, ...]:
    try:
        records = records_of([parsed.definition], provider)
    except SettingsInvalid as error:
        raise SettingsInvalid(f"{place}{str(error).removeprefix('tools[0]')}") from None
    return records if parsed.origin is None else tuple(replace(record, origin=parsed.origin) for record in records)


def _places(tools: Tools, provider: str | None) -> Iterator[tuple[str, Tool, str | None]]:
    """Yield each tool with its place, for messages, and its provider."""
    if not isinstance(provider, str | None):
        raise SettingsInvalid(f"provider is {quoted(provider)}, it must be a text")
    for name, group, label in _groups(tools, provider):
        if isinstance(group, str | bytes | Mapping | ToolRecord) or not isinstance(group, Iterable):
            raise SettingsInvalid(f"{name} is {quoted(group)}, it must be a list of tools")
        for place, tool in enumerate(group):
            yield f"{name}[{place}]", tool, label


def _groups(tools: Any, provider: str | None) -> Iterator[tuple[str, Any, str | None]]:
    """Yield the lists of tools, each with its place and its provider."""
    listed = tools.get(_LIST) if isinstance(tools, Mapping) else getattr(tools, _LIST, None)
    if _is_list(listed):
        # A response of MCP's `tools/list`, as JSON or as an object; one with a name is a server with its tools.
        named = isinstance(tools, Mapping) and isinstance(tools.get("name"), str)
        yield _LIST, [tools] if named else listed, provider
    elif isinstance(tools, Mapping) and not isinstance(tools.get("name"), str) and not _is_function(tools):
        if "paths" in tools and ("openapi" in tools or "swagger" in tools):
            raise SettingsInvalid(f"{_LIST} is an OpenAPI document: a build reads those, `quartermaster build`")
        for label, group in tools.items():
            yield f"{_LIST}[{label!r}]", group, str(label)
    elif isinstance(tools, Mapping | ToolRecord) or callable(tools):
        raise SettingsInvalid(f"{_LIST} is one tool, it must be a list: [tool]")
    else:
        yield _LIST, tools, provider


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _is_function(tool: Mapping[Any, Any]) -> bool:
    """Return whether this is one OpenAI function, rather than the list of a provider called "function"."""
    return "function" in tool and not _is_list(tool["function"])


def _unread(tools: Any) -> Iterator[str]:
    """Yield notes on what was not read of an MCP response, beside its list of tools."""
    if not isinstance(tools, Mapping):
        # One or the other: where FastMCP is imported, version 2 of the SDK warns of the old name.
        name = "next_cursor" if hasattr(tools, "next_cursor") else "nextCursor"
        beside = {"nextCursor": getattr(tools, name, None)}
    else:
        beside = dict(tools) if _is_list(tools.get(_LIST)) else {}
    if beside.get("nextCursor"):
        yield f"{_LIST} is one page of several, it has a nextCursor: the tools of the others are not here"
    if lists := [repr(key) for key, value in beside.items() if key != _LIST and _is_list(value)]:
        yield f"{', '.join(lists)}: not read, as {_LIST!r} beside it is taken for the list of tools"


def _notes(
    parsed_tools: Mapping[str, ParsedTool], records: Mapping[str, ToolRecord], kept_records: Mapping[str, ToolRecord]
) -> Iterator[str]:
    """Yield notes on tools that were renamed or dropped as duplicates, and the notes of the tools themselves."""
    for place, record in records.items():
        if place not in kept_records:
            yield f"{place}: {record.tool_id} is there already, word for word: it is served once"
            continue
        if (tool_id := kept_records[place].tool_id) != record.tool_id:
            yield f"{place}: the id {record.tool_id} is taken, this tool is served as {tool_id}"
        for note in parsed_tools[place].notes:
            yield f"{place}, {tool_id}: {note}"
