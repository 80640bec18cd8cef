"""What searches over MCP say beside the tools that they found: what runs first, and what was withheld."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from router.answer.results import RoutedTool
from router.tools.trust import TrustedRecord


class First(NamedTuple):
    """A tool that must run before another, for a parameter of that."""

    tool_id: str
    needing: str
    parameter: str


def first_tools(tools: Iterable[RoutedTool], shown: Collection[str]) -> Iterator[First]:
    """Yield which of the tools that a model is shown, by id, must run before which."""
    for tool in tools:
        for needing in tool.needed_by:
            if tool.tool_id in shown and needing.tool_id in shown:
                yield First(tool.tool_id, needing.tool_id, needing.parameter)


def withheld_notes(handed: Mapping[str, TrustedRecord]) -> Iterator[str]:
    """Yield what a model is told of text that was left out of tools, which it is handed under these names."""
    for name, tool in handed.items():
        if reasons := dict.fromkeys(part.reason for part in tool.withheld):
            yield f"Part of what the vendor of {name} wrote was withheld: {'; '.join(reasons)}."
