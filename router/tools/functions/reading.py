"""Reads a program's tools into records with ids, the functions behind them, and notes for the user.

Objects of frameworks are recognised by their attributes, so that no framework is imported.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from router.errors import RecordRejected, RequestInvalid, SettingsInvalid, quoted
from router.record import Origin, ToolRecord
from router.tools.definitions.nesting import definitions_within
from router.tools.definitions.raw_tool import RawTool, normalize
from router.tools.definitions.reading import Definition, distinct, record_of
from router.tools.definitions.vendors import read_tool
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


def read_tools(tools: Tools, provider: str | None = None, *, strict: bool = False) -> ToolSet:
    """Return the records of a program's tools; in a mapping, the keys are the providers.

    As in a build, exact duplicates are dropped, another tool of an id that is taken gets `~2`, `~3` in order, and what
    is no tool is left out; the notes say so. Raises SettingsInvalid for the first object that is not a tool, with its
    place, where it is `strict` or nothing else is left.
    """
    listed: list[tuple[str, ToolRecord, Function | None, tuple[str, ...]]] = []
    refused: list[str] = []
    for place, tool, label in _places(tools, provider):
        try:
            definition, function = _parse(tool, label)
            if isinstance(definition, RawTool):  # described by this program itself: there is no format to find out
                listed.append((place, normalize(definition), function, definition.notices))
                continue
        except RecordRejected as rejected:
            refused.append(f"{place}: {rejected.reason}")
            continue
        for one in definitions_within(definition, place):  # it may hold several
            try:
                listed.append((one.pointer, record_of(one.row, label or one.provider), function, ()))
            except SettingsInvalid as error:
                refused.append(f"{one.pointer}: {error}")
    if refused and (strict or not listed):
        raise SettingsInvalid(refused[0])
    served: list[ToolRecord] = []
    functions: dict[str, Function] = {}
    notes = [*_unread(tools), *(f"{why}; it is not served" for why in refused)]
    kept_records = distinct(record for _, record, _, _ in listed)
    for (place, record, function, notices), kept in zip(listed, kept_records, strict=True):
        if kept is None:
            notes.append(f"{place}: {record.tool_id} is there already, word for word: it is served once")
            continue
        served.append(kept)
        if function is not None:
            functions[kept.tool_id] = function
        if kept.tool_id != record.tool_id:
            notes.append(f"{place}: the id {record.tool_id} is taken, this tool is served as {kept.tool_id}")
        notes += [f"{place}, {kept.tool_id}: {notice}" for notice in notices]
    return ToolSet(tuple(served), functions, tuple(notes))


def raw_tools(tools: Tools) -> Iterator[RawTool | tuple[str, str]]:
    """Yield a program's tools in their own words, for a build; of one that is none, its place and the reason."""
    for place, tool, label in _places(tools, None):
        try:
            definition, _ = _parse(tool, label)
            if isinstance(definition, RawTool):
                yield definition
                continue
            row: Mapping[str, Any]
            if is_record := isinstance(definition, ToolRecord):
                row = {**definition.to_json(), "id": definition.tool_id}
            else:
                row = definition
            for listed in definitions_within(row, place):
                of = label or listed.provider
                own_id = is_record or (of is None and {"id", "provider"} <= listed.row.keys())  # as `record_of` has it
                raw = read_tool(dict(listed.row), Origin(_LIST, listed.pointer), own_id=own_id)
                yield replace(raw, provider=of or raw.provider)
        except (RecordRejected, SettingsInvalid) as error:
            yield place, error.reason if isinstance(error, RecordRejected) else str(error)


def _places(tools: Any, provider: str | None) -> Iterator[tuple[str, Tool, str | None]]:
    """Yield each tool with its place, for messages, and its provider."""
    if not isinstance(provider, str | None):
        raise SettingsInvalid(f"provider is {quoted(provider)}, it must be a text")
    is_mapping = isinstance(tools, Mapping)
    is_named = is_mapping and isinstance(tools.get("name"), str)
    # One OpenAI function, rather than the list of a provider called "function".
    is_function = is_mapping and "function" in tools and not _is_list(tools["function"])
    groups: list[tuple[str, Any, str | None]] = [(_LIST, tools, provider)]
    if _is_list(answer := tools.get(_LIST) if is_mapping else getattr(tools, _LIST, None)):
        # A response of MCP's `tools/list`, as JSON or as an object; one with a name is a server with its tools.
        groups = [(_LIST, [tools] if is_named else answer, provider)]
    elif is_mapping and not is_named and not is_function:
        if "paths" in tools and ("openapi" in tools or "swagger" in tools):
            raise SettingsInvalid(f"{_LIST} is an OpenAPI document: a build reads those, `quartermaster build`")
        groups = [(f"{_LIST}[{label!r}]", group, str(label)) for label, group in tools.items()]
    elif is_mapping or isinstance(tools, ToolRecord) or callable(tools):
        raise SettingsInvalid(f"{_LIST} is one tool, it must be a list: [tool]")
    for name, group, label in groups:
        if isinstance(group, str | bytes | Mapping | ToolRecord) or not isinstance(group, Iterable):
            raise SettingsInvalid(f"{name} is {quoted(group)}, it must be a list of tools")
        for place, tool in enumerate(group):
            yield f"{name}[{place}]", tool, label


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


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


def _parse(tool: Any, provider: str | None) -> tuple[Definition | RawTool, Function | None]:
    """Return the definition and function of one tool. Raises RecordRejected for an object that is not a tool."""
    if isinstance(tool, ToolRecord | Mapping):
        return tool, None
    if isinstance(tool, str):
        raise RecordRejected(_NOWHERE, f"a text is no tool: it must be {_EXPECTED}")
    if isinstance(getattr(tool, "name", None), str) and not isinstance(tool, type):
        if hasattr(tool, "args_schema"):  # LangChain's; without the arguments that LangChain fills in
            schema = getattr(tool, "tool_call_schema", None) or tool.args_schema
            schema = schema.model_json_schema() if hasattr(schema, "model_json_schema") else schema
            schema = schema if isinstance(schema, Mapping) else {}
            return _definition(tool, schema), _langchain_call(tool, schema.get("properties", {}))
        if isinstance(schema := getattr(tool, "params_json_schema", None), Mapping):  # OpenAI's Agents SDK
            return _definition(tool, schema), None
        if hasattr(tool, "model_dump"):  # MCP's Tool
            row = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
            if not isinstance(row, Mapping):
                raise RecordRejected(_NOWHERE, f"its model_dump gives {type(row).__name__}, not a dict")
            return row, None
        schemas = (getattr(tool, name, None) for name in ("inputSchema", "input_schema", "parameters"))
        if isinstance(schema := next((schema for schema in schemas if schema is not None), None), Mapping):
            return _definition(tool, schema), None
    if callable(getattr(getattr(tool, "metadata", None), "get_parameters_dict", None)):  # LlamaIndex's
        metadata = tool.metadata
        schema = metadata.get_parameters_dict()
        definition = {"name": metadata.name, "description": metadata.description or "", "parameters": schema}
        return definition, _llama_index_call(tool)
    if callable(tool):
        return function_tool(tool, provider), tool
    kind = "" if tool is None else f" of type {type(tool).__name__}"
    raise RecordRejected(_NOWHERE, f"{tool!r:.60}{kind} is no tool: it must be {_EXPECTED}")


def _definition(tool: Any, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": getattr(tool, "description", None) or "",
        "parameters": {key: value for key, value in schema.items() if key not in ("title", "description")},
    }


def _langchain_call(tool: Any, given: Mapping[str, Any]) -> Function:
    """Return a function that calls a LangChain tool with keyword arguments; async where the tool is only async.

    The context of a run is the value of the arguments that LangChain fills in, which no model may give.
    """
    injected = [name for name in getattr(tool.args_schema, "model_fields", ()) if name not in given]
    only_async = getattr(tool, "func", None) is None and getattr(tool, "coroutine", None) is not None
    invoke: Callable[..., Any] = tool.ainvoke if only_async else tool.invoke

    def call(_ctx: Any = None, /, **arguments: Any) -> Any:
        if forged := [name for name in injected if name in arguments]:
            raise RequestInvalid(f"{tool.name}: there is no parameter {forged[0]!r}")
        filled = {} if _ctx is None else dict.fromkeys(injected, _ctx)
        config = getattr(_ctx, "config", _ctx)  # LangChain's ToolRuntime has it
        return invoke({**arguments, **filled}, config if isinstance(config, Mapping) else None)

    return call


def _llama_index_call(tool: Any) -> Function:
    """Return a function that calls a LlamaIndex tool for its raw output; async where the tool's own function is."""

    async def acall(**arguments: Any) -> Any:
        return (await tool.acall(**arguments)).raw_output

    # `call` of a tool over an async function would wait for it in another thread.
    is_async = inspect.iscoroutinefunction(getattr(tool, "real_fn", None))
    return acall if is_async else lambda **arguments: tool.call(**arguments).raw_output
