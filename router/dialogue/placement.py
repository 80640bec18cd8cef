"""Where the tools of a turn stand beside those of the turns before: pure, by id."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Placement:
    """`ids` in order: what was kept of the tools before, in their order, then `added`. `evicted` are the others."""

    ids: tuple[str, ...]
    added: tuple[str, ...] = ()
    evicted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolCapacity:
    """How much there may be at once: `tools`, and where it is not None `tokens`, of which `costs` has each tool's."""

    tools: int
    tokens: int | None
    costs: Mapping[str, int]

    def holds(self, ids: Collection[str]) -> bool:
        """Whether all of some tools fit."""
        return len(ids) <= self.tools and (self.tokens is None or sum(self.costs[i] for i in ids) <= self.tokens)

    def best(self, ranking: Sequence[str], k: int) -> tuple[str, ...]:
        """The first k of a ranking that fit, those passed over that are too large for what is left."""
        taken: list[str] = []
        for tool_id in ranking:
            if len(taken) == k:
                break
            if self.holds([*taken, tool_id]):
                taken.append(tool_id)
        return tuple(taken)


def place_tools(held: Sequence[str], wanted: Sequence[str], useful: Sequence[str], room: ToolCapacity) -> Placement:
    """Hold what a turn wants beside what is held already, moving nothing.

    `wanted` is new or held, best first, and fits the room by itself; `useful` is what else deserves its place, most
    useful first. Nothing goes while all fits. Then all goes that is neither wanted nor useful, so that it is long until
    the next time: what stands behind the first gap is read anew in any case. Where that is not enough, the least useful
    go, one by one. Raises ValueError where `wanted` does not fit.
    """
    if not room.holds(wanted):
        raise ValueError(f"{len(wanted)} wanted tools do not fit into {room.tools} tools and {room.tokens} tokens")
    known = frozenset(held)
    added = tuple(tool_id for tool_id in wanted if tool_id not in known)
    everything = (*held, *added)
    if room.holds(everything):
        return Placement(everything, added)
    needed = frozenset(wanted)
    kept = needed.union(useful).intersection(everything)
    for least in reversed(useful):
        if room.holds(kept):
            break
        if least not in needed:
            kept = kept - {least}
    ids = tuple(tool_id for tool_id in everything if tool_id in kept)
    return Placement(ids, added, tuple(tool_id for tool_id in held if tool_id not in kept))
