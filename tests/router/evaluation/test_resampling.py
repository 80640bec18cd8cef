"""Intervals and tests, against what can be counted or derived by hand."""

from math import comb, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from router.evaluation.resampling import chance, differences, holm, intervals


def column(*values: float) -> np.ndarray:
    return np.array(values, np.float64)[:, None]


def test_the_interval_of_a_share_is_that_of_its_normal_approximation() -> None:
    share, requests = 0.25, 400
    (found,) = intervals(column(*[1.0] * 100, *[0.0] * 300))
    spread = 1.96 * sqrt(share * (1 - share) / requests)
    assert found == pytest.approx((share - spread, share + spread), abs=0.005)


def test_two_requests_are_drawn_in_four_ways() -> None:
    assert intervals(column(0, 1)) == [(0, 1)]  # means 0, ½, ½, 1: the ends hold a quarter each


def test_too_few_values_have_no_interval_and_none_are_no_error() -> None:
    assert intervals(column(1, np.nan)) == [None]
    assert intervals(np.empty((0, 2))) == [None, None]


def test_requests_without_a_value_leave_the_mean_to_the_others() -> None:
    (alone,) = intervals(column(*[1.0] * 30, *[0.0] * 30))
    (among,) = intervals(column(*[1.0] * 30, *[0.0] * 30, *[np.nan] * 60))
    assert among == pytest.approx(alone, abs=0.02)


@settings(deadline=None, max_examples=25)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=30))
def test_an_interval_lies_within_the_values_and_is_the_same_again(values: list[float]) -> None:
    (found,) = intervals(column(*values))
    assert found is not None and min(values) - 1e-9 <= found[0] <= found[1] <= max(values) + 1e-9
    assert intervals(column(*values)) == [found]


@pytest.mark.parametrize("moved", range(1, 14))
def test_when_all_moved_one_way_two_patterns_of_all_are_as_large(moved: int) -> None:
    assert chance(np.array([0.1] * moved + [0.0] * 50)) == 2 / 2**moved


def test_many_equal_moves_give_the_p_of_a_sign_test() -> None:
    wins, losses = 30, 15
    moved = wins + losses
    sign_test = 2 * sum(comb(moved, k) for k in range(losses + 1)) / 2**moved  # .036
    assert chance(np.array([0.5] * wins + [-0.5] * losses)) == pytest.approx(sign_test, abs=0.006)


def test_nothing_moved_is_chance_alone() -> None:
    assert chance(np.zeros(40)) == 1
    table = np.random.default_rng(0).random((40, 6))
    for found in differences(table, table):
        assert found is not None and (found.difference, found.low, found.p, found.better) == (0, 0, 1, 0)


def test_equal_settings_are_called_different_as_often_as_they_should() -> None:
    random = np.random.default_rng(1)
    apart = random.normal(size=(400, 12))
    wrong = sum(chance(row) < 0.05 for row in apart)
    assert 9 <= wrong <= 32  # 20 are due; 99 % of such counts lie within


def test_a_difference_counts_who_gained_and_leaves_out_who_has_no_value() -> None:
    (found,) = differences(column(1, 0.5, 0, np.nan), column(0, 0.5, 1, np.nan))
    assert found is not None and (found.difference, found.better, found.worse, found.p) == (0, 1, 1, 1)
    assert differences(column(np.nan), column(np.nan)) == [None]


def test_several_comparisons_are_corrected_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1, 1] and holm([]) == []
