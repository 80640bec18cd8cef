"""Telling requests without a tool from the others, worked by hand."""

import math

import numpy as np
import pytest

from quartermaster.evaluation.abstention import auc, auc_difference, auc_interval, refused_at_95, reliability


def test_the_area_counts_pairs_and_a_tie_for_half_and_the_interval_holds_it() -> None:
    fits, answerable = np.array([0.9, 0.6, 0.6, 0.1]), np.array([True, True, False, False])
    assert auc(fits, answerable) == 3.5 / 4  # .9 beats both, .6 beats .1 and ties with .6
    assert auc(fits, ~answerable) == 0.5 / 4
    answerable = np.arange(400) % 4 > 0
    fits = np.random.default_rng(0).random(400) + 0.3 * answerable
    low, high = auc_interval(fits, answerable)
    few_low, few_high = auc_interval(fits[:60], answerable[:60])
    assert low < auc(fits, answerable) == auc(fits**3, answerable) < high
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
    assert found["bins"][0]["interval"] == pytest.approx([0.0945, 0.9055], abs=1e-3)  # one of two, by Wilson's formula


def test_a_difference_turns_with_the_order_and_its_p_is_delongs() -> None:
    random = np.random.default_rng(0)
    answerable = np.arange(200) % 4 > 0
    good, poor = random.random(200) + 0.5 * answerable, random.random(200)
    same = auc_difference(good, good, answerable)
    assert same == {"difference": 0, "interval": [0, 0], "p": 1}
    gain, loss = auc_difference(good, poor, answerable), auc_difference(poor, good, answerable)
    assert gain["difference"] == pytest.approx(auc(good, answerable) - auc(poor, answerable))
    assert gain["difference"] == -loss["difference"] and gain["p"] == loss["p"] < 0.001
    assert 0 < gain["interval"][0] < gain["difference"] < gain["interval"][1]
    answerable = np.array([True, True, True, False, False])
    first = np.array([0.9, 0.8, 0.3, 0.5, 0.1])  # wins 1 1, 1 1, 0 1
    second = np.array([0.9, 0.2, 0.3, 0.5, 0.4])  # wins 1 1, 0 0, 0 0
    found = auc_difference(first, second, answerable)
    # Gains 0 0, 1 1, 0 1: means by row 0, 1, .5, with variance .25 of 3; by column 1/3, 2/3, with variance 1/18 of 2.
    z = 0.5 / (0.25 / 3 + (1 / 18) / 2) ** 0.5
    assert found["difference"] == 0.5 and found["p"] == pytest.approx(math.erfc(z / 2**0.5))
    assert auc_difference(first[1:4], second[1:4], answerable[1:4])["p"] == 1  # one request of a sort shows nothing
