"""Hold the tools of a source to the limits on records: reject what is too large, shorten what is too long."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec

from pipeline.errors import RecordRejected, RunAborted
from pipeline.settings import LimitsSettings
from router.tools.definitions.raw_tool import RawTool


def within(
    items: Iterator[RawTool | RecordRejected], limits: LimitsSettings, subject: str
) -> Iterator[RawTool | RecordRejected]:
    """Yield the items of a source, each within the limits: a tool that exceeds one is rejected, or shortened with a
    notice.

    Raises RunAborted where all of them together, of the source that `subject` names, exceed one.
    """
    size = 0
    for number, item in enumerate(items, 1):
        if number > limits.tools:
            raise RunAborted(
                f"{subject} holds more than the {limits.tools:,} tools of limits.tools: split it, or raise the limit"
            )
        if isinstance(item, RecordRejected):
            yield item
            continue
        try:
            tool = _shortened(item, limits)
            size += _size(tool, limits)
        except RecordRejected as rejected:
            yield rejected
            continue
        if size > limits.source_bytes:
            raise RunAborted(
                f"{subject} holds tools of more than the {limits.source_bytes:,} bytes of limits.source_bytes: "
                "split it, or raise the limit"
            )
        yield tool


def _size(tool: RawTool, limits: LimitsSettings) -> int:
    """Return the length of a tool as JSON. Raises RecordRejected where it, or its name, is too long."""
    for field in ("name", "id", "provider"):
        if (length := len(getattr(tool, field) or "")) > limits.name_characters:
            raise RecordRejected(
                tool.origin,
                f"{field} has {length:,} characters, more than the {limits.name_characters:,} of "
                "limits.name_characters",
            )
    parts = [tool.name, tool.description, tool.examples, tool.categories, tool.input_schema, tool.annotations]
    size = len(msgspec.json.encode(parts))
    if size > limits.record_characters:
        raise RecordRejected(
            tool.origin,
            f"it has {size:,} characters as JSON, more than the {limits.record_characters:,} of "
            "limits.record_characters",
        )
    # Within limits of their own, so that they reject no tool.
    return size + len(msgspec.json.encode([tool.outputs, tool.links, tool.instructions, tool.operation]))


def _shortened(tool: RawTool, limits: LimitsSettings) -> RawTool:
    """Return a tool whose texts are no longer than allowed, with a notice where any was."""
    notices: list[str] = []
    description = tool.description
    if len(description) > limits.text_characters:
        notices.append(
            f"its description has {len(description):,} characters: the first {limits.text_characters:,} count"
        )
        description = description[: limits.text_characters]
    lists: dict[str, Any] = {}
    for field in ("examples", "categories"):
        texts: tuple[str, ...] = getattr(tool, field)
        lists[field] = tuple(text[: limits.text_characters] for text in texts[: limits.listed_texts])
        if lists[field] != texts:
            notices.append(f"its {field} are shortened: the first {limits.listed_texts:,} count")
    return replace(tool, description=description, notices=(*tool.notices, *notices), **lists) if notices else tool
