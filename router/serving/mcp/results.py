"""Results of the three tools: a short text for a model, and the same as JSON for programs.

The text does not repeat the JSON, as older clients expect: a line for each tool takes a third of the tokens.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import mcp_types as types

from router.answer.results import RoutedTools
from router.provider_formats import Detail, Form, render, signature
from router.record import ToolRecord

_MAX_NAMED = 5
_MAX_ERROR = 2_000  # characters of an error, which may quote the call


def find_result(routed: RoutedTools, k: int) -> types.CallToolResult:
    """Return the result of find_tools: notes for the model, then the tools. `k` is the number that was asked for."""
    tools = [*routed.always, *routed.tools]
    notes = list(_notes(routed, k))
    rows = [_row(tool.record, tool.detail) for tool in tools]
    lines = [_line(row) for row in rows] or ["(no tools)"]
    answer = {"tools": rows, "none_fits": routed.none_fits, "calibrated": routed.calibrated, "notes": notes}
    return types.CallToolResult(content=[_text("\n".join([*notes, *lines]))], structured_content=answer)


def describe_result(record: ToolRecord) -> types.CallToolResult:
    """Return the result of describe_tool: all that a model needs to call the tool."""
    row = _row(record, Detail.FULL)
    if record.annotations:
        row["annotations"] = dict(record.annotations)
    return types.CallToolResult(content=[_text(_json(row))], structured_content=row)


def error_result(message: str) -> types.CallToolResult:
    """Return an error that a model can act on, distinct from an answer without tools."""
    text = message if len(message) <= _MAX_ERROR else f"{message[:_MAX_ERROR]}…"
    return types.CallToolResult(content=[_text(text)], is_error=True)


def _notes(routed: RoutedTools, k: int) -> Iterator[str]:
    if routed.failed:
        yield f"The selection failed, these tools are unfiltered: {routed.failed}"
    if routed.none_fits:
        yield f"{routed.doubt} Below is what comes closest."
    yield from routed.notes
    over_budget = [dropped.tool_id for dropped in routed.dropped if dropped.by == "budget"][:k]
    if over_budget:
        named = ", ".join(over_budget[:_MAX_NAMED]) + (", …" if len(over_budget) > _MAX_NAMED else "")
        yield f"Left out because of token_budget: {named}."
    if not routed.tools and not over_budget and not routed.none_fits:
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
