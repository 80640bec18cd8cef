"""Which routed tools fit a token budget, and in what detail."""

from collections.abc import Collection, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from router.errors import RequestInvalid
from router.provider_formats.formats import Detail
from router.search.search import SearchResult

Costs = NDArray[np.integer]

_DETAILS = tuple(Detail)


class SkippedCandidate(msgspec.Struct, frozen=True):
    """A candidate that did not fit, by its position, with the reason: "needs 812 tokens, 140 left of 2,000"."""

    position: int
    reason: str


class PackedTools(msgspec.Struct, frozen=True):
    """The packed candidates: positions in rank order, each with its detail, and their tokens together.

    `skipped` are, in rank order, the candidates that did not fit, of the first k and of those before the last one
    packed. A larger budget would have given them.
    """

    positions: tuple[int, ...]
    details: tuple[Detail, ...]
    tokens: int
    skipped: tuple[SkippedCandidate, ...]


def pack(
    costs: Costs,
    budget: int,
    k: int,
    details: Collection[Detail] = (Detail.FULL, Detail.SHORT),
    last: Collection[int] = (),
    first: Collection[int] = (),
) -> PackedTools:
    """Return at most `k` candidates within `budget` tokens. Tools are shortened before any is dropped.

    `costs` are tokens of shape (candidates, details): a row for each candidate in rank order, a column for each Detail.
    `details` are those that may be used. Raises RequestInvalid where there is none. `last` are the positions of
    candidates that have a place among the k, but get only tokens that the candidates of the other places leave; `first`
    are those of candidates that get theirs before all others.

    First fit, with the fewest tokens that each tool can take: one that is too large for the rest of the budget is
    skipped and the next is tried. Then, in rank order, each tool is given the most detail that there is room for.
    """
    # See docs/decisions/answers.md.
    columns = [column for column, detail in enumerate(_DETAILS) if detail in details]
    if not columns:
        raise RequestInvalid(f"no detail is allowed: choose from {', '.join(_DETAILS)}")
    allowed = np.asarray(costs)[:, columns]
    least = allowed.min(axis=1).tolist()
    order, skipped, left = _first_fit(least, budget, k, frozenset(last) - frozenset(first), frozenset(first))
    used, left = _with_most_detail(allowed[order].tolist(), left)
    chosen = {position: _DETAILS[columns[column]] for position, column in zip(order, used, strict=True)}
    positions = tuple(sorted(chosen))
    return PackedTools(positions, tuple(map(chosen.__getitem__, positions)), budget - left, tuple(skipped))


def _first_fit(
    costs: list[int], budget: int, k: int, last: frozenset[int], first: frozenset[int]
) -> tuple[list[int], list[SkippedCandidate], int]:
    """Return the packed positions in the order in which they were packed, the skipped candidates, and the tokens left.

    The places of `last` are kept free until the others have theirs, and then go to whatever fits.
    """
    waiting = iter(
        [*sorted(first), *(place for place in range(len(costs)) if place not in last and place not in first)]
    )
    packed: list[int] = []
    too_large: dict[int, int] = {}
    left = budget
    for candidates, places in ((waiting, k - len(last)), (iter(sorted(last)), k), (waiting, k)):
        while len(packed) < places and (position := next(candidates, None)) is not None:
            if costs[position] <= left:
                packed.append(position)
                left -= costs[position]
            else:
                too_large[position] = left
    end = max(k, *(position + 1 for position in packed)) if packed else k
    skipped = [
        SkippedCandidate(position, f"needs {costs[position]:,} tokens, {room:,} left of {budget:,}")
        for position, room in sorted(too_large.items())
        if position < end
    ]
    return packed, skipped, left


def _with_most_detail(rows: list[list[int]], left: int) -> tuple[list[int], int]:
    """Return the column of each tool, and the tokens left. The least of each row is paid already."""
    columns = []
    for row in rows:
        room = left + min(row)
        column = next(column for column, cost in enumerate(row) if cost <= room)
        columns.append(column)
        left = room - row[column]
    return columns, left


def best_of_needs(result: SearchResult) -> frozenset[int]:
    """Return the ordinals of the best tool of each need, or of the duplicate that is shown for it."""
    shown_as = {duplicate: shown for shown, others in result.duplicates.items() for duplicate in others}
    best = (need.ranking.ordinals[:1].tolist() for need in result.needs)
    return frozenset(shown_as.get(ordinal, ordinal) for ordinals in best for ordinal in ordinals)


_FEW = 3  # tools of an answer, of which none gives its place to a tool that was brought


def first_rows(result: SearchResult, rows: Sequence[int], count: int) -> Sequence[int]:
    """Return the first candidates in their order; of a few, brought tools have only places that others leave."""
    if count > _FEW or not result.score_boosts:
        return rows[:count]
    first = frozenset(own_order(result, rows)[:count])
    return [row for row in rows if row in first]


def own_order(result: SearchResult, rows: Sequence[int]) -> list[int]:
    """Return candidates with each brought tool where it would be by itself: last, if nothing else found it."""
    if result.own_ranking is None:
        return list(rows)
    ordinals = result.ranking.ordinals
    ranks = {ordinal: rank for rank, ordinal in enumerate(result.own_ranking.ordinals.tolist())}
    brought = [row for row in rows if int(ordinals[row]) in result.score_boosts]
    ordered = [row for row in rows if int(ordinals[row]) not in result.score_boosts]
    own = [ranks.get(int(ordinals[row]), len(ranks)) for row in ordered]
    # From the last on, so that each place is counted among the others only.
    for row in sorted(brought, key=lambda row: (ranks.get(int(ordinals[row]), len(ranks)), row), reverse=True):
        rank = ranks.get(int(ordinals[row]), len(ranks))
        ordered.insert(sum(other < rank for other in own), row)
    return ordered
