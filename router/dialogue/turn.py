"""The tools of one turn of a dialogue, as they are handed to a model."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from router.answer.results import RoutedTools
from router.provider_formats.formats import Detail, ProviderFormat
from router.provider_formats.rendering import Rendered, render
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
        routed: The answer to this turn only.
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
    form: ProviderFormat = ProviderFormat.OPENAI
    detail: Detail = Detail.FULL

    @property
    def ids(self) -> tuple[str, ...]:
        """Return the tools' ids, in order."""
        return tuple(tool.tool_id for tool in self.tools)

    @property
    def prefix_same(self) -> bool:
        """Return True where the tools are byte for byte those of the last turn: the cache then has the messages too."""
        return not (self.added or self.evicted or self.gone or self.changed)

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


def prompt_price(
    before: Sequence[RenderedTool], after: Sequence[RenderedTool], message_tokens: int, cached_price: float
) -> float:
    """Return what a prompt costs, in tokens of full price, where the cache has one with other tools before it.

    Messages stand behind the tools: the cache has them only if no tool differs.
    """
    cached, tokens = prefix_tokens(before, after), sum(tool.tokens for tool in after)
    if [tool.text for tool in before] == [tool.text for tool in after]:
        cached += message_tokens
    return tokens + message_tokens - (1 - cached_price) * cached


@dataclass(frozen=True, slots=True)
class Placement:
    """The `ids` in order: the earlier tools that stay, in their order, then `added`. `evicted` ones do not stay."""

    ids: tuple[str, ...]
    added: tuple[str, ...] = ()
    evicted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolCapacity:
    """How many `tools` there may be, and how many `tokens` unless that is None; `costs` are the tokens of each tool."""

    tools: int
    tokens: int | None
    costs: Mapping[str, int]

    def holds(self, ids: Collection[str]) -> bool:
        """Return True where all of some tools fit together."""
        return len(ids) <= self.tools and (self.tokens is None or sum(self.costs[i] for i in ids) <= self.tokens)

    def beside(self, ids: Collection[str], tokens: int) -> "ToolCapacity":
        """Return what room is left beside some tools, for no more than so many tokens."""
        if self.tokens is not None:
            tokens = min(tokens, self.tokens - sum(self.costs[i] for i in ids))
        return ToolCapacity(self.tools - len(ids), tokens, self.costs)

    def best(self, ranking: Sequence[str], k: int) -> tuple[str, ...]:
        """Return the first k tools of a ranking that fit together, passing over those that are too large."""
        chosen: list[str] = []
        for tool_id in ranking:
            if len(chosen) == k:
                break
            if self.holds([*chosen, tool_id]):
                chosen.append(tool_id)
        return tuple(chosen)


def place_tools(
    current: Sequence[str], wanted: Sequence[str], useful: Sequence[str], capacity: ToolCapacity
) -> Placement:
    """Add the wanted tools behind the current ones, and evict some where they do not all fit.

    `wanted` are current and new tools that fit by themselves, best first. `useful` are others that should stay, most
    useful first. If everything fits, nothing is evicted. Otherwise every tool that is neither wanted nor useful is
    evicted at once, because a provider reads everything behind the first gap anew in any case, and the next eviction
    then comes later. If that is not enough, the least useful tools are evicted one by one.
    """
    known = frozenset(current)
    added = tuple(tool_id for tool_id in wanted if tool_id not in known)
    everything = (*current, *added)
    if capacity.holds(everything):
        return Placement(everything, added)
    needed = frozenset(wanted)
    staying = needed.union(useful).intersection(everything)
    for least in reversed(useful):
        if capacity.holds(staying):
            break
        if least not in needed:
            staying = staying - {least}
    ids = tuple(tool_id for tool_id in everything if tool_id in staying)
    return Placement(ids, added, tuple(tool_id for tool_id in current if tool_id not in staying))
