"""What the tools answer: few tokens for a model to read, and the same as JSON for programs.

The text is not the JSON once more, as older clients would have it: a line for each tool takes a third of the tokens.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import mcp_types as types

from router.answer.results import RoutedTools
from router.provider_formats import Detail, Form, render, signature
from router.record import ToolRecord

# How find_tools and describe_tool answer, as JSON schemas.
_TOOL = {
    "type": "object",
    "properties": {
        "tool_id": {"type": "string"},
        "signature": {"type": "string"},
        "description": {"type": "string"},
        "input_schema": {"type": "object"},
        "annotations": {"type": "object"},
    },
    "required": ["tool_id"],
}
FOUND: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "tools": {"type": "array", "items": _TOOL},
        "none_fits": {"type": "boolean"},
        "calibrated": {"type": "boolean", "description": "Whether none_fits was fitted to this catalog."},
        "notes": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["tools", "none_fits", "calibrated", "notes"],
}
DESCRIBED: Mapping[str, Any] = {**_TOOL, "required": ["tool_id", "description", "input_schema"]}

_MOST_NAMED = 5


def found(routed: RoutedTools, most: int) -> types.CallToolResult:
    """The tools of an answer, after what a model should know of them."""
    tools = [*routed.always, *routed.tools]
    notes = list(_notes(routed, most))
    rows = [_row(tool.record, tool.detail) for tool in tools]
    lines = [_line(row) for row in rows] or ["(no tools)"]
    answer = {"tools": rows, "none_fits": routed.none_fits, "calibrated": routed.calibrated, "notes": notes}
    return types.CallToolResult(content=[_text("\n".join([*notes, *lines]))], structured_content=answer)


def described(record: ToolRecord) -> types.CallToolResult:
    """All that is needed to call a tool."""
    row = _row(record, Detail.FULL)
    if record.annotations:
        row["annotations"] = dict(record.annotations)
    return types.CallToolResult(content=[_text(_json(row))], structured_content=row)


def failed(message: str) -> types.CallToolResult:
    """An error that a model can act on: never to be taken for an answer without tools."""
    return types.CallToolResult(content=[_text(message)], is_error=True)


def _notes(routed: RoutedTools, most: int) -> Iterator[str]:
    if routed.failed:
        yield f"The selection failed, these tools are unfiltered: {routed.failed}"
    if routed.none_fits:
        yield f"{routed.doubt} Below is what comes closest."
    yield from routed.notes
    short = [out.tool_id for out in routed.dropped if out.by == "budget"][:most]
    if short:
        named = ", ".join(short[:_MOST_NAMED]) + (", …" if len(short) > _MOST_NAMED else "")
        yield f"Left out because of token_budget: {named}."
    if not routed.tools and not short and not routed.none_fits:
        yield "No tool of the catalog passes the filters of this request."


def _row(record: ToolRecord, detail: Detail) -> dict[str, Any]:
    if detail is Detail.SIGNATURE:
        return {"tool_id": record.tool_id, "signature": signature(replace(record, name=record.tool_id))}
    (tool,) = render([record], Form.MCP, detail=detail).tools
    return {"tool_id": record.tool_id, "description": tool.get("description", ""), "input_schema": tool["inputSchema"]}


def _line(row: Mapping[str, Any]) -> str:
    return str(row["signature"]) if "signature" in row else _json(row)


def _json(row: Mapping[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"))


def _text(text: str) -> types.TextContent:
    return types.TextContent(type="text", text=text)
