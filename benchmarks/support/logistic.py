"""Fit a logistic regression on a few cues by Newton's method."""

import numpy as np
from numpy.typing import NDArray

_STEPS = 50
_STILL = 1e-9


def fit(
    cues: NDArray[np.float64], fitting: NDArray[np.float64], weights: NDArray[np.float64], ridge: float
) -> tuple[NDArray[np.float64], float]:
    """Return the weights (cues,) and the intercept that fit best; rows of `cues` (requests, cues) are requests.

    `fitting` (requests,) is 1 where a tool fits, 0 where none does, or between; `weights` (requests,) sum to 1. `ridge`
    is the penalty on half the squared weights. It must be positive: separable classes have no finite solution.
    """
    design = np.column_stack([cues, np.ones(len(cues))])
    penalty = np.full(design.shape[1], ridge)
    penalty[-1] = 1e-12  # the intercept is free
    coefficients = np.zeros(design.shape[1])
    for _ in range(_STEPS):
        expected = 0.5 + 0.5 * np.tanh(design @ coefficients / 2)
        gradient = design.T @ (weights * (expected - fitting)) + penalty * coefficients
        curvature = (design.T * (weights * expected * (1 - expected))) @ design + np.diag(penalty)
        step = np.linalg.solve(curvature, gradient)
        # Far from the solution a full step overshoots.
        step *= min(1.0, 4.0 / max(float(np.abs(step).max()), 1e-12))
        coefficients = coefficients - step
        if np.abs(step).max() < _STILL:
            break
    return coefficients[:-1], float(coefficients[-1])
