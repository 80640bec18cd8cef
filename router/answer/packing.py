"""Which routed tools fit a token budget, and how much of each is said."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from router.errors import RequestInvalid
from router.provider_formats import Detail

Costs = NDArray[np.integer]

_DETAILS = tuple(Detail)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A candidate that was passed over, by its position: "needs 812 tokens, 140 left of 2,000"."""

    position: int
    reason: str


@dataclass(frozen=True, slots=True)
class Packing:
    """What was packed: positions in rank order, each with its detail, and what they cost together.

    `skipped` are the candidates that were passed over, in rank order: of the first k, and of those before the last
    that was packed. A larger budget would have given them.
    """

    positions: tuple[int, ...]
    details: tuple[Detail, ...]
    tokens: int
    skipped: tuple[Skipped, ...]


def pack(costs: Costs, budget: int, k: int, details: Collection[Detail] = (Detail.FULL, Detail.SHORT)) -> Packing:
    """At most `k` candidates within `budget` tokens: shortened before any is dropped.

    `costs` are tokens of shape (candidates, details): a row a candidate in rank order, a column a Detail, in its order.
    `details` are those that may be used.

    First fit, skip and continue, with the least that each tool can be said in: one that is too large for what is left
    is passed over and the next is tried. Then, in rank order, each tool is said in the most that there is room for.
    With one detail alone that is ToolPicker's packing. Raises RequestInvalid where no detail may be used.
    """
    # Full recall of the required tools among those packed, k = 10, in 250, 500 and 1,000 tokens of OpenAI's form
    # (benchmarks/packing.py, results/packing.json): first fit in full · shortened · shortened to a signature.
    #   demo          .641 .802 .893 · .698 .824 .914 · .759 .883 .937 (without a budget .937)
    #   Azure's MCP   .022 .734 .966 · .590 .960 .994 · .988 .994 1.00 (1.00)
    #   UltraTool     .602 .783 .889 · .615 .788 .894 · .748 .882 .927 (.927)
    #   MetaTool      .850 .913 .913 · .864 .913 .913 · .864 .913 .913 (.913)
    # The packing of the greatest value by rank, an exact knapsack over full and short tools, is worse than shortening
    # on every set: it trades first tools, mostly the right ones, for several light ones (UltraTool: .502 .659 .866).
    columns = [column for column, detail in enumerate(_DETAILS) if detail in details]
    if not columns:
        raise RequestInvalid(f"no detail is allowed: choose from {', '.join(_DETAILS)}")
    allowed = np.asarray(costs)[:, columns]
    least = allowed.min(axis=1).tolist()
    positions, skipped, left = _first_fit(least, budget, k)
    chosen, left = _said_in_full(allowed[positions].tolist(), left)
    return Packing(
        tuple(positions), tuple(_DETAILS[columns[column]] for column in chosen), budget - left, tuple(skipped)
    )


def _first_fit(costs: list[int], budget: int, k: int) -> tuple[list[int], list[Skipped], int]:
    """The positions taken, those passed over, and the tokens left."""
    taken: list[int] = []
    passed: list[tuple[int, int, int]] = []
    left = budget
    for position, cost in enumerate(costs):
        if len(taken) == k:
            break
        if cost <= left:
            taken.append(position)
            left -= cost
        else:
            passed.append((position, cost, left))
    end = max(k, taken[-1] + 1) if taken else k
    skipped = [
        Skipped(position, f"needs {cost:,} tokens, {room:,} left of {budget:,}")
        for position, cost, room in passed
        if position < end
    ]
    return taken, skipped, left


def _said_in_full(rows: list[list[int]], left: int) -> tuple[list[int], int]:
    """The column of each tool, which has the least so far, and the tokens left."""
    chosen = []
    for row in rows:
        room = left + min(row)
        column = next(column for column, cost in enumerate(row) if cost <= room)
        chosen.append(column)
        left = room - row[column]
    return chosen, left
