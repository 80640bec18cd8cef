"""The result of a search as a FastMCP server gives it: a short text for a model, and the same as JSON for programs."""

from collections.abc import Mapping
from typing import Any

from fastmcp.tools.base import Tool, ToolResult

from quartermaster.adapters.fastmcp.catalog import definition
from quartermaster.adapters.found_tools import first_tools, withheld_notes
from router.answer.results import RoutedTools
from router.provider_formats import handed_record, listed_line, listed_row
from router.tools.definitions.reading import record_of

_TOOL_SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "signature": {"type": "string"},
        "description": {"type": "string"},
        "inputSchema": {"type": "object"},
        "first": {"type": "array", "items": {"type": "string"}, "description": "Tools to call before this one."},
    },
    "required": ["name"],
}
RESULT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "tools": {"type": "array", "items": _TOOL_SCHEMA},
        "none_fits": {"type": "boolean"},
        "notes": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["tools", "none_fits", "notes"],
}
_NO_TOOLS = "There are no tools to search."


def empty_result() -> ToolResult:
    """Return the result of a search where its caller may see no tool."""
    return ToolResult(_NO_TOOLS, {"tools": [], "none_fits": True, "notes": [_NO_TOOLS]})


def search_result(routed: RoutedTools, tools: Mapping[str, Tool]) -> ToolResult:
    """Return the result of a search. `tools` are those that its caller may see, by the router's ids.

    Each is told as its caller's server lists it, never as another caller's search indexed it.
    """
    found = {routed_tool.tool_id: routed_tool for routed_tool in (*routed.always, *routed.tools)}
    handed = {
        tool_id: handed_record(record_of(definition(tools[tool_id])), routed.vendor_text)
        for tool_id in found
        if tool_id in tools
    }
    names = {tool_id: its.record.name for tool_id, its in handed.items() if not its.unusable}
    rows = {
        tool_id: {"name": name, **listed_row(handed[tool_id].record, found[tool_id].detail, "inputSchema")}
        for tool_id, name in names.items()
    }
    for first in first_tools(found.values(), names):
        rows[first.needing].setdefault("first", []).append(names[first.tool_id])
    notes = [f"{routed.doubt} Below is what comes closest."] if routed.none_fits and rows else []
    notes += withheld_notes({name: handed[tool_id] for tool_id, name in names.items()})
    if not rows:
        notes.append("No tool matches this request. Say it in other words, or say that there is no tool for it.")
    answer = {"tools": list(rows.values()), "none_fits": routed.none_fits or not rows, "notes": notes}
    lines = [listed_line(row, row.get("first", ())) for row in rows.values()]
    return ToolResult("\n".join([*notes, *lines]), answer)
