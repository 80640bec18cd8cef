"""Whatever stands for one tool in a Python program → a definition that `router.tools.definitions` reads.

Objects of frameworks are known by their attributes, so that none of the frameworks is imported.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from router.errors import RecordRejected
from router.record import Origin, ToolRecord
from router.tools.definitions import Definition
from router.tools.functions.signatures import Function, function_tool

_NOWHERE = Origin("tools", "")
_EXPECTED = "a function, a definition (a dict), an MCP or LangChain tool, or a ToolRecord"


@dataclass(frozen=True, slots=True)
class ParsedTool:
    """One tool as it was given: its definition, what is called for it, if anything is, where that stands, and what a
    person should know."""

    definition: Definition
    function: Function | None = None
    notes: tuple[str, ...] = ()
    origin: Origin | None = None


def parse_tool(tool: object) -> ParsedTool:
    """Return what one tool says of itself. Raises RecordRejected for what is no tool."""
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
        return ParsedTool(_plain(tool.model_dump(mode="json", by_alias=True, exclude_none=True)))
    if named and isinstance(schema := _first(tool, "inputSchema", "input_schema", "parameters"), Mapping):
        return ParsedTool(_definition(tool, schema))
    if callable(tool):
        described = function_tool(tool)
        return ParsedTool(described.definition, tool, described.notes, _origin(tool, described.definition["name"]))
    kind = "" if tool is None else f" of type {type(tool).__name__}"
    raise RecordRejected(_NOWHERE, f"{tool!r:.60}{kind} is no tool: it must be {_EXPECTED}")


def _origin(function: Function, name: str) -> Origin:
    """Return where a function is defined; of a partial, the function within."""
    while isinstance(function, partial):
        function = function.func
    return Origin(getattr(function, "__module__", None) or "", getattr(function, "__qualname__", name))


def _langchain(tool: Any) -> ParsedTool:
    """Return a LangChain tool: the schema without the arguments that LangChain fills in, called by `invoke`."""
    schema = getattr(tool, "tool_call_schema", None) or tool.args_schema
    if hasattr(schema, "model_json_schema"):
        schema = schema.model_json_schema()
    return ParsedTool(_definition(tool, schema if isinstance(schema, Mapping) else {}), _invoking(tool))


def _invoking(tool: Any) -> Function:
    only_async = getattr(tool, "func", None) is None and getattr(tool, "coroutine", None) is not None
    invoke: Callable[[dict[str, Any]], Any] = tool.ainvoke if only_async else tool.invoke

    def invoked(**arguments: Any) -> Any:
        return invoke(arguments)

    return invoked


def _definition(tool: Any, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": getattr(tool, "description", None) or "",
        "parameters": {key: value for key, value in schema.items() if key not in ("title", "description")},
    }


def _plain(row: object) -> Mapping[str, Any]:
    if not isinstance(row, Mapping):
        raise RecordRejected(_NOWHERE, f"its model_dump gives {type(row).__name__}, not a dict")
    return row


def _first(tool: object, *names: str) -> Any:
    return next((value for name in names if (value := getattr(tool, name, None)) is not None), None)
