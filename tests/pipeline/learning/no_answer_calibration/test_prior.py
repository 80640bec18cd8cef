"""What other catalogs teach, and a catalog's own scale."""

import numpy as np
import pytest

from pipeline.learning.no_answer_calibration.background import background
from pipeline.learning.no_answer_calibration.prior import PRIORS, CueScale, Prior, choose_priors
from router import Signal
from router.retrieval.no_answer_calibration import BEST_BM25, MEAN_COSINE
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
    assert scale.mean == pytest.approx([8.0])
    kept = scale.standardise(table[scale.kept])
    assert (kept.mean(), kept.std()) == pytest.approx((0, 1))


_WHOLE = {Signal.DENSE, TASK_WORDING, Signal.DESCRIPTION, MEAN_COSINE, BEST_BM25}
_LEXICAL = {Signal.NAME, Signal.DESCRIPTION, Signal.EXPANSION, BEST_BM25}


@pytest.mark.parametrize(
    ("signals", "has_vectors", "cues"),
    [
        (tuple(Signal), True, [_WHOLE, _LEXICAL]),
        ((Signal.NAME, Signal.DESCRIPTION), False, [{Signal.NAME, Signal.DESCRIPTION, BEST_BM25}]),
        ((), False, []),  # everyday requests do not reach it
    ],
    ids=["whole", "lexical without expansions", "unreached"],
)
def test_a_catalog_is_calibrated_by_the_lists_that_it_has_with_dense_and_without(
    signals: tuple[Signal, ...], has_vectors: bool, cues: list[set[str]]
) -> None:
    scores = BackgroundScores(dict.fromkeys(signals, STATISTICS), np.ones(2, np.float32) if has_vectors else None)
    assert [set(prior.cues) for prior in choose_priors(PRIORS, scores)] == cues


def test_the_everyday_requests_that_ship_with_the_project_are_many_and_of_both_sorts() -> None:
    errands = sum(everyday.is_errand for everyday in background())
    assert errands >= 100 and len(background()) - errands >= 200
    assert len({everyday.request.lower() for everyday in background()}) == len(background())


@pytest.mark.parametrize("prior", PRIORS)
def test_a_better_cue_never_speaks_against_a_tool(prior: Prior) -> None:
    assert all(weight > 0 for weight in prior.weights.values())
    assert list(prior.least) == sorted(prior.least)
