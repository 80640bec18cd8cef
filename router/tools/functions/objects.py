"""Reads one tool of a Python program, of any kind, into a definition for `router.tools.definitions`.

Objects of frameworks are recognised by their attributes, so that no framework is imported.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from router.errors import RecordRejected
from router.record import Origin, ToolRecord
from router.tools.definitions import Definition
from router.tools.functions.signatures import Function, function_tool

_NOWHERE = Origin("tools", "")
_EXPECTED = "a function, a definition (a dict), an MCP, LangChain or LlamaIndex tool, or a ToolRecord"


@dataclass(frozen=True, slots=True)
class ParsedTool:
    """One tool: its definition, the function to call (if any), notes for the user, and the function's place."""

    definition: Definition
    function: Function | None = None
    notes: tuple[str, ...] = ()
    origin: Origin | None = None


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
        described = function_tool(tool)
        return ParsedTool(described.definition, tool, described.notes, _origin(tool, described.definition["name"]))
    kind = "" if tool is None else f" of type {type(tool).__name__}"
    raise RecordRejected(_NOWHERE, f"{tool!r:.60}{kind} is no tool: it must be {_EXPECTED}")


def _origin(function: Function, name: str) -> Origin:
    """Return where a function is defined; for a partial, the function within."""
    while isinstance(function, partial):
        function = function.func
    return Origin(getattr(function, "__module__", None) or "", getattr(function, "__qualname__", name))


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
