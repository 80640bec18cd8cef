"""What other catalogs teach, and a catalog's own scale."""

import numpy as np
import pytest

from pipeline.learning.no_answer_calibration.prior import PRIORS, CueScale, Prior, choose_priors
from router import Signal
from router.retrieval.features import BEST_BM25, MEAN_COSINE
from router.retrieval.score_normalization import TASK_WORDING, BackgroundScores

STATISTICS = np.ones((2, 3), np.float32)


def test_a_score_is_the_weighted_sum_of_standardised_cues() -> None:
    prior = Prior({"dense": 2.0, "errand": 0.5}, intercept=-1.0, least=(0.0,) * 5)
    assert prior.scores(np.array([[1.0, 2.0], [0.0, 0.0]])) == pytest.approx([2.0, -1.0])


def test_the_least_score_lies_between_those_of_the_stated_shares() -> None:
    prior = Prior({"dense": 1.0}, intercept=0.0, least=(-5.0, -4.0, -1.0, 0.0, 1.0))
    assert prior.least_at(0.05) == -1.0
    assert prior.least_at(0.035) == pytest.approx(-2.5)


def test_what_fits_a_catalog_best_is_no_background() -> None:
    table = np.array([[float(i)] for i in range(19)] + [[1000.0]])
    scale = CueScale.of(table)
    # 85 % of 20 are kept: 0 to 16.
    assert scale.kept.tolist() == [True] * 17 + [False] * 3
    assert scale.centre == pytest.approx([8.0])
    assert scale.standardise(np.array([[8.0]])) == pytest.approx(np.array([[0.0]]))


def test_everyday_requests_have_a_mean_of_nought_and_a_deviation_of_one() -> None:
    table = np.random.default_rng(0).normal(3, 5, (400, 2))
    scale = CueScale.of(table)
    kept = scale.standardise(table[scale.kept])
    assert kept.mean(axis=0) == pytest.approx([0, 0])
    assert kept.std(axis=0) == pytest.approx([1, 1])


def test_a_whole_catalog_is_calibrated_with_dense_and_without() -> None:
    cohort = BackgroundScores(dict.fromkeys(Signal, STATISTICS), np.ones(2, np.float32))
    assert [set(prior.cues) for prior in choose_priors(PRIORS, cohort)] == [
        {Signal.DENSE, TASK_WORDING, Signal.DESCRIPTION, MEAN_COSINE, BEST_BM25},
        {Signal.NAME, Signal.DESCRIPTION, Signal.EXPANSION, BEST_BM25},
    ]


def test_a_lexical_catalog_without_expansions_is_calibrated_by_two_lists() -> None:
    cohort = BackgroundScores(dict.fromkeys((Signal.NAME, Signal.DESCRIPTION), STATISTICS))
    assert [set(prior.cues) for prior in choose_priors(PRIORS, cohort)] == [
        {Signal.NAME, Signal.DESCRIPTION, BEST_BM25}
    ]


def test_a_catalog_that_everyday_requests_do_not_reach_is_not_calibrated() -> None:
    assert list(choose_priors(PRIORS, BackgroundScores({}))) == []


@pytest.mark.parametrize("prior", PRIORS)
def test_a_better_cue_never_speaks_against_a_tool(prior: Prior) -> None:
    assert all(weight > 0 for weight in prior.weights.values())
    assert list(prior.least) == sorted(prior.least)
