"""Blocks of Anthropic's messages, as dicts or as objects of its SDK: the calls and the tool references in them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A model's call: its id, the tool's name, and the input, which may be anything that a model writes."""

    id: Any
    name: Any
    input: Any

    @classmethod
    def of(cls, block: Any) -> "ToolUse":
        """Return the call of a `tool_use` block."""
        return cls(_field(block, "id"), _field(block, "name"), _field(block, "input"))

    def result(self, content: str | list[dict[str, Any]], *, is_error: bool = False) -> dict[str, Any]:
        """Return the `tool_result` block that answers this call."""
        error = {"is_error": True} if is_error else {}
        return {"type": "tool_result", "tool_use_id": self.id, "content": content, **error}


def tool_uses(content: Iterable[Any]) -> Iterator[ToolUse]:
    """Yield the calls in the content of a model's message, but for calls of toolsets that Anthropic defines."""
    for block in _blocks(content):
        if _field(block, "type") == "tool_use" and not _field(block, "toolset_name"):
            yield ToolUse.of(block)


def referenced_names(messages: Iterable[Any]) -> list[str]:
    """Return the names that `tool_reference` blocks of the messages load, each once, the earliest first."""
    names: dict[str, None] = {}
    for message in messages:
        for block in _blocks(_field(message, "content")):
            content = _field(block, "content")
            if _field(block, "type") == "tool_search_tool_result":  # of Anthropic's own search
                content = _field(content, "tool_references")
            elif _field(block, "type") != "tool_result":
                continue
            for reference in _blocks(content):
                name = _field(reference, "tool_name")
                if _field(reference, "type") == "tool_reference" and isinstance(name, str):
                    names[name] = None
    return list(names)


def _blocks(content: Any) -> Iterable[Any]:
    """Return the blocks of a content; a text has none."""
    return () if content is None or isinstance(content, str) else content


def _field(block: Any, name: str) -> Any:
    """Return a field of a block; None where it has none."""
    return block.get(name) if isinstance(block, Mapping) else getattr(block, name, None)
