"""What the lists of one request tell: features, a probability, an estimate of fit, and when a tool leads clearly."""

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from router import Signal, SnapshotInvalid
from router.retrieval.no_answer_calibration import (
    BEST_BM25,
    DENSE_Z_SCORE,
    MEAN_COSINE,
    OTHER_LANGUAGE,
    REFUSAL_COST,
    Calibration,
    FitEstimate,
    apply_calibrations,
    generic_calibrations,
    has_clear_leader,
    no_answer_features,
    of_language,
)
from router.retrieval.retrievers import EMPTY, DenseRetriever, Ranking, ToolVectors
from tests.router.retrieval.rankings import ranking

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


def test_a_language_has_its_own_calibrations_then_the_generic_ones_and_english_only_its_own() -> None:
    german = replace(CALIBRATION, language="de")
    generic = replace(CALIBRATION, language=OTHER_LANGUAGE, source="generic")
    known = [CALIBRATION, generic, german]
    assert of_language(known, "en") == [CALIBRATION]
    assert of_language(known, "de")[:2] == [german, generic] and of_language(known, "fr")[0] == generic
    # Without any, by the words in common alone: log odds .51 without one, and nothing is refused.
    estimate = apply_calibrations(of_language([], "fr"), {BEST_BM25: 0.0})
    assert estimate is not None and (estimate.none_fits, estimate.calibrated) == (False, False)
    assert estimate.fits == pytest.approx(1 / (1 + math.exp(-0.51)))
    # A false refusal costs as much as three needless answers: 3 · .25 = 1 - .25.
    assert of_language([], "fr")[0].threshold == 1 / (1 + REFUSAL_COST) == 0.25


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


LISTS = (Signal.NAME, Signal.DESCRIPTION, Signal.EXPANSION, Signal.DENSE)
DESCRIBED = {Signal.DESCRIPTION: ranking((4, 2.0)), Signal.EXPANSION: ranking((7, 3 * math.log(62)))}
NEAR = {Signal.DENSE: ranking((1, 0.7), (0, 0.5), center=0.3, spread=0.1)}


@pytest.mark.parametrize(
    ("lists", "features"),
    [
        (DESCRIBED, {BEST_BM25: math.log(4)}),  # of 30 tools a word of none weighs ln(1 + 30.5 / .5): three of them
        ({Signal.DESCRIPTION: EMPTY}, {BEST_BM25: 0.0}),
        ({Signal.NAME: ranking((0, 5.0))}, {}),
        (NEAR, {DENSE_Z_SCORE: 4 / math.sqrt(2 * math.log(30))}),  # four spreads, over the best of 30 by chance
    ],
)
def test_features_are_the_best_words_and_how_far_the_nearest_stands_out(
    lists: dict[Signal, Ranking], features: dict[str, float]
) -> None:
    assert no_answer_features(lists, None, None, 30) == pytest.approx(features)


def test_texts_is_the_mean_over_all_texts_of_the_nearest_three() -> None:
    # Cosines with (1, 0): tool 0 has 1 and 0, tool 1 has .6, tool 2 has -1, tool 3 has .8: the mean of .5, .6 and .8.
    rows = np.array([[127, 0], [0, 127], [60, 80], [-127, 0], [80, 60]], np.int8)
    scales = np.array([1 / 127, 1 / 127, 0.01, 1 / 127, 0.01], np.float32)
    dense = DenseRetriever(ToolVectors(rows, scales, np.array([0, 2, 3, 4, 5])))
    lists = {Signal.DENSE: ranking((0, 1.0), (3, 0.8), (1, 0.6), (2, -1.0))}
    features = no_answer_features(lists, dense, np.array([1, 0], np.float32), 4)
    assert features[MEAN_COSINE] == pytest.approx((0.5 + 0.6 + 0.8) / 3, abs=1e-6)


def test_empty_lists_have_no_say_and_ties_and_duplicates_do_not_count_against_the_leader() -> None:
    fused, twins = ranking((1, 10.0), (2, 1.0)), ranking((1, 10.0), (3, 10.0), (2, 1.0))
    alone = {Signal.NAME: EMPTY, Signal.DENSE: ranking((1, 2.0))}
    assert not has_clear_leader(alone, fused)  # one list agrees with nothing
    assert has_clear_leader({**alone, Signal.EXPANSION: ranking((1, 3.0))}, fused)
    assert not has_clear_leader({}, EMPTY)
    tied = {signal: ranking((0, 2.0), (1, 2.0)) for signal in LISTS}
    assert has_clear_leader(tied, fused)
    assert not has_clear_leader(tied, twins)
    assert has_clear_leader(tied, twins, np.array([0, 1, 2, 1]))


@given(st.integers(2, 4), st.integers(0, 4), st.floats(0, 1) | st.just(0.5), st.floats(0.01, 1e6))
def test_who_is_first_in_most_lists_and_far_ahead_leads_and_nobody_else(
    count: int, first: int, second: float, scale: float
) -> None:
    first = min(first, count)
    lists = {s: ranking((0 if n < first else 1, scale)) for n, s in enumerate(LISTS[:count])}
    clear = first >= 2 and first >= 0.75 * count and second <= 0.5
    assert has_clear_leader(lists, ranking((0, 1.0), (1, second))) is clear
