"""Fit no-answer calibrations to a snapshot: from the cues of a request to the probability that some tool fits.

How much each cue says was fitted on other catalogs, and is the same everywhere (prior.py). A catalog adds its own
scale: from its queries with qrels; else from its phrases, each ranked as if its tool did not have it; else it is a
generic one. The other class are background queries, and phrases ranked as if their tools were not there.

The probability that a tool fits depends on the whole catalog. Where few phrases have changed, the weights and the
threshold of the snapshot that serves are reused together with its adapter, so that answers stay the same: see
docs/decisions/abstention.md. Background scores belong to single tools, and are always measured.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from pipeline.errors import SnapshotInvalid
from pipeline.learning.no_answer_calibration.background import background, score_background
from pipeline.learning.no_answer_calibration.batch_ranking import BatchRanker
from pipeline.learning.no_answer_calibration.examples import Examples, examples_by_language
from pipeline.learning.no_answer_calibration.prior import (
    PRIORS,
    PRIORS_OF_OTHERS,
    CueScale,
    Prior,
    choose_priors,
    cue_table,
)
from pipeline.memo import Memo
from quartermaster.evaluation import Judgement
from quartermaster.evaluation.abstention import auc
from router.contract import EncoderManifest, Manifest
from router.fingerprint import fingerprint
from router.retrieval.no_answer_calibration import BASE_RATE, BEST_BM25, GENERIC, JUDGEMENTS, PHRASES, Calibration
from router.retrieval.score_normalization import BackgroundScores
from router.snapshot.snapshot import Snapshot
from router.text import ENGLISH
from router.tools.field_text import FieldDocuments

Scores = NDArray[np.float64]

# Fewer requests judged to have no tool say little about others.
MIN_NONE = 20
# Share of the stated share that may be refused of the phrases: a phrase fits its catalog better than a request. The
# threshold then lies halfway between the generic one and theirs.
PHRASE_SHARE = 0.2
# Share of the stated share for other languages than English: requests that are not recognised take a part of it.
OTHERS_SHARE = 0.5
# Of the requests that no tool fits, the share that ask for a tool much like the catalog's own.
ABSENT_SHARE = 0.2
# How strongly the prior's slope and offset hold. Phrases are not requests: they may change them only a little.
_RIDGE = {JUDGEMENTS: 1e-3, PHRASES: 0.1}
_FOLDS = 5
_NEWTON_STEPS = 50
_CONVERGED = 1e-9


@dataclass(frozen=True)
class SnapshotCalibration:
    """What a router needs to say that no tool fits.

    `calibrations` has one for each set of lists, best first; `background` normalises the scores of all of them.
    """

    background: BackgroundScores
    calibrations: tuple[Calibration, ...]


@dataclass(frozen=True)
class _CalibrationData:
    """Prior scores that a calibration is fitted to, by class: those of `Examples`.

    `background` are of background queries, or of talk in another language than English.
    """

    source: str
    answerable: Scores
    none: Scores
    background: Scores
    absent: Scores

    @property
    def against(self) -> Scores:
        """The scores that the answerable are compared with: requests judged to have no tool, else the background."""
        if len(self.none) >= MIN_NONE:
            return self.none
        return self.background if len(self.background) else self.absent

    @property
    def refusable(self) -> list[tuple[Scores, float]]:
        """The sorts of requests that no tool fits, each with its share of them."""
        if not len(self.background):  # a language without talk
            return [(self.against, 1.0)]
        if len(self.none) >= MIN_NONE:
            return [(self.background, 0.5), (self.none, 0.5)]
        if len(self.absent):
            return [(self.background, 1 - ABSENT_SHARE), (self.absent, ABSENT_SHARE)]
        return [(self.background, 1.0)]


def calibrate(
    snapshot: Snapshot,
    judgements: Sequence[Judgement] = (),
    max_refused_share: float = 0.05,
    priors: Sequence[Prior] = PRIORS,
    documents: Sequence[FieldDocuments] = (),
    priors_of_others: Sequence[Prior] = PRIORS_OF_OTHERS,
    memo: Memo | None = None,
) -> SnapshotCalibration:
    """Calibrate a snapshot for its own recipe, and for its lexical lists only, by the language of requests.

    `judgements` must not be those that the calibration will be scored on. `max_refused_share`, 0 < share < 1, is the
    share of answerable requests that may be refused. A set of lists gets no calibration where the snapshot lacks it,
    where background queries do not reach it, or where its cues do not tell the two classes apart. `documents` are
    those of all tools: their translations calibrate their languages. `memo` is as in `BatchRanker`.
    """
    ranker = BatchRanker(snapshot, memo)
    requests = [query.request for query in background()]
    vectors = ranker.query_vectors(requests)
    scores, queries = score_background(ranker, background(), vectors), ranker.rank(requests, vectors)
    calibrations = []
    for language, examples in examples_by_language(ranker, judgements, documents).items():
        is_english = language == ENGLISH
        for prior in choose_priors(priors if is_english else priors_of_others, scores):
            raw = None if is_english else np.array([cue == BEST_BM25 for cue in prior.cues])
            scale = CueScale.of(cue_table(scores, queries, prior.cues), raw)
            if not scale.std.all():
                continue
            of = examples
            if is_english and of.source == PHRASES and not prior.needs_vector:
                of = Examples(none=of.none)  # its cues are of lists that have the phrases
            kept = [query for query, is_kept in zip(queries, scale.kept, strict=True) if is_kept]
            by_class = (
                prior.scores(scale.standardise(cue_table(scores, of_class, prior.cues)))
                for of_class in (of.answerable, of.none, kept if is_english else of.talk, of.absent)
            )
            share = max_refused_share * (1 if is_english else OTHERS_SHARE)
            calibration = _calibration(prior, scale, _CalibrationData(of.source, *by_class), share)
            if calibration is not None:
                calibrations.append(replace(calibration, language=language, max_refused_share=max_refused_share))
    return SnapshotCalibration(scores, tuple(calibrations))


def _calibration(prior: Prior, scale: CueScale, data: _CalibrationData, share: float) -> Calibration | None:
    """Return the calibration; None where the answerable class scores below the other: it would refuse what fits."""
    threshold = _threshold(data, prior, share)
    slope, offset = _recalibrated(data) if len(data.answerable) else (1.0, 0.0)
    if slope <= 0 or (len(data.answerable) and data.answerable.mean() <= data.against.mean()):
        return None
    weights = {cue: slope * weight / d for (cue, weight), d in zip(prior.weights.items(), scale.std, strict=True)}
    mean = math.fsum(weight * m for weight, m in zip(weights.values(), scale.mean, strict=True))
    return Calibration(
        weights={cue: float(weight) for cue, weight in weights.items()},
        intercept=float(slope * prior.intercept - mean + offset),
        # A little lower, because a sum in another order differs in its last bits.
        threshold=0.5 + 0.5 * math.tanh((slope * threshold + offset) / 2) - 1e-9,
        max_refused_share=share,
        source=data.source,
        evidence=_evidence(data, threshold, share),
    )


def _threshold(data: _CalibrationData, prior: Prior, share: float) -> float:
    """Return the score that the stated share of the answerable requests falls below."""
    generic = prior.least_at(share)
    if data.source == GENERIC:
        return generic
    if data.source == JUDGEMENTS:
        return float(np.quantile(data.answerable, share, method="lower"))
    own = float(np.quantile(data.answerable, share * PHRASE_SHARE, method="lower"))
    return (generic + own) / 2


def _recalibrated(data: _CalibrationData) -> tuple[float, float]:
    """Return slope and offset from a score to the log odds that a tool fits, at BASE_RATE.

    Targets are Platt's, which lie within 0 and 1.
    """
    sides = [(data.answerable, BASE_RATE, True)]
    sides += [(scores, share * (1 - BASE_RATE), False) for scores, share in data.refusable]
    weights = np.concatenate([np.full(len(scores), weight / len(scores)) for scores, weight, _ in sides])
    targets = np.concatenate(
        [np.full(len(scores), (len(scores) + 1 if fits else 1) / (len(scores) + 2)) for scores, _, fits in sides]
    )
    scores = np.concatenate([scores for scores, _, _ in sides])
    return recalibrate(scores, targets, weights, _RIDGE[data.source])


def recalibrate(
    scores: NDArray[np.float64], fitting: NDArray[np.float64], weights: NDArray[np.float64], ridge: float
) -> tuple[float, float]:
    """Return the slope and the offset that turn scores, which are log odds elsewhere, into log odds here.

    Platt, Advances in Large Margin Classifiers 1999, shrunk towards slope 1 and offset 0: `ridge` is the penalty on
    half the squared distance from them. `fitting` (scores,) is 1 where a tool fits, 0 where none does, or between;
    `weights` (scores,) sum to 1.
    """
    design = np.column_stack([scores, np.ones(len(scores))])
    change = np.zeros(2)
    for _ in range(_NEWTON_STEPS):
        expected = 0.5 + 0.5 * np.tanh((scores + design @ change) / 2)
        gradient = design.T @ (weights * (expected - fitting)) + ridge * change
        curvature = (design.T * (weights * expected * (1 - expected))) @ design + ridge * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        step *= min(1.0, 1.0 / max(float(np.abs(step).max()), 1e-12))  # far from the solution a full step overshoots
        change = change - step
        if np.abs(step).max() < _CONVERGED:
            break
    return 1 + float(change[0]), float(change[1])


def _evidence(data: _CalibrationData, threshold: float, share: float) -> Mapping[str, float]:
    """Return counts, the AUC, and the share refused of the class that the answerable are compared with.

    For queries with qrels, `kept` and `refused` are cross-validated: the threshold comes from the other folds.
    """
    evidence: dict[str, float] = {
        "answerable": len(data.answerable),
        "none": len(data.none),
        "everyday": len(data.background),
    }
    if len(data.against):
        evidence["refused"] = float((data.against < threshold).mean())
    if len(data.answerable):
        scores = np.concatenate([data.answerable, data.against])
        evidence["auc"] = auc(scores, np.arange(len(scores)) < len(data.answerable))
    if data.source == JUDGEMENTS:
        places = np.arange(len(data.answerable)) % _FOLDS
        folds = [(data.answerable[places == f], data.answerable[places != f]) for f in range(_FOLDS)]
        thresholds = [float(np.quantile(others, share, method="lower")) for _, others in folds]
        kept = sum(int((own >= t).sum()) for (own, _), t in zip(folds, thresholds, strict=True))
        evidence["kept"] = kept / len(data.answerable)
        evidence["refused"] = float(np.mean([(data.against < t).mean() for t in thresholds]))
    return evidence


@dataclass(frozen=True)
class ReusedCalibration:
    """Calibrations that were fitted in the snapshot `origin`, whose content hash is `content`."""

    calibrations: tuple[Calibration, ...]
    origin: str
    content: str

    def named_in(self, content_hash: str) -> str:
        """Return the content hash of a snapshot with this calibration, from its hash with a new calibration.

        Both are equal where the calibration was fitted in a snapshot of the same content.
        """
        return content_hash if content_hash == self.content else fingerprint([content_hash, self.content])


def reuse_calibration(
    serving: Path,
    versions: Mapping[str, int],
    encoder: EncoderManifest,
    languages: Sequence[str],
    recipe: Mapping[str, Any],
    max_refused_share: float,
) -> ReusedCalibration | None:
    """Return the calibration of the snapshot that serves; None where the new one must be fitted.

    It must be fitted where there is none, where queries with qrels fitted it, or where the new snapshot would have
    other versions, encoder, languages, recipe or share.
    """
    try:
        manifest = Manifest.read(serving)
        fitting = manifest.tuning.get("fitting", {})
        calibrations = tuple(map(Calibration.from_json, fitting.get("calibrations", ())))
    except SnapshotInvalid:
        return None
    before = manifest.versions, manifest.encoder, manifest.languages, manifest.recipe
    if before != (versions, encoder, tuple(languages), recipe) or not calibrations:
        return None
    if any(c.source == JUDGEMENTS or c.max_refused_share != max_refused_share for c in calibrations):
        return None
    origin = fitting.get("taken_over", {"from": manifest.snapshot, "content_hash": manifest.content_hash})
    return ReusedCalibration(calibrations, origin["from"], origin["content_hash"])


def update_calibration(snapshot: Snapshot, reused: ReusedCalibration, memo: Memo | None = None) -> SnapshotCalibration:
    """Return reused calibrations with the background scores of a snapshot of the same encoder, adapter and recipe.

    `memo` is as in `BatchRanker`.
    """
    ranker = BatchRanker(snapshot, memo)
    vectors = ranker.query_vectors([query.request for query in background()])
    return SnapshotCalibration(score_background(ranker, background(), vectors), reused.calibrations)
