"""Telling requests without a tool from the others, worked by hand."""

import numpy as np
import pytest

from router.evaluation.abstention import auc, auc_interval, refused_at_95, reliability


def test_the_area_counts_pairs_and_a_tie_for_half() -> None:
    fits, answerable = np.array([0.9, 0.6, 0.6, 0.1]), np.array([True, True, False, False])
    assert auc(fits, answerable) == 3.5 / 4  # .9 beats both, .6 beats .1 and ties with .6
    assert auc(fits, ~answerable) == 0.5 / 4


def test_only_the_order_of_probabilities_matters_to_the_area() -> None:
    random = np.random.default_rng(0)
    fits, answerable = random.random(80), random.random(80) < 0.7
    assert auc(fits**3, answerable) == auc(fits, answerable)


def test_the_interval_holds_the_area_and_narrows_with_more_requests() -> None:
    random = np.random.default_rng(0)
    answerable = np.arange(400) % 4 > 0
    fits = random.random(400) + 0.3 * answerable
    low, high = auc_interval(fits, answerable)
    few_low, few_high = auc_interval(fits[:60], answerable[:60])
    assert low < auc(fits, answerable) < high
    assert high - low < few_high - few_low


def test_the_threshold_keeps_nineteen_of_twenty() -> None:
    answerable = np.array([True] * 20 + [False] * 4)
    fits = np.array([*np.arange(1, 21) / 20, 0.05, 0.09, 0.10, 0.5])  # the nineteenth best has .10
    assert refused_at_95(fits, answerable) == 2 / 4


def test_a_probability_is_held_against_what_was_so() -> None:
    fits = np.array([0.05, 0.05, 0.82, 0.88, 1.0])
    found = reliability(fits, np.array([False, True, True, True, True]))
    bins = [(b["from"], b["to"], b["requests"], b["answerable"]) for b in found["bins"]]
    assert bins == [(0, 0.1, 2, 0.5), (0.8, 0.9, 2, 1), (0.9, 1, 1, 1)]
    assert found["bins"][1]["said"] == pytest.approx(0.85)
    assert found["error"] == pytest.approx((2 * 0.45 + 2 * 0.15 + 0) / 5)
    assert found["brier"] == pytest.approx((0.05**2 + 0.95**2 + 0.18**2 + 0.12**2) / 5)
    low, high = found["bins"][0]["interval"]  # one of two, by Wilson's formula
    assert (low, high) == pytest.approx((0.0945, 0.9055), abs=1e-3)
