"""Cues to a probability and a verdict."""

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router import SnapshotInvalid
from router.fitting import Calibration, fitting

NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=32)
CALIBRATION = Calibration(
    weights={"dense": 2.0, "errand": -1.0},
    intercept=-1.0,
    threshold=0.5,
    max_refused_share=0.05,
    source="phrases",
    evidence={"auc": 0.9},
)


def test_the_probability_is_the_logistic_of_the_weighted_cues() -> None:
    # -1 + 2 · 1.5 - 1 · 1 = 1
    assert CALIBRATION.probability({"dense": 1.5, "errand": 1.0}) == pytest.approx(1 / (1 + math.exp(-1)))


def test_cues_that_are_not_weighed_do_not_matter() -> None:
    cues = {"dense": 1.5, "errand": 1.0}
    assert CALIBRATION.probability({**cues, "name": 9.0}) == CALIBRATION.probability(cues)


def test_there_is_no_probability_without_a_cue_that_is_weighed() -> None:
    assert CALIBRATION.probability({"dense": 1.5}) is None


@pytest.mark.parametrize(("dense", "expected"), [(1e6, 1.0), (-1e6, 0.0)])
def test_far_cues_do_not_overflow(dense: float, expected: float) -> None:
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
    assert fitting([CALIBRATION], {"dense": 0.5, "errand": 0.0}) == (0.5, True)
    probability, fits = fitting([CALIBRATION], {"dense": 0.49, "errand": 0.0}) or (1.0, True)
    assert probability < 0.5
    assert not fits


def test_the_first_calibration_that_the_cues_suffice_for_decides() -> None:
    lexical = replace(CALIBRATION, weights={"name": 1.0}, intercept=0.0, threshold=0.6)
    assert fitting([CALIBRATION, lexical], {"name": 0.0}) == (0.5, False)


def test_nothing_is_said_where_no_calibration_suffices() -> None:
    assert fitting([CALIBRATION], {}) is None
    assert fitting([], {"dense": 1.0, "errand": 0.0}) is None
