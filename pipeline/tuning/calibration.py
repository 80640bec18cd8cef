"""The calibration of "no tool fits": from whatever there is to the probability that some tool does.

How much each cue says was learned on other catalogs, and is the same everywhere (prior.py). What a catalog adds is its
own scale: from its judged requests; else from its phrases, each asked as if its tool did not have it; else from what
those other catalogs bear. The other side is the background of everyday requests.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.tuning import logistic
from pipeline.tuning.background import background
from pipeline.tuning.cohort import Asked, Asker, survey
from pipeline.tuning.phrases import ask_phrases
from pipeline.tuning.prior import PRIORS, Prior, Scale, choose, tabulate
from router.cohort import Cohort
from router.contract import Signal
from router.evaluation import Judgement
from router.evaluation.abstention import auc
from router.fitting import Calibration
from router.snapshot import Snapshot

Scores = NDArray[np.float64]

# Fewer answerable requests, or phrases, place no threshold that one in twenty is to fall below.
MIN_ANSWERABLE = 50
# Fewer requests that are judged to have no tool say little of how the next will look.
MIN_NONE = 20
# Of the stated share, what may be refused of the phrases: a phrase is surer of its catalog than a person is. A stated
# .05 keeps .990, 1.00, .985, .973 and .840 of the judged requests of Azure MCP, UltraTool, ToolPicker, MetaTool and the
# demo; by the whole share .988, .997, .960, .944 and .799.
PHRASE_SHARE = 0.5
# Of the slope, in the regression of one score: enough that classes that never meet give a finite one.
_RIDGE = 1e-3
_FOLDS = 5


@dataclass(frozen=True)
class Calibrated:
    """What a router needs to say that none fits: the cohort, and a calibration for each set of lists, best first."""

    cohort: Cohort
    calibrations: tuple[Calibration, ...]


@dataclass(frozen=True)
class _Ground:
    """Prior scores of what a calibration stands on: requests that a tool fits, or phrases in their place; requests
    judged to have none; the background."""

    source: str
    answerable: Scores
    none: Scores
    everyday: Scores

    @property
    def against(self) -> Scores:
        """What the answerable are measured against: requests judged to have no tool, else the background."""
        return self.none if len(self.none) >= MIN_NONE else self.everyday


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
    phrases = ask_phrases(asker) if len(answerable) < MIN_ANSWERABLE else []
    calibrations = []
    for prior in choose(taught, cohort):
        scale = Scale.of(tabulate(cohort, everyday, prior.cues))
        if not scale.deviation.all():
            continue
        source, found = "elsewhere", list[Asked]()
        if len(answerable) >= MIN_ANSWERABLE:
            source, found = "judgements", answerable
        elif len(phrases) >= MIN_ANSWERABLE and Signal.DENSE in prior.cues:
            source, found = "phrases", phrases
        kept = [asked for asked, is_kept in zip(everyday, scale.kept, strict=True) if is_kept]
        scores = (prior.scores(scale.standardise(tabulate(cohort, asked, prior.cues))) for asked in (found, none, kept))
        calibration = _calibration(prior, scale, _Ground(source, *scores), max_refused_share)
        if calibration is not None:
            calibrations.append(calibration)
    return Calibrated(cohort, tuple(calibrations))


def _calibration(prior: Prior, scale: Scale, ground: _Ground, share: float) -> Calibration | None:
    """None where what should be answerable scores below the background: requests in another language, say. A rule
    fitted to it would refuse what fits best."""
    threshold = _threshold(ground, prior, share)
    slope, offset = _platt(ground) if len(ground.answerable) else (1.0, 0.0)
    if slope <= 0:
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
    if ground.source == "elsewhere":
        return prior.least_at(share)
    share *= PHRASE_SHARE if ground.source == "phrases" else 1
    return float(np.quantile(ground.answerable, share, method="lower"))


def _platt(ground: _Ground) -> tuple[float, float]:
    """Slope and offset from a score to the log odds that a tool fits, both sides weighing the same.

    Platt, Advances in Large Margin Classifiers 1999, with his targets, which are short of 0 and 1. The background and
    the requests judged to have no tool, where they are enough, are half of their side each.
    """
    none = [ground.everyday, ground.none] if len(ground.none) >= MIN_NONE else [ground.everyday]
    sides = [(ground.answerable, 0.5, True), *((scores, 0.5 / len(none), False) for scores in none)]
    weights = np.concatenate([np.full(len(scores), weight / len(scores)) for scores, weight, _ in sides])
    targets = np.concatenate(
        [np.full(len(scores), (len(scores) + 1 if fits else 1) / (len(scores) + 2)) for scores, _, fits in sides]
    )
    scores = np.concatenate([scores for scores, _, _ in sides])
    slope, offset = logistic.fit(scores[:, None], targets, weights, _RIDGE)
    return float(slope[0]), offset


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
    if ground.source == "judgements":
        places = np.arange(len(ground.answerable)) % _FOLDS
        folds = [(ground.answerable[places == f], ground.answerable[places != f]) for f in range(_FOLDS)]
        thresholds = [float(np.quantile(others, share, method="lower")) for _, others in folds]
        kept = sum(int((own >= t).sum()) for (own, _), t in zip(folds, thresholds, strict=True))
        found["kept"] = kept / len(ground.answerable)
        found["refused"] = float(np.mean([(ground.against < t).mean() for t in thresholds]))
    return found
