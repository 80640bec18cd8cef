"""Twins in a ranking."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from router.retrievers import EMPTY, Ranking
from router.twins import collapse


def fused(*ordinals: int) -> Ranking:
    return Ranking(np.array(ordinals, np.int64), np.arange(len(ordinals), 0, -1, dtype=np.float64))


def test_the_best_ranked_twin_is_kept_and_the_others_stand_under_it() -> None:
    twins = np.array([0, 1, 0, 3, 0, 1], np.int64)  # 0, 2, 4 are one tool; 1, 5 another
    kept, under = collapse(fused(4, 3, 0, 5, 2), twins)
    assert kept.tolist() == [0, 1, 3]
    assert under == {4: (0, 2)}


def test_without_twins_every_row_is_kept() -> None:
    kept, under = collapse(fused(2, 0, 1), np.arange(3))
    assert kept.tolist() == [0, 1, 2]
    assert under == {}
    assert collapse(EMPTY, np.arange(3))[0].tolist() == []


@given(st.permutations(range(8)), st.lists(st.integers(0, 3), min_size=8, max_size=8))
def test_no_tool_is_lost_and_none_stands_twice(order: list[int], groups: list[int]) -> None:
    twins = np.array([groups.index(group) for group in groups], np.int64)
    kept, under = collapse(fused(*order), twins)
    heads = [order[row] for row in kept]
    assert sorted([*heads, *(o for others in under.values() for o in others)]) == list(range(8))
    assert len({int(twins[o]) for o in heads}) == len(heads)
    assert all(twins[o] == twins[head] for head, others in under.items() for o in others)
