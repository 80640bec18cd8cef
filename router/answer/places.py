"""Which candidates have the places of an answer, where tools were brought because others need them."""

from collections.abc import Sequence

from router.search.search import SearchResult

_FEW = 3  # tools of an answer, of which none gives its place to a tool that was brought


def first_rows(result: SearchResult, rows: Sequence[int], count: int) -> Sequence[int]:
    """Return the first candidates in their order; of a few, brought tools have only places that others leave."""
    if count > _FEW or not result.raises:
        return rows[:count]
    first = frozenset(own_order(result, rows)[:count])
    return [row for row in rows if row in first]


def own_order(result: SearchResult, rows: Sequence[int]) -> list[int]:
    """Return candidates with each brought tool where it would be by itself: last, if nothing else found it."""
    if result.own_ranking is None:
        return list(rows)
    ordinals = result.ranking.ordinals
    ranks = {ordinal: rank for rank, ordinal in enumerate(result.own_ranking.ordinals.tolist())}
    brought = [row for row in rows if int(ordinals[row]) in result.raises]
    ordered = [row for row in rows if int(ordinals[row]) not in result.raises]
    own = [ranks.get(int(ordinals[row]), len(ranks)) for row in ordered]
    # From the last on, so that each place is counted among the others alone.
    for row in sorted(brought, key=lambda row: (ranks.get(int(ordinals[row]), len(ranks)), row), reverse=True):
        rank = ranks.get(int(ordinals[row]), len(ranks))
        ordered.insert(sum(other < rank for other in own), row)
    return ordered
