"""Which routed tools fit a token budget."""

from collections.abc import Sequence


def pack(costs: Sequence[int], budget: int, limit: int) -> list[int]:
    """Positions, in rank order, of the tools that fit: greedy first fit, skip and continue.

    A tool too large for what is left is passed over and the next is tried, so one heavy schema at rank 3 does not end
    the answer. `costs` are tokens by rank; at most `limit` positions are returned.
    """
    taken: list[int] = []
    for position, cost in enumerate(costs):
        if len(taken) == limit:
            break
        if cost <= budget:
            taken.append(position)
            budget -= cost
    return taken
