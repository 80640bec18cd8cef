"""Which routed tools fit a token budget, and how much is told of each."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from router.errors import RequestInvalid
from router.provider_formats import Detail

Costs = NDArray[np.integer]

_DETAILS = tuple(Detail)


@dataclass(frozen=True, slots=True)
class SkippedCandidate:
    """A candidate that did not fit, by its position, with the reason: "needs 812 tokens, 140 left of 2,000"."""

    position: int
    reason: str


@dataclass(frozen=True, slots=True)
class PackedTools:
    """The packed candidates: positions in rank order, each with its detail, and their tokens together.

    `skipped` are, in rank order, the candidates that did not fit, of the first k and of those before the last one
    packed. A larger budget would have given them.
    """

    positions: tuple[int, ...]
    details: tuple[Detail, ...]
    tokens: int
    skipped: tuple[SkippedCandidate, ...]


def pack(costs: Costs, budget: int, k: int, details: Collection[Detail] = (Detail.FULL, Detail.SHORT)) -> PackedTools:
    """Return at most `k` candidates within `budget` tokens. Tools are shortened before any is dropped.

    `costs` are tokens of shape (candidates, details): a row for each candidate in rank order, a column for each Detail.
    `details` are those that may be used. Raises RequestInvalid where there is none.

    First fit, with the fewest tokens that each tool can be told in: one that is too large for the rest of the budget is
    skipped and the next is tried. Then, in rank order, each tool is given the most detail that there is room for.
    """
    # See docs/decisions/0021-shorten-before-dropping.md.
    columns = [column for column, detail in enumerate(_DETAILS) if detail in details]
    if not columns:
        raise RequestInvalid(f"no detail is allowed: choose from {', '.join(_DETAILS)}")
    allowed = np.asarray(costs)[:, columns]
    least = allowed.min(axis=1).tolist()
    positions, skipped, left = _first_fit(least, budget, k)
    used, left = _with_most_detail(allowed[positions].tolist(), left)
    return PackedTools(
        tuple(positions), tuple(_DETAILS[columns[column]] for column in used), budget - left, tuple(skipped)
    )


def _first_fit(costs: list[int], budget: int, k: int) -> tuple[list[int], list[SkippedCandidate], int]:
    """Return the packed positions, the skipped candidates, and the tokens left."""
    packed: list[int] = []
    too_large: list[tuple[int, int, int]] = []
    left = budget
    for position, cost in enumerate(costs):
        if len(packed) == k:
            break
        if cost <= left:
            packed.append(position)
            left -= cost
        else:
            too_large.append((position, cost, left))
    end = max(k, packed[-1] + 1) if packed else k
    skipped = [
        SkippedCandidate(position, f"needs {cost:,} tokens, {room:,} left of {budget:,}")
        for position, cost, room in too_large
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
