"""The tools of one turn of a dialogue, as they are handed to a model."""

from collections.abc import Sequence
from dataclasses import dataclass

from router.answer.results import RoutedTools
from router.provider_formats import Detail, Form, Rendered, render
from router.record import ToolRecord


@dataclass(frozen=True, slots=True)
class Turn:
    """The tools of one turn, in the order in which to hand them over, and the changes since the last turn.

    Attributes:
        tools: The records, in the order in which to hand them over.
        added: Ids that are new. They stand last.
        evicted: Ids that made room.
        gone: Ids that left the catalog, or are no longer admitted.
        changed: Ids with another definition in the same place.
        tokens: The tokens of all tools.
        prefix_tokens: The tokens of the tools that this turn and the last both begin with.
        routed: The answer to this turn alone.
        form: The provider format.
        detail: How much of each tool is rendered.
    """

    tools: tuple[ToolRecord, ...]
    added: tuple[str, ...]
    evicted: tuple[str, ...]
    gone: tuple[str, ...]
    changed: tuple[str, ...]
    tokens: int
    prefix_tokens: int
    routed: RoutedTools
    form: Form = Form.OPENAI
    detail: Detail = Detail.FULL

    @property
    def ids(self) -> tuple[str, ...]:
        """Return the tools' ids, in order."""
        return tuple(tool.tool_id for tool in self.tools)

    def render(self, *, strict: bool = False) -> Rendered:
        """Return the tools in the provider's format, with the ids by name.

        They begin as those of the last turn do if `strict` is the same. Tokens are counted without `strict`.
        """
        vendor_text = self.routed.vendor_text
        return render(self.tools, self.form, detail=self.detail, strict=strict, vendor_text=vendor_text)


@dataclass(frozen=True, slots=True)
class RenderedTool:
    """A tool with its rendered JSON text, and the tokens of that."""

    record: ToolRecord
    text: str
    tokens: int


def prefix_tokens(before: Sequence[RenderedTool], after: Sequence[RenderedTool]) -> int:
    """Return the tokens of the rendered tools that both sequences begin with."""
    tokens = 0
    for old, new in zip(before, after, strict=False):
        if old.text != new.text:
            break
        tokens += new.tokens
    return tokens
