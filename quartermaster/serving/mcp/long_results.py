"""Results that are too long for a model: it reads the beginning, and may read on."""

import secrets
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import mcp_types as types

from quartermaster.serving.mcp.results import text_block
from router.errors import RequestInvalid
from router.provider_formats.rendering import compact_json

MAX_RESULT_CHARACTERS = 50_000
_PREFIX = "rest-of-result/"
_MAX_KEPT = 16_000_000  # characters of all rests together


class LongResults:
    """Keeps what was cut from results, the latest ones, under ids that cannot be guessed."""

    def __init__(self, max_characters: int = MAX_RESULT_CHARACTERS) -> None:
        self._max = max_characters
        self._rests: OrderedDict[str, str] = OrderedDict()

    def shortened(self, result: types.CallToolResult, more: str = "") -> types.CallToolResult:
        """Return a result whose texts together have at most the most characters, and how to read on.

        `more` follows behind them. Images and other blocks without a text stay as they are. Structured content beyond
        the most characters is left out; where the texts do not repeat it, it becomes one of them.
        """
        blocks, structured = [*result.content], result.structured_content
        if structured is not None and len(serialized := compact_json(structured)) > self._max:
            structured = None
            if sum(len(_text_of(block) or "") for block in blocks) <= self._max:
                blocks.append(text_block(serialized))
        left, content, cut = self._max, list[types.ContentBlock](), list[str]()
        for block in blocks:
            text = _text_of(block)
            if text is None or len(text) <= left:
                content.append(block)
            else:
                cut.append(text[left:])
                content += [text_block(text[:left])] if left else []
            left = max(0, left - len(text or ""))
        if rest := "\n".join(cut) + more:
            content.append(self._told(self._keep(rest), 0, len(rest)))
        return result.model_copy(update={"content": content, "structured_content": structured})

    def read_on(self, tool_id: str, arguments: Mapping[str, Any]) -> types.CallToolResult | None:
        """Return the next part of a rest; None for the id of a tool. Raises RequestInvalid where there is none."""
        if not tool_id.startswith(_PREFIX):
            return None
        rest, start = self._rests.get(tool_id), arguments.get("start", 0)
        if rest is None:
            raise RequestInvalid("the rest of that result is no longer kept: call the tool again, and ask for less")
        if not isinstance(start, int) or not 0 <= start < len(rest):
            raise RequestInvalid(f"start is {start!r:.40}, it must be a whole number from 0 to {len(rest) - 1}")
        end = start + self._max
        further = [self._told(tool_id, end, len(rest) - end)] if end < len(rest) else []
        return types.CallToolResult(content=[text_block(rest[start:end]), *further])

    def _keep(self, rest: str) -> str:
        tool_id = f"{_PREFIX}{secrets.token_urlsafe(12)}"
        self._rests[tool_id] = rest
        while len(self._rests) > 1 and sum(map(len, self._rests.values())) > _MAX_KEPT:
            self._rests.popitem(last=False)
        return tool_id

    @staticmethod
    def _told(tool_id: str, start: int, count: int) -> types.TextContent:
        call = compact_json({"tool_id": tool_id, "arguments": {"start": start}})
        how = f"Ask for less, or read on with call_tool {call}"
        return text_block(f"The result is cut here: {count:,} characters follow. {how}")


def _text_of(block: types.ContentBlock) -> str | None:
    if isinstance(block, types.EmbeddedResource):
        return block.resource.text if isinstance(block.resource, types.TextResourceContents) else None
    return block.text if isinstance(block, types.TextContent) else None
