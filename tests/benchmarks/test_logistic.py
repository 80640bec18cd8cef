"""Logistic regression, against what it must satisfy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from benchmarks.support.logistic import fit


def test_the_intercept_alone_gives_the_share_that_fits() -> None:
    slopes, intercept = fit(np.zeros((4, 1)), np.array([1.0, 1, 1, 0]), np.full(4, 0.25), 1e-3)
    assert slopes == pytest.approx([0.0])
    assert intercept == pytest.approx(np.log(3))


def test_two_groups_are_told_apart_by_their_odds() -> None:
    # At cue 0 a quarter fits, at cue 1 three quarters: log odds -log 3 and log 3.
    cues = np.array([[0.0]] * 4 + [[1.0]] * 4)
    slopes, intercept = fit(cues, np.array([1.0, 0, 0, 0, 1, 1, 1, 0]), np.full(8, 1 / 8), 1e-9)
    assert intercept == pytest.approx(-np.log(3), abs=1e-4)
    assert slopes == pytest.approx([2 * np.log(3)], abs=1e-4)


@given(arrays(np.float64, (20, 2), elements=st.floats(-10, 10)), st.floats(1e-3, 1))
def test_no_small_step_is_better(cues: NDArray[np.float64], ridge: float) -> None:
    fits = np.tile([0.0, 1.0], 10)
    weights = np.full(20, 1 / 20)
    slopes, intercept = fit(cues, fits, weights, ridge)

    def loss(slopes: NDArray[np.float64], intercept: float) -> float:
        scores = cues @ slopes + intercept
        return float(weights @ (np.logaddexp(0, scores) - fits * scores) + ridge * slopes @ slopes / 2)

    best = loss(slopes, intercept)
    for step in (np.array([0.01, 0]), np.array([-0.01, 0]), np.array([0, 0.01]), np.array([0, -0.01])):
        assert best <= loss(slopes + step, intercept) + 1e-9
    assert best <= min(loss(slopes, intercept + 0.01), loss(slopes, intercept - 0.01)) + 1e-9


def test_sides_that_never_meet_have_a_finite_slope() -> None:
    slopes, intercept = fit(np.array([[-5.0], [5.0]]), np.array([0.0, 1.0]), np.full(2, 0.5), 1e-3)
    assert 0 < slopes[0] < 100 and intercept == pytest.approx(0, abs=1e-6)
