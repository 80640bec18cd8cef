"""What the lists of one request tell by themselves, and when a tool leads clearly."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from router import Signal
from router.retrieval.features import (
    BEST_BM25,
    DENSE_Z_SCORE,
    MAX_RUNNER_UP_SHARE,
    MEAN_COSINE,
    MIN_AGREEING_SHARE,
    has_clear_leader,
    no_answer_features,
)
from router.retrieval.retrievers import EMPTY, DenseRetriever, Ranking, ToolVectors

LISTS = (Signal.NAME, Signal.DESCRIPTION, Signal.EXPANSION, Signal.DENSE)


def ranking(*scores: tuple[int, float], center: float = 0.0, spread: float = 1.0) -> Ranking:
    return Ranking.of(np.array([o for o, _ in scores]), np.array([s for _, s in scores], np.float64), center, spread)


def test_matched_counts_the_best_score_in_words_as_rare_as_can_be() -> None:
    # Of 30 tools a word that none has weighs ln(1 + 30.5 / .5) = ln 62; a score of three such words.
    lists = {Signal.DESCRIPTION: ranking((4, 2.0)), Signal.EXPANSION: ranking((7, 3 * math.log(62)))}
    assert no_answer_features(lists, None, None, 30) == {BEST_BM25: pytest.approx(math.log(4))}


def test_lists_that_hold_nothing_match_nothing() -> None:
    assert no_answer_features({Signal.DESCRIPTION: EMPTY}, None, None, 30) == {BEST_BM25: 0.0}
    assert no_answer_features({Signal.NAME: ranking((0, 5.0))}, None, None, 30) == {}


def test_standing_is_by_how_many_spreads_the_nearest_stands_out_for_so_many_tools() -> None:
    lists = {Signal.DENSE: ranking((1, 0.7), (0, 0.5), center=0.3, spread=0.1)}
    assert no_answer_features(lists, None, None, 50) == {DENSE_Z_SCORE: pytest.approx(4 / math.sqrt(2 * math.log(50)))}


def test_texts_is_the_mean_over_all_texts_of_the_nearest_three() -> None:
    # Cosines with (1, 0): tool 0 has 1 and 0, tool 1 has .6, tool 2 has -1, tool 3 has .8: the mean of .5, .6 and .8.
    rows = np.array([[127, 0], [0, 127], [60, 80], [-127, 0], [80, 60]], np.int8)
    scales = np.array([1 / 127, 1 / 127, 0.01, 1 / 127, 0.01], np.float32)
    dense = DenseRetriever(ToolVectors(rows, scales, np.array([0, 2, 3, 4, 5])))
    lists = {Signal.DENSE: ranking((0, 1.0), (3, 0.8), (1, 0.6), (2, -1.0))}
    features = no_answer_features(lists, dense, np.array([1, 0], np.float32), 4)
    assert features[MEAN_COSINE] == pytest.approx((0.5 + 0.6 + 0.8) / 3, abs=1e-6)


def agreeing(count: int) -> dict[Signal, Ranking]:
    """Four lists, of which so many have tool 1 first and the others tool 2."""
    return {s: ranking((1, 2.0), (2, 1.0)) if n < count else ranking((2, 2.0)) for n, s in enumerate(LISTS)}


@pytest.mark.parametrize(("count", "leading"), [(4, True), (3, True), (2, False), (1, False)])
def test_a_leader_is_first_in_three_of_four_lists(count: int, leading: bool) -> None:
    assert has_clear_leader(agreeing(count), ranking((1, 10.0), (2, 1.0))) is leading


@pytest.mark.parametrize(("second", "leading"), [(4.9, True), (5.0, True), (5.1, False)])
def test_a_leader_has_twice_the_score_of_the_next(second: float, leading: bool) -> None:
    assert has_clear_leader(agreeing(4), ranking((1, 10.0), (2, second))) is leading


def test_a_list_that_holds_nothing_has_no_say_and_one_list_alone_agrees_with_nothing() -> None:
    fused = ranking((1, 10.0), (2, 1.0))
    alone = {Signal.NAME: EMPTY, Signal.DENSE: ranking((1, 2.0))}
    assert not has_clear_leader(alone, fused)
    assert has_clear_leader({**alone, Signal.EXPANSION: ranking((1, 3.0))}, fused)
    assert not has_clear_leader({}, EMPTY)


def test_duplicates_of_the_leader_are_no_runners_up() -> None:
    fused = ranking((1, 10.0), (3, 10.0), (2, 1.0))
    assert not has_clear_leader(agreeing(4), fused)
    assert has_clear_leader(agreeing(4), fused, np.array([0, 1, 2, 1]))


def test_a_tool_that_shares_the_top_score_of_a_list_is_first_in_it() -> None:
    tied = {s: ranking((0, 2.0), (1, 2.0)) for s in LISTS}
    assert has_clear_leader(tied, ranking((1, 10.0), (0, 1.0)))


@given(
    st.lists(st.dictionaries(st.integers(1, 30), st.floats(0, 0.999), max_size=20), min_size=2, max_size=4),
    st.dictionaries(st.integers(1, 30), st.floats(0, MAX_RUNNER_UP_SHARE), max_size=20),
    st.floats(0.01, 1e6),
)
def test_who_is_first_everywhere_and_far_ahead_leads_whatever_else_is_found(
    others: list[dict[int, float]], behind: dict[int, float], scale: float
) -> None:
    found = zip(LISTS, others, strict=False)
    lists = {signal: ranking((0, scale), *((o, x * scale) for o, x in rest.items())) for signal, rest in found}
    assert has_clear_leader(lists, ranking((0, scale), *((o, x * scale) for o, x in behind.items())))


@given(st.integers(2, 4), st.integers(0, 4), st.floats(0, 1))
def test_nobody_leads_who_is_not_first_in_most_lists_or_not_far_ahead(count: int, first: int, second: float) -> None:
    first = min(first, count)
    lists = {s: ranking((0 if n < first else 1, 1.0)) for n, s in enumerate(LISTS[:count])}
    clear = first >= 2 and first >= MIN_AGREEING_SHARE * count and second <= MAX_RUNNER_UP_SHARE
    assert has_clear_leader(lists, ranking((0, 1.0), (1, second))) is clear
