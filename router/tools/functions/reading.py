"""Reads a program's tools into records with ids, the functions behind them, and notes for the user.

Objects of frameworks are recognised by their attributes, so that no framework is imported.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from router.errors import RecordRejected, SettingsInvalid, quoted
from router.record import Origin, ToolRecord
from router.tools.definitions.json_values import replace_unstorable
from router.tools.definitions.raw_tool import RawTool, normalize
from router.tools.definitions.reading import Definition, distinct, records_of
from router.tools.functions.signatures import Function, function_tool

# A function, a definition or record, or an object of MCP, LangChain, LlamaIndex or OpenAI's Agents SDK.
Tool = Any
Tools = Iterable[Tool] | Mapping[str, Iterable[Tool]]

_LIST = "tools"


_NOWHERE = Origin("tools", "")
_EXPECTED = "a function, a definition (a dict), an MCP, LangChain or LlamaIndex tool, or a ToolRecord"


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
    listed: list[tuple[str, ParsedTool, ToolRecord]] = []
    for place, tool, label in _places(tools, provider):
        try:
            parsed = parse_tool(tool)
        except RecordRejected as rejected:
            raise SettingsInvalid(f"{place}: {rejected.reason}") from None
        for number, record in enumerate(_records(parsed.definition, place, label)):  # a definition may hold several
            listed.append((f"{place}/{number}" if number else place, parsed, record))
    served: list[ToolRecord] = []
    functions: dict[str, Function] = {}
    notes = [*_unread(tools)]
    for (place, parsed, record), kept in zip(listed, distinct(record for _, _, record in listed), strict=True):
        if kept is None:
            notes.append(f"{place}: {record.tool_id} is there already, word for word: it is served once")
            continue
        served.append(kept)
        if parsed.function is not None:
            functions[kept.tool_id] = parsed.function
        if kept.tool_id != record.tool_id:
            notes.append(f"{place}: the id {record.tool_id} is taken, this tool is served as {kept.tool_id}")
        notes += [f"{place}, {kept.tool_id}: {note}" for note in parsed.notes]
    return ToolSet(tuple(served), functions, tuple(notes))


def _records(definition: Definition | RawTool, place: str, provider: str | None) -> tuple[ToolRecord, ...]:
    if isinstance(definition, RawTool):  # described by this program itself: there is no format to find out
        return (normalize(replace(definition, provider=provider and replace_unstorable(provider))),)
    try:
        return records_of([definition], provider)
    except SettingsInvalid as error:
        raise SettingsInvalid(f"{place}{str(error).removeprefix('tools[0]')}") from None


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


@dataclass(frozen=True, slots=True)
class ParsedTool:
    """One tool: its definition, the function to call (if any), and notes for the user."""

    definition: Definition | RawTool
    function: Function | None = None
    notes: tuple[str, ...] = ()


def parse_tool(tool: object) -> ParsedTool:
    """Return the definition and function of one tool. Raises RecordRejected for an object that is no tool."""
    if isinstance(tool, ToolRecord | Mapping):
        return ParsedTool(tool)
    if isinstance(tool, str):
        raise RecordRejected(_NOWHERE, f"a text is no tool: it must be {_EXPECTED}")
    named = isinstance(getattr(tool, "name", None), str) and not isinstance(tool, type)
    if named and hasattr(tool, "args_schema"):
        return _langchain(tool)
    if named and isinstance(schema := getattr(tool, "params_json_schema", None), Mapping):  # OpenAI's Agents SDK
        return ParsedTool(_definition(tool, schema))
    if named and hasattr(tool, "model_dump"):  # MCP's Tool
        return ParsedTool(_checked_mapping(tool.model_dump(mode="json", by_alias=True, exclude_none=True)))
    if named and isinstance(schema := _first_attribute(tool, "inputSchema", "input_schema", "parameters"), Mapping):
        return ParsedTool(_definition(tool, schema))
    if callable(getattr(getattr(tool, "metadata", None), "get_parameters_dict", None)):
        return _llama_index(tool)
    if callable(tool):
        described, notes = function_tool(tool)
        return ParsedTool(described, tool, notes)
    kind = "" if tool is None else f" of type {type(tool).__name__}"
    raise RecordRejected(_NOWHERE, f"{tool!r:.60}{kind} is no tool: it must be {_EXPECTED}")


def _langchain(tool: Any) -> ParsedTool:
    """Read a LangChain tool: its schema without the arguments that LangChain fills in, called by `invoke`."""
    schema = getattr(tool, "tool_call_schema", None) or tool.args_schema
    if hasattr(schema, "model_json_schema"):
        schema = schema.model_json_schema()
    return ParsedTool(_definition(tool, schema if isinstance(schema, Mapping) else {}), _invoker(tool))


def _invoker(tool: Any) -> Function:
    """Return a function that calls a LangChain tool with keyword arguments; async where the tool is only async."""
    only_async = getattr(tool, "func", None) is None and getattr(tool, "coroutine", None) is not None
    invoke: Callable[[dict[str, Any]], Any] = tool.ainvoke if only_async else tool.invoke

    def call(**arguments: Any) -> Any:
        return invoke(arguments)

    return call


def _llama_index(tool: Any) -> ParsedTool:
    """Read a LlamaIndex tool, called for its raw output."""
    metadata = tool.metadata
    schema = metadata.get_parameters_dict()
    definition = {"name": metadata.name, "description": metadata.description or "", "parameters": schema}
    # `call` of a tool over an async function would wait for it in a thread of its own.
    is_async = inspect.iscoroutinefunction(getattr(tool, "real_fn", None))

    def call(**arguments: Any) -> Any:
        return tool.call(**arguments).raw_output

    async def acall(**arguments: Any) -> Any:
        return (await tool.acall(**arguments)).raw_output

    return ParsedTool(definition, acall if is_async else call)


def _definition(tool: Any, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": getattr(tool, "description", None) or "",
        "parameters": {key: value for key, value in schema.items() if key not in ("title", "description")},
    }


def _checked_mapping(row: object) -> Mapping[str, Any]:
    if not isinstance(row, Mapping):
        raise RecordRejected(_NOWHERE, f"its model_dump gives {type(row).__name__}, not a dict")
    return row


def _first_attribute(tool: object, *names: str) -> Any:
    return next((value for name in names if (value := getattr(tool, name, None)) is not None), None)
