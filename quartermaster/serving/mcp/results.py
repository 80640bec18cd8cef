"""Results of the three tools: a short text for a model, and the same as JSON for programs.

A vendor's steering text is left out of both, and what a tool's server answers has no hidden characters.

The text does not repeat the JSON, as older clients expect: a line for each tool takes a third of the tokens.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import mcp_types as types

from quartermaster.adapters import first_tools, withheld_notes
from router.answer.results import RoutedTools
from router.provider_formats.formats import Detail, VendorText
from router.provider_formats.rendering import compact_json, listed_line, listed_row
from router.provider_formats.shaping import handed_record
from router.record import Kind, ToolRecord
from router.tools.trust.trusted import TrustedRecord, trusted_text, visible_value

_MAX_NAMED = 5
_MAX_PARAMETER = 200  # characters
_MAX_ERROR = 2_000  # characters of an error, which may quote the call


def find_result(routed: RoutedTools, k: int) -> types.CallToolResult:
    """Return the result of find_tools: notes for the model, then the tools. `k` is the number that was asked for."""
    tools = {tool.tool_id: tool for tool in (*routed.always, *routed.tools)}
    handed = {tool_id: handed_record(tool.record, routed.vendor_text) for tool_id, tool in tools.items()}
    shown = {tool_id: its for tool_id, its in handed.items() if not its.unusable}
    notes = [*_notes(routed, k)]
    if len(shown) < len(handed):
        count = len(handed) - len(shown)
        notes.append(f"Left out: {count} whose name, id or required parameters cannot be shown to a model.")
    notes += withheld_notes(shown)
    rows = {tool_id: _row(its, tools[tool_id].detail) for tool_id, its in shown.items()}
    for first in first_tools(tools.values(), rows):
        if _is_shown(first.parameter, routed.vendor_text):
            needed = {"tool_id": first.tool_id, "parameter": first.parameter}
            rows[first.needing].setdefault("first", []).append(needed)
    lines = [_line(row) for row in rows.values()]
    found = [*rows.values()]
    fits = {"none_fits": routed.none_fits, "calibrated": routed.calibrated, "uncovered": [*routed.uncovered]}
    answer = {"tools": found, **fits, "notes": notes}
    return types.CallToolResult(content=[text_block("\n".join([*notes, *lines]))], structured_content=answer)


def describe_result(record: ToolRecord, vendor_text: VendorText, instructions: str = "") -> types.CallToolResult:
    """Return the result of describe_tool: all that a model needs to call the tool, or to follow the skill."""
    handed = handed_record(record, vendor_text)
    row = _row(handed, Detail.FULL)
    if handed.record.annotations:
        row["annotations"] = dict(handed.record.annotations)
    if instructions:
        row["instructions"] = instructions
    return types.CallToolResult(content=[text_block(compact_json(row))], structured_content=row)


def upstream_result(result: types.CallToolResult, vendor_text: VendorText) -> types.CallToolResult:
    """Return what a tool's server answered, without hidden characters and terminal sequences unless verbatim.

    The server's metadata is for its own client, so it is left out.
    """
    if vendor_text is VendorText.TRUSTED:
        result = types.CallToolResult.model_validate(visible_value(result.model_dump(by_alias=True)))
    return result.model_copy(update={"meta": None})


def text_result(text: str, *, is_error: bool = False) -> types.CallToolResult:
    """Return a text, such as a skill's instructions."""
    return types.CallToolResult(content=[text_block(text)], is_error=is_error)


def with_note(result: types.CallToolResult, note: str) -> types.CallToolResult:
    """Return a result with a note behind its content, unless that is empty. Structured content stays as it is."""
    return result.model_copy(update={"content": [*result.content, text_block(note)]}) if note else result


def prompt_result(prompt: types.GetPromptResult) -> types.CallToolResult:
    """Return the messages of a prompt as the result of a call: the texts of several with the role of who says each."""
    several = len(prompt.messages) > 1
    content: list[types.ContentBlock] = []
    for message in prompt.messages:
        block = message.content
        if several and isinstance(block, types.TextContent):
            block = text_block(f"{message.role}: {block.text}")
        content.append(block)
    return types.CallToolResult(content=content or [text_block("(the prompt has no messages)")])


def error_result(message: str) -> types.CallToolResult:
    """Return an error that a model can act on, distinct from an answer without tools."""
    text = message if len(message) <= _MAX_ERROR else f"{message[:_MAX_ERROR]}…"
    return text_result(text, is_error=True)


def _notes(routed: RoutedTools, k: int) -> Iterator[str]:
    if routed.failed:
        yield f"The selection failed, these tools are unfiltered: {routed.failed}"
    if routed.none_fits and routed.tools:
        yield f"{routed.doubt} Below is what comes closest."
    if routed.gaps and routed.tools:
        yield routed.gaps
    yield from routed.notes
    over_budget = [trusted_text(dropped.tool_id) for dropped in routed.dropped if dropped.by == "budget"][:k]
    if over_budget:
        named = ", ".join(over_budget[:_MAX_NAMED]) + (", …" if len(over_budget) > _MAX_NAMED else "")
        yield f"Left out because of token_budget: {named}."
    if not routed.tools:
        yield routed.nothing


def _row(handed: TrustedRecord, detail: Detail) -> dict[str, Any]:
    """Return a tool as JSON. Its record has been screened, so it is rendered as it stands."""
    record = handed.record
    row: dict[str, Any] = {"tool_id": record.tool_id}
    if record.kind is not Kind.TOOL:
        row["kind"] = str(record.kind)
        record = replace(record, kind=Kind.TOOL)  # its description need not say it again
    signed = replace(record, name=record.tool_id) if detail is Detail.SIGNATURE else record
    row |= listed_row(signed, detail, "input_schema")
    if handed.withheld:
        row["withheld"] = [part.to_json() for part in handed.withheld]
    return row


def _is_shown(parameter: str, vendor_text: VendorText) -> bool:
    """Return whether a model may read a parameter's name, on a line of its own."""
    if vendor_text is VendorText.VERBATIM:
        return True
    return len(parameter) <= _MAX_PARAMETER and parameter.isprintable() and trusted_text(parameter) == parameter


def _line(row: Mapping[str, Any]) -> str:
    """Return a tool for a model to read; below it the tools that must run first."""
    kind = f"[{row['kind']}] " if "kind" in row and "signature" in row else ""  # JSON says it itself
    return kind + listed_line(row, (f"{one['tool_id']}, for {one['parameter']}" for one in row.get("first", ())))


def text_block(text: str) -> types.TextContent:
    """Return a text as a block of a result."""
    return types.TextContent(type="text", text=text)
