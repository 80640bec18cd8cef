"""Features to a probability, and to an estimate of fit."""

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router import Signal, SnapshotInvalid
from router.retrieval.features import BEST_BM25, DENSE_Z_SCORE
from router.retrieval.no_answer_calibration import Calibration, FitEstimate, apply_calibrations, generic_calibrations

NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=32)
CALIBRATION = Calibration(
    weights={"dense": 2.0, "errand": -1.0},
    intercept=-1.0,
    threshold=0.5,
    max_refused_share=0.05,
    source="phrases",
    evidence={"auc": 0.9},
)


def test_the_probability_is_the_logistic_of_the_weighted_features() -> None:
    # -1 + 2 · 1.5 - 1 · 1 = 1
    assert CALIBRATION.probability({"dense": 1.5, "errand": 1.0}) == pytest.approx(1 / (1 + math.exp(-1)))


def test_features_that_are_not_weighed_do_not_matter() -> None:
    features = {"dense": 1.5, "errand": 1.0}
    assert CALIBRATION.probability({**features, "name": 9.0}) == CALIBRATION.probability(features)


def test_there_is_no_probability_without_a_feature_that_is_weighed() -> None:
    assert CALIBRATION.probability({"dense": 1.5}) is None


@pytest.mark.parametrize(("dense", "expected"), [(1e6, 1.0), (-1e6, 0.0)])
def test_far_features_do_not_overflow(dense: float, expected: float) -> None:
    assert CALIBRATION.probability({"dense": dense, "errand": 0.0}) == expected


@given(st.dictionaries(st.sampled_from(["dense", "errand", "name"]), NUMBERS), NUMBERS, NUMBERS)
def test_a_calibration_comes_back_from_json(weights: dict[str, float], intercept: float, auc: float) -> None:
    calibration = replace(CALIBRATION, weights=weights, intercept=intercept, evidence={"auc": auc})
    assert Calibration.from_json(json.loads(json.dumps(calibration.to_json()))) == calibration


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"threshold": "high"}, "high"),
        ({"weights": None}, "weights|NoneType"),
        ({"weights": {"dense": "much"}}, "much"),
        ({"colour": 1}, "unknown field 'colour'"),
    ],
)
def test_a_misstated_calibration_is_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(SnapshotInvalid, match=said):
        Calibration.from_json({**CALIBRATION.to_json(), **change})


def test_a_calibration_without_a_threshold_is_refused() -> None:
    row = CALIBRATION.to_json()
    del row["threshold"]
    with pytest.raises(SnapshotInvalid, match="threshold"):
        Calibration.from_json(row)


def test_a_request_fits_from_the_threshold_up() -> None:
    assert apply_calibrations([CALIBRATION], {"dense": 0.5, "errand": 0.0}) == FitEstimate(
        0.5, none_fits=False, calibrated=True
    )
    refused = apply_calibrations([CALIBRATION], {"dense": 0.49, "errand": 0.0})
    assert refused is not None and refused.fits < 0.5 and refused.none_fits


def test_the_first_calibration_that_the_features_suffice_for_decides() -> None:
    lexical = replace(CALIBRATION, weights={"name": 1.0}, intercept=0.0, threshold=0.6)
    assert apply_calibrations([CALIBRATION, lexical], {"name": 0.0}) == FitEstimate(
        0.5, none_fits=True, calibrated=True
    )


def test_nothing_is_said_where_no_calibration_suffices() -> None:
    assert apply_calibrations([CALIBRATION], {}) is None
    assert apply_calibrations([], {"dense": 1.0, "errand": 0.0}) is None


@given(NUMBERS, NUMBERS, NUMBERS, st.floats(0, 1))
def test_a_clear_leader_is_never_refused(weight: float, feature: float, intercept: float, threshold: float) -> None:
    rule = replace(CALIBRATION, weights={"dense": weight}, intercept=intercept, threshold=threshold)
    estimate = apply_calibrations([rule], {"dense": feature}, lambda: True)
    assert estimate is not None and not estimate.none_fits and estimate.fits >= threshold


def test_whether_a_tool_leads_is_asked_only_where_it_would_be_refused() -> None:
    def unasked() -> bool:
        raise AssertionError

    assert apply_calibrations([CALIBRATION], {"dense": 9.0, "errand": 0.0}, unasked) is not None


@pytest.mark.parametrize(
    ("source", "calibrated"), [("judgements", True), ("phrases", True), ("generic", False), ("elsewhere", False)]
)
def test_an_estimate_is_calibrated_where_its_own_catalog_set_the_scale(source: str, calibrated: bool) -> None:
    estimate = apply_calibrations([replace(CALIBRATION, source=source)], {"dense": 0.0, "errand": 0.0})
    assert estimate is not None and estimate.calibrated is calibrated


def test_tools_in_memory_are_calibrated_by_the_lists_that_they_have() -> None:
    lexical, dense = (Signal.NAME, Signal.DESCRIPTION), (Signal.DESCRIPTION, Signal.DENSE)
    assert [set(c.weights) for c in generic_calibrations(dense, 20)] == [{DENSE_Z_SCORE, BEST_BM25}, {BEST_BM25}]
    assert [set(c.weights) for c in generic_calibrations(lexical, 20)] == [{BEST_BM25}]
    assert all(c.generic for c in generic_calibrations(dense, 20))


@pytest.mark.parametrize(("signals", "tools"), [((Signal.DESCRIPTION,), 19), ((Signal.NAME,), 20), ((), 20)])
def test_few_tools_or_no_list_of_what_they_do_have_no_calibration(signals: tuple[Signal, ...], tools: int) -> None:
    assert generic_calibrations(signals, tools) == ()
