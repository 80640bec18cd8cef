"""Decide which tools of earlier turns stay beside those of a new turn, and in which order. Pure, by tool id."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass


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

    `wanted` may hold current and new tools, best first. `useful` are other tools that should stay, most useful first.
    If everything fits, nothing is evicted. Otherwise every tool that is neither wanted nor useful is evicted at once,
    because a provider reads everything behind the first gap anew in any case, and the next eviction then comes later.
    If that is not enough, the least useful tools are evicted one by one. Raises ValueError where `wanted` alone does
    not fit.
    """
    if not capacity.holds(wanted):
        raise ValueError(
            f"{len(wanted)} wanted tools do not fit into {capacity.tools} tools and {capacity.tokens} tokens"
        )
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
