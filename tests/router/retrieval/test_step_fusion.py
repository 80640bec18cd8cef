"""Covering steps, against the formula worked by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.query.steps import Steps
from router.retrieval.retrievers import EMPTY, EncodedQuery, Ranking
from router.retrieval.step_fusion import cover_steps, need_weights
from tests.router.retrieval.rankings import ranking, rankings


def steps(*weights: float, share: float = 1.0) -> Steps:
    return Steps(tuple(f"step {place}" for place in range(len(weights))), weights, share)


def test_a_tool_gains_from_the_one_step_that_it_serves_best() -> None:
    whole = ranking((1, 4.0), (2, 3.0), (3, 2.0))
    covered = cover_steps(whole, [ranking((1, 4.0), (2, 2.0)), ranking((3, 1.0), (2, 0.25))], steps(1.0, 0.5))
    # Step 0 is on the whole's level; step 1, best 1, is raised by √(4/1) = 2 and weighs half.
    assert covered.ranking.ordinals.tolist() == [1, 2, 3]
    assert covered.ranking.scores.tolist() == pytest.approx([4 + 0.65 * 4, 3 + 0.65 * 2, 2 + 0.65 * 0.5 * 2])
    assert covered.gains.tolist() == pytest.approx([2.6, 1.3, 0.65])
    assert covered.steps.tolist() == [0, 0, 1]


def test_stated_needs_are_summed_too_but_nothing_stays_first_and_no_places_are_held() -> None:
    whole, part = ranking((1, 4.0), (2, 3.0)), ranking((2, 4.0), (3, 2.0))
    stated = Steps(("need",), (1.0,), 0.5, stated=True)
    covered = cover_steps(whole, [part], stated)
    assert covered.ranking.ordinals.tolist() == [2, 1, 3]
    assert covered.ranking.scores.tolist() == pytest.approx([1.5 + 0.65 * 4, 2, 0.65 * 2])
    many = Steps(("need",) * 4, (1.0,) * 4, 0.5, stated=True)
    assert cover_steps(whole, [ranking((tool, 4.0)) for tool in (5, 6, 7, 8)], many).ranking.ordinals[0] == 5


def test_a_need_counts_by_how_near_it_is_to_the_request() -> None:
    def query(*vector: float) -> EncodedQuery:
        return EncodedQuery("text", (), np.array(vector, np.float32), np.array(vector, np.float32))

    # The best tool is .5 above the center of .1: .4 of that, .2, is near enough to count in full.
    dense = Ranking.of(np.array([1, 2]), np.array([0.6, 0.2]), center=0.1, spread=0.1)
    needs = [query(0.9, 0), query(0.3, 0), query(0.2, 0), query(0.1, 0), query(-1, 0)]
    assert need_weights(query(1, 0), needs, dense) == pytest.approx((1, 1, 0.75, 0.5, 0.5), abs=1e-6)
    # A list whose best tool does not stand out is measured by its spread.
    flat = Ranking.of(np.array([1]), np.array([0.1]), center=0.1, spread=0.5)
    assert need_weights(query(1, 0), [query(0.2, 0)], flat) == pytest.approx((0.75,))
    for no_list, of in ((None, query(1, 0)), (EMPTY, query(1, 0)), (dense, EncodedQuery("text", ()))):
        assert need_weights(of, needs, no_list) == (1,) * 5


TWO, CLOSE, BELOW = ranking((1, 2.0), (2, 0.5)), ranking((1, 2.0), (2, 1.9)), ranking((1, 1.0), (2, -1.0))
MANY = [ranking((tool, 2.0), (9, 1.0)) for tool in (1, 2, 3, 4)]


@pytest.mark.parametrize(
    ("whole", "parts", "asked", "expected"),
    [
        # A tool that only a step finds is in the answer.
        (TWO, [ranking((1, 2.0)), ranking((9, 2.0))], steps(1.0, 1.0), {1: 2 + 0.65 * 2, 9: 0.65 * 2, 2: 0.5}),
        # The best tool of the whole request stays first, and is raised to the score of the next.
        (CLOSE, [ranking((2, 2.0))], steps(1.0), {1: 1.9 + 0.65 * 2, 2: 1.9 + 0.65 * 2}),
        # In a long request the steps decide.
        (CLOSE, [ranking((2, 8.0))], steps(1.0, share=0.1), {2: 0.19 + 0.65 * 8, 1: 0.2}),
        # Tools outside of the whole ranking are below its negative scores.
        (BELOW, [ranking((3, 0.5))], steps(1.0), {1: 1, 3: -1 + 0.65 * 0.5 * math.sqrt(2), 2: -1}),
        # Of many steps each gains its whole score.
        (ranking((9, 2.0)), MANY, steps(1.0, 1.0, 1.0, 1.0), {9: 3, 1: 2, 2: 2, 3: 2, 4: 2}),
        (EMPTY, [EMPTY], steps(1.0), {}),
        (EMPTY, [ranking((5, 1.0))], steps(1.0), {5: 0.65}),
        (ranking((5, 1.0)), [EMPTY], steps(1.0), {5: 1.0}),
    ],
)
def test_scores_and_order_by_hand(
    whole: Ranking, parts: list[Ranking], asked: Steps, expected: dict[int, float]
) -> None:
    covered = cover_steps(whole, parts, asked).ranking
    assert covered.ordinals.tolist() == list(expected)
    assert covered.scores.tolist() == pytest.approx(list(expected.values()))


CLEAR = ranking(*((tool, 20.0 - tool) for tool in range(12)))


def test_the_best_three_of_steps_that_want_different_tools_are_in_ten() -> None:
    dim = ranking((50, 0.6), (51, 0.5), (52, 0.4), (53, 0.3))
    covered = cover_steps(CLEAR, [CLEAR, dim], steps(1.0, 1.0))
    assert covered.ranking.ordinals.tolist() == [0, 50, 1, 2, 3, 4, 5, 6, 51, 52, 7, 8, 9, 10, 11, 53]
    assert np.all(np.diff(covered.ranking.scores) <= 0)
    assert covered.steps[[1, 8, 9]].tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("dim", "weight"), [(ranking((50, 0.1)), 0.7), (ranking((1, 0.2), (50, 0.1)), 1.0)], ids=["told", "a shared tool"]
)
def test_no_place_is_held_for_what_is_only_told_or_for_steps_that_share_a_tool(dim: Ranking, weight: float) -> None:
    assert 50 not in cover_steps(CLEAR, [CLEAR, dim], steps(1.0, weight)).ranking.ordinals[:10]


@given(
    rankings(-3),
    st.lists(st.tuples(rankings(-3), st.sampled_from([0.7, 1.0])), max_size=4),
    st.sampled_from([0.1, 1.0]),
)
def test_scores_fall_and_every_tool_is_there_once(
    whole: Ranking, parts: list[tuple[Ranking, float]], share: float
) -> None:
    covered = cover_steps(whole, [part for part, _ in parts], steps(*(weight for _, weight in parts), share=share))
    assert np.all(np.diff(covered.ranking.scores) <= 0) and np.all(covered.gains >= 0)
    listed = {int(o) for r in (whole, *(part for part, _ in parts)) for o in r.ordinals}
    assert sorted(covered.ranking.ordinals.tolist()) == sorted(listed)
    if share == 1.0 and len(whole):
        assert covered.ranking.ordinals[0] == whole.ordinals[0]
