"""Token-budget packing."""

from hypothesis import given
from hypothesis import strategies as st

from router.packing import pack


def test_a_tool_too_large_is_skipped_and_smaller_ones_follow() -> None:
    assert pack([30, 500, 40, 20, 20], budget=100, limit=4) == [0, 2, 3]


def test_at_most_the_limit_is_taken() -> None:
    assert pack([1, 1, 1], budget=100, limit=2) == [0, 1]


@given(st.lists(st.integers(1, 500), max_size=30), st.integers(1, 2_000), st.integers(1, 10))
def test_what_is_packed_fits_in_rank_order_and_leaves_no_room_for_what_was_skipped(
    costs: list[int], budget: int, limit: int
) -> None:
    taken = pack(costs, budget, limit)
    spent = sum(costs[i] for i in taken)
    assert taken == sorted(set(taken)) and spent <= budget and len(taken) <= limit
    if len(taken) < limit:
        assert all(costs[i] > budget - spent for i in range(len(costs)) if i not in taken)
