"""Intervals and tests, against what can be counted or derived by hand."""

from math import comb, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quartermaster.evaluation.resampling import chance, differences, holm, intervals


def column(*values: float) -> np.ndarray:
    return np.array(values, np.float64)[:, None]


def test_the_interval_of_a_share_is_that_of_its_normal_approximation() -> None:
    spread = 1.96 * sqrt(0.25 * 0.75 / 400)
    (found,) = intervals(column(*[1.0] * 100, *[0.0] * 300))
    assert found == pytest.approx((0.25 - spread, 0.25 + spread), abs=0.005)
    assert intervals(column(0, 1)) == [[0, 1]]  # drawn in four ways, means 0, ½, ½, 1: the ends hold a quarter each
    assert intervals(column(1, np.nan)) == [None] and intervals(np.empty((0, 2))) == [None, None]
    half = [1.0] * 30 + [0.0] * 30
    (alone,), (among,) = intervals(column(*half)), intervals(column(*half, *[np.nan] * 60))
    assert among == pytest.approx(alone, abs=0.02)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=30))
def test_an_interval_lies_within_the_values_and_is_the_same_again(values: list[float]) -> None:
    (found,) = intervals(column(*values))
    assert found is not None and min(values) - 1e-9 <= found[0] <= found[1] <= max(values) + 1e-9
    assert intervals(column(*values)) == [found]


@pytest.mark.parametrize("moved", [1, 5, 13])
def test_when_all_moved_one_way_two_patterns_of_all_are_as_large(moved: int) -> None:
    assert chance(np.array([0.1] * moved + [0.0] * 50)) == 2 / 2**moved


def test_many_equal_moves_give_the_p_of_a_sign_test_and_none_is_chance_alone() -> None:
    wins, losses = 30, 15
    sign_test = 2 * sum(comb(45, k) for k in range(losses + 1)) / 2**45  # .036
    assert chance(np.array([0.5] * wins + [-0.5] * losses)) == pytest.approx(sign_test, abs=0.006)
    assert chance(np.zeros(40)) == 1


def test_equal_settings_are_called_different_as_often_as_they_should() -> None:
    wrong = sum(chance(row) < 0.05 for row in np.random.default_rng(1).normal(size=(400, 12)))
    assert 9 <= wrong <= 32  # 20 are due; 99 % of such counts lie within


def test_a_difference_counts_who_gained_and_leaves_out_who_has_no_value() -> None:
    (found,) = differences(column(1, 0.5, 0, np.nan), column(0, 0.5, 1, np.nan))
    assert found is not None and (found.difference, found.better, found.worse, found.p) == (0, 1, 1, 1)
    assert differences(column(np.nan), column(np.nan)) == [None]


def test_several_comparisons_are_corrected_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.01, 0.03, 0.04]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1, 1] and holm([]) == []
