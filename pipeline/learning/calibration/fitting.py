"""No-answer calibration of a snapshot: from whatever a catalog has to the probability that some tool fits.

How much each cue says was learned on other catalogs, and is the same everywhere (prior.py). What a catalog adds is its
own scale: by its judged requests; else by its phrases, each asked as if its tool did not have it; else it is generic.
The other side is the background of everyday requests, and the phrases asked as if their tools were not there.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pipeline.learning.calibration import logistic
from pipeline.learning.calibration.background import background
from pipeline.learning.calibration.cohort import Asked, Asker, survey
from pipeline.learning.calibration.held_out_phrases import ask_phrases
from pipeline.learning.calibration.prior import PRIORS, Prior, Scale, choose, tabulate
from router.contract import Signal
from router.evaluation import Judgement
from router.evaluation.abstention import auc
from router.retrieval.calibration import BASE_RATE, GENERIC, JUDGEMENTS, PHRASES, Calibration
from router.retrieval.score_normalization import BackgroundScores
from router.snapshot.snapshot import Snapshot

Scores = NDArray[np.float64]
_NOTHING: Scores = np.empty(0)

# Fewer answerable requests, or phrases, place no threshold that one in twenty is to fall below.
MIN_ANSWERABLE = 50
# Fewer requests that are judged to have no tool say little of how the next will look.
MIN_NONE = 20
# Of the stated share, what may be refused of the phrases: a phrase is surer of its catalog than a person is. The
# threshold then lies halfway from the generic one to theirs.
PHRASE_SHARE = 0.2
# Of the requests that no tool fits, those that ask for a tool much like the catalog's own.
ABSENT_SHARE = 0.2
# How strongly the prior's slope and offset hold. Phrases are no requests: they move them a little.
_RIDGE = {JUDGEMENTS: 1e-3, PHRASES: 0.1}
_FOLDS = 5


@dataclass(frozen=True)
class Calibrated:
    """What a router needs to say that none fits: the cohort, and a calibration for each set of lists, best first."""

    cohort: BackgroundScores
    calibrations: tuple[Calibration, ...]


@dataclass(frozen=True)
class _Ground:
    """Prior scores of what a calibration stands on: requests that a tool fits, or phrases in their place; requests
    judged to have none; the background; phrases whose tools are left out."""

    source: str
    answerable: Scores
    none: Scores
    everyday: Scores
    absent: Scores = field(default_factory=lambda: _NOTHING)

    @property
    def against(self) -> Scores:
        """What the answerable are measured against: requests judged to have no tool, else the background."""
        return self.none if len(self.none) >= MIN_NONE else self.everyday

    @property
    def refusable(self) -> list[tuple[Scores, float]]:
        """The sorts of requests that no tool fits, each with its share of them."""
        if len(self.none) >= MIN_NONE:
            return [(self.everyday, 0.5), (self.none, 0.5)]
        if len(self.absent):
            return [(self.everyday, 1 - ABSENT_SHARE), (self.absent, ABSENT_SHARE)]
        return [(self.everyday, 1.0)]


def calibrate(
    snapshot: Snapshot,
    judgements: Sequence[Judgement] = (),
    max_refused_share: float = 0.05,
    taught: Sequence[Prior] = PRIORS,
) -> Calibrated:
    """Calibrate a snapshot for its own recipe, and for its lexical lists alone.

    `judgements` must not be those that the calibration will be scored on. `max_refused_share`, 0 < share < 1, is the
    share of the answerable requests that may be told that none fits. A set of lists that the snapshot lacks, or that
    everyday requests do not reach, or whose cues do not tell the two sorts apart, has no calibration.
    """
    asker = Asker(snapshot)
    cohort, everyday = survey(asker, background())
    judged = list(zip(judgements, asker.ask([judgement.request for judgement in judgements]), strict=True))
    answerable = [asked for judgement, asked in judged if judgement.kind != "none"]
    none = [asked for judgement, asked in judged if judgement.kind == "none"]
    phrases, absent = ask_phrases(asker) if len(answerable) < MIN_ANSWERABLE else ([], [])
    calibrations = []
    for prior in choose(taught, cohort):
        scale = Scale.of(tabulate(cohort, everyday, prior.cues))
        if not scale.deviation.all():
            continue
        source, sides = GENERIC, (list[Asked](), list[Asked]())
        if len(answerable) >= MIN_ANSWERABLE:
            source, sides = JUDGEMENTS, (answerable, [])
        elif len(phrases) >= MIN_ANSWERABLE and Signal.DENSE in prior.cues:
            source, sides = PHRASES, (phrases, absent)
        kept = [asked for asked, is_kept in zip(everyday, scale.kept, strict=True) if is_kept]
        found, none_of, background_of, left_out = (
            prior.scores(scale.standardise(tabulate(cohort, asked, prior.cues)))
            for asked in (sides[0], none, kept, sides[1])
        )
        ground = _Ground(source, found, none_of, background_of, left_out)
        calibration = _calibration(prior, scale, ground, max_refused_share)
        if calibration is not None:
            calibrations.append(calibration)
    return Calibrated(cohort, tuple(calibrations))


def _calibration(prior: Prior, scale: Scale, ground: _Ground, share: float) -> Calibration | None:
    """None where what should be answerable scores below the background: requests in another language, say. A rule
    fitted to it would refuse what fits best."""
    threshold = _threshold(ground, prior, share)
    slope, offset = _recalibrated(ground) if len(ground.answerable) else (1.0, 0.0)
    if slope <= 0 or (len(ground.answerable) and ground.answerable.mean() <= ground.against.mean()):
        return None
    weights = {cue: slope * weight / d for (cue, weight), d in zip(prior.weights.items(), scale.deviation, strict=True)}
    centre = math.fsum(weight * c for weight, c in zip(weights.values(), scale.centre, strict=True))
    return Calibration(
        weights={cue: float(weight) for cue, weight in weights.items()},
        intercept=float(slope * prior.intercept - centre + offset),
        # Less the last bits, in which a sum in another order differs.
        threshold=0.5 + 0.5 * math.tanh((slope * threshold + offset) / 2) - 1e-9,
        max_refused_share=share,
        source=ground.source,
        evidence=_evidence(ground, threshold, share),
    )


def _threshold(ground: _Ground, prior: Prior, share: float) -> float:
    """The score that the stated share of the answerable requests falls below."""
    generic = prior.least_at(share)
    if ground.source == GENERIC:
        return generic
    if ground.source == PHRASES:
        own = float(np.quantile(ground.answerable, share * PHRASE_SHARE, method="lower"))
        return (generic + own) / 2
    return float(np.quantile(ground.answerable, share, method="lower"))


def _recalibrated(ground: _Ground) -> tuple[float, float]:
    """Slope and offset from a score to the log odds that a tool fits, at BASE_RATE. Targets are Platt's, which are
    short of 0 and 1."""
    sides = [(ground.answerable, BASE_RATE, True)]
    sides += [(scores, share * (1 - BASE_RATE), False) for scores, share in ground.refusable]
    weights = np.concatenate([np.full(len(scores), weight / len(scores)) for scores, weight, _ in sides])
    targets = np.concatenate(
        [np.full(len(scores), (len(scores) + 1 if fits else 1) / (len(scores) + 2)) for scores, _, fits in sides]
    )
    scores = np.concatenate([scores for scores, _, _ in sides])
    return logistic.recalibrate(scores, targets, weights, _RIDGE[ground.source])


def _evidence(ground: _Ground, threshold: float, share: float) -> Mapping[str, float]:
    """Counts; AUC and the share refused of what the answerable are told apart from; and, of judged requests, the shares
    kept and refused by a threshold that the others set."""
    found: dict[str, float] = {
        "answerable": len(ground.answerable),
        "none": len(ground.none),
        "everyday": len(ground.everyday),
        "refused": float((ground.against < threshold).mean()),
    }
    if len(ground.answerable):
        scores = np.concatenate([ground.answerable, ground.against])
        found["auc"] = auc(scores, np.arange(len(scores)) < len(ground.answerable))
    if ground.source == JUDGEMENTS:
        places = np.arange(len(ground.answerable)) % _FOLDS
        folds = [(ground.answerable[places == f], ground.answerable[places != f]) for f in range(_FOLDS)]
        thresholds = [float(np.quantile(others, share, method="lower")) for _, others in folds]
        kept = sum(int((own >= t).sum()) for (own, _), t in zip(folds, thresholds, strict=True))
        found["kept"] = kept / len(ground.answerable)
        found["refused"] = float(np.mean([(ground.against < t).mean() for t in thresholds]))
    return found
