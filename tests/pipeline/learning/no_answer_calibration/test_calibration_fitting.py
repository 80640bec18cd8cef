"""Calibration of a real snapshot: eight tools, a small encoder of random weights."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline.learning.no_answer_calibration import held_out_phrases
from pipeline.learning.no_answer_calibration.background import background, score_background
from pipeline.learning.no_answer_calibration.batch_ranking import BatchRanker, RankedQuery
from pipeline.learning.no_answer_calibration.fitting import SnapshotCalibration, calibrate, recalibrate
from pipeline.learning.no_answer_calibration.held_out_phrases import rank_held_out_phrases
from quartermaster.evaluation import Judgement
from router import Signal
from router.contract import Expanded
from router.retrieval.no_answer_calibration import BEST_BM25, MEAN_COSINE, OTHER_LANGUAGE
from router.retrieval.score_normalization import TASK_WORDING
from router.snapshot.snapshot import Snapshot
from router.text import ENGLISH, terms

ANSWERABLE = [
    f"{verb} {thing}"
    for verb in ("list", "open", "show me", "send", "log", "undo", "refund", "file")
    for thing in ("the charge", "an issue", "a payment", "every channel", "the forecast", "a ticket", "it")
]
NONE = [
    f"what do you think of {thing}"
    for thing in (
        "cats opera rain Kant jazz chess tea snow Rome poets sleep salt moss owls kites soup Bach rugs gold film"
    ).split()
]


def judged(requests: Sequence[str], kind: str) -> list[Judgement]:
    return [Judgement(request, request, frozenset(), frozenset(), kind) for request in requests]


EVERYDAY = background()[::2]
DENSE = {Signal.DENSE, TASK_WORDING, Signal.DESCRIPTION, MEAN_COSINE, BEST_BM25}
LEXICAL = {Signal.NAME, Signal.DESCRIPTION, Signal.EXPANSION, BEST_BM25}
JUDGED = [*judged(ANSWERABLE, "single"), *judged(NONE, "none")]


@pytest.fixture(scope="module", autouse=True)
def few() -> Iterator[None]:
    """Half the everyday requests: the rest changes nothing here but the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pipeline.learning.no_answer_calibration.fitting.background", lambda: EVERYDAY)
        yield


@pytest.fixture(scope="module")
def opened(snapshot: Path) -> Snapshot:
    return Snapshot.open(snapshot)


@pytest.fixture(scope="module")
def calibrated(opened: Snapshot) -> SnapshotCalibration:
    return calibrate(opened, JUDGED)


def probabilities_of(calibrated: SnapshotCalibration, ranked: Sequence[RankedQuery], row: int = 0) -> list[float]:
    cues = [{**a.evidence, **calibrated.background.features(a.rankings, a.terms, a.vector)} for a in ranked]
    found = [calibrated.calibrations[row].probability(one) for one in cues]
    return [probability for probability in found if probability is not None]


@pytest.mark.parametrize("row", [0, 1])
def test_no_more_of_the_judged_requests_are_refused_than_stated(
    row: int, opened: Snapshot, calibrated: SnapshotCalibration
) -> None:
    said = probabilities_of(calibrated, BatchRanker(opened).rank(ANSWERABLE), row)
    assert len(said) == len(ANSWERABLE)
    assert np.mean(np.array(said) < calibrated.calibrations[row].threshold) <= 0.05


def test_a_larger_share_refuses_more(opened: Snapshot, calibrated: SnapshotCalibration) -> None:
    strict, usual = calibrate(opened, JUDGED, max_refused_share=0.3).calibrations[0], calibrated.calibrations[0]
    assert strict.threshold > usual.threshold and strict.evidence["refused"] >= usual.evidence["refused"]


def test_a_calibration_has_lists_with_dense_then_without_and_tells_what_it_is_from(
    opened: Snapshot, calibrated: SnapshotCalibration
) -> None:
    weights = [(one.language, set(one.weights)) for one in calibrated.calibrations]
    others = [(OTHER_LANGUAGE, {TASK_WORDING, BEST_BM25}), (OTHER_LANGUAGE, {BEST_BM25})]
    assert weights == [(ENGLISH, DENSE), (ENGLISH, LEXICAL), *others]
    assert calibrate(opened, JUDGED).calibrations == calibrated.calibrations
    first = calibrated.calibrations[0]
    counts = {"answerable": len(ANSWERABLE), "none": len(NONE), "everyday": 0.85 * len(EVERYDAY)}
    assert first.source == "judgements" and {name: first.evidence[name] for name in counts} == counts
    assert 0 <= first.evidence["kept"] <= 1
    lexical = calibrate(replace(opened, encoder=None, retrievers=opened.lexical), JUDGED)
    assert [set(c.weights) for c in lexical.calibrations] == [LEXICAL, {BEST_BM25}]
    assert lexical.background.task_direction is None


def test_without_judgements_the_phrases_set_the_scale_if_there_are_enough(
    opened: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = calibrate(opened).calibrations[0]
    assert few.source == "generic" and "auc" not in few.evidence
    monkeypatch.setattr("pipeline.learning.no_answer_calibration.examples.MIN_ANSWERABLE", 10)
    calibrated = calibrate(opened)
    assert [one.source for one in calibrated.calibrations if one.language == ENGLISH] == ["phrases", "generic"]
    # Half of the phrases fit far better than the threshold that they set: it is no quantile of theirs alone.
    said = probabilities_of(
        calibrated, [held_out for held_out, _ in rank_held_out_phrases(BatchRanker(opened))[ENGLISH]]
    )
    assert np.mean(np.array(said) < calibrated.calibrations[0].threshold) <= 0.2


def test_requests_that_fit_worse_than_those_of_no_tool_calibrate_nothing(opened: Snapshot) -> None:
    phrases = [phrase for tool in range(len(opened.records)) for phrase in opened.records.entry(tool).phrases]
    # Here the catalog's own phrases are judged to need none of its tools.
    found = calibrate(opened, [*judged(ANSWERABLE, "single"), *judged(phrases, "none")]).calibrations
    assert {one.language for one in found} == {OTHER_LANGUAGE}


def test_a_phrase_is_ranked_as_if_its_tool_did_not_have_it_and_as_if_its_tool_were_not_there(opened: Snapshot) -> None:
    ranker = BatchRanker(opened)
    found, absent = zip(*rank_held_out_phrases(ranker)[ENGLISH], strict=True)
    first, ranking = found[0], found[0].rankings[Signal.DENSE]
    assert first.vector is not None and Signal.EXPANSION not in first.rankings
    own = ranker.vectors.of_tools(0, 1) @ first.vector  # the document's cosine, then the phrases'
    assert ranking.scores[ranking.ordinals == 0] == pytest.approx([(max(own[2:]) + own[0]) / 2], abs=1e-5)
    cosines = {tool: ranker.vectors.of_tools(tool, tool + 1) @ first.vector for tool in ranking.ordinals[:3].tolist()}
    means = [np.delete(of, 1).mean() if tool == 0 else of.mean() for tool, of in cosines.items()]
    assert first.evidence[MEAN_COSINE] == pytest.approx(np.mean(means), abs=1e-5)
    assert 0 in ranking.ordinals and len(found) == len(absent)
    assert all(0 not in ranking.ordinals for ranking in absent[0].rankings.values())
    assert absent[0].evidence[BEST_BM25] <= first.evidence[BEST_BM25]


def test_phrases_are_drawn_evenly(opened: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_out_phrases, "MAX_PHRASES", 3)
    ranker = BatchRanker(opened)
    held = [phrase for ordinal in range(len(opened.records)) for phrase in opened.records.entry(ordinal).phrases]
    expected = [terms(phrase) for phrase in (held[0], held[(len(held) - 1) // 2], held[-1])]
    assert [asked.terms for asked, _ in rank_held_out_phrases(ranker)[ENGLISH]] == expected


def test_only_phrases_of_expanded_tools_are_asked(opened: Snapshot) -> None:
    marks = np.array([Expanded.NO] * 7 + [Expanded.YES], np.uint8)
    last = BatchRanker(replace(opened, expanded=marks))
    assert len(rank_held_out_phrases(last)[ENGLISH]) == len(opened.records.entry(7).phrases)


def test_the_errand_vector_leads_from_talk_to_errands(opened: Snapshot) -> None:
    talk, errand = background()[0], background()[-1]
    vectors = BatchRanker(opened).query_vectors([talk.request, errand.request])
    assert vectors is not None
    scores = score_background(BatchRanker(opened), (talk, errand), vectors)
    assert scores.task_direction == pytest.approx(vectors[1] - vectors[0])


def test_a_slope_and_an_offset_are_found_and_a_strong_prior_keeps_its_own() -> None:
    scores, weights = np.linspace(-4, 4, 81), np.full(81, 1 / 81)
    # Scores that are log odds already stay as they are.
    assert recalibrate(scores, 1 / (1 + np.exp(-scores)), weights, 1e-3) == pytest.approx((1, 0), abs=1e-6)
    targets = 1 / (1 + np.exp(-(2 * scores - 1)))
    assert recalibrate(scores, targets, weights, 1e-9) == pytest.approx((2, -1), abs=1e-4)
    assert recalibrate(scores, targets, weights, 1e6) == pytest.approx((1, 0), abs=1e-4)
    assert 1 < recalibrate(scores, targets, weights, 0.1)[0] < 2
    apart = np.array([-2.0, -1.0, 1.0, 2.0])  # classes that never meet have a finite slope
    slope, offset = recalibrate(apart, np.array([0.0, 0.0, 1.0, 1.0]), np.full(4, 0.25), 0.1)
    assert 1 < slope < 10 and offset == pytest.approx(0, abs=1e-6)
