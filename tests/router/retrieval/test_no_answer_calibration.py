"""Features to a probability, and to an estimate of fit."""

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router import Signal, SnapshotInvalid
from router.retrieval.no_answer_calibration import (
    BEST_BM25,
    DENSE_Z_SCORE,
    Calibration,
    FitEstimate,
    apply_calibrations,
    generic_calibrations,
)

NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=32)
CALIBRATION = Calibration({"dense": 2.0, "errand": -1.0}, -1.0, 0.5, 0.05, "phrases", {"auc": 0.9})


@pytest.mark.parametrize(
    ("features", "probability"),
    [
        ({"dense": 1.5, "errand": 1.0}, 1 / (1 + math.exp(-1))),  # -1 + 2 · 1.5 - 1 · 1 = 1
        ({"dense": 1.5, "errand": 1.0, "name": 9.0}, 1 / (1 + math.exp(-1))),
        ({"dense": 1.5}, None),
        ({"dense": 1e6, "errand": 0.0}, 1.0),
        ({"dense": -1e6, "errand": 0.0}, 0.0),
    ],
)
def test_the_probability_is_the_logistic_of_the_weighted_features(
    features: dict[str, float], probability: float | None
) -> None:
    assert CALIBRATION.probability(features) == (probability and pytest.approx(probability))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"threshold": "high"}, r"\$.threshold"),
        ({"weights": None}, "weights|NoneType"),
        ({"weights": {"dense": "much"}}, r"\$.weights"),
        ({"colour": 1}, "unknown field 'colour'"),
    ],
)
def test_a_calibration_comes_back_from_json_and_a_misstated_one_is_refused(change: dict[str, Any], said: str) -> None:
    row = json.loads(json.dumps(CALIBRATION.to_json()))
    assert Calibration.from_json(row) == CALIBRATION
    with pytest.raises(SnapshotInvalid, match=said):
        Calibration.from_json({**row, **change})
    with pytest.raises(SnapshotInvalid, match="threshold"):
        Calibration.from_json({name: value for name, value in row.items() if name != "threshold"})


def test_a_request_fits_from_the_threshold_up_by_the_first_calibration_that_its_features_suffice_for() -> None:
    lexical = replace(CALIBRATION, weights={"name": 1.0}, intercept=0.0, threshold=0.6, source="generic")
    rules = [CALIBRATION, lexical]
    both = {"dense": 0.5, "errand": 0.0, "name": 0.0}
    assert apply_calibrations(rules, both) == FitEstimate(0.5, none_fits=False, calibrated=True)
    below = apply_calibrations(rules, {**both, "dense": 0.49})
    assert below is not None and below.fits < 0.5 and below.none_fits
    assert apply_calibrations(rules, {"name": 0.0}) == FitEstimate(0.5, none_fits=True, calibrated=False)
    assert apply_calibrations(rules, {}) is apply_calibrations([], both) is None


@given(NUMBERS, NUMBERS, NUMBERS, st.floats(0, 1))
def test_a_clear_leader_is_never_refused_and_is_asked_for_only_then(
    weight: float, feature: float, intercept: float, threshold: float
) -> None:
    rule = replace(CALIBRATION, weights={"dense": weight}, intercept=intercept, threshold=threshold)
    estimate = apply_calibrations([rule], {"dense": feature}, lambda: True)
    assert estimate is not None and not estimate.none_fits and estimate.fits >= threshold
    assert apply_calibrations([CALIBRATION], {"dense": 9.0, "errand": 0.0}, lambda: pytest.fail("asked")) is not None


@pytest.mark.parametrize(
    ("signals", "tools", "weights"),
    [
        ((Signal.DESCRIPTION, Signal.DENSE), 20, [{DENSE_Z_SCORE, BEST_BM25}, {BEST_BM25}]),
        ((Signal.NAME, Signal.DESCRIPTION), 20, [{BEST_BM25}]),
        ((Signal.DESCRIPTION,), 19, []),
        ((Signal.NAME,), 20, []),
    ],
)
def test_enough_tools_in_memory_are_calibrated_by_the_lists_that_they_have(
    signals: tuple[Signal, ...], tools: int, weights: list[set[str]]
) -> None:
    found = generic_calibrations(signals, tools)
    assert [set(calibration.weights) for calibration in found] == weights
    assert all(calibration.generic for calibration in found)
