"""One phrase at a time: does it fit its own tool, and which others does it fit as well?"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pipeline.assessment.space import TIE, Fit, Space
from pipeline.settings import AssessmentSettings

_MOST_SIBLINGS = 3
# One phrase that a neighbour could have said is no collision of two tools.
_FEWEST_SHARED = 2


@dataclass(frozen=True, slots=True)
class Judged:
    """By row of the phrases the other tool's ordinal; by tool the ordinals of its siblings."""

    inconsistent: dict[int, int] = field(default_factory=dict)
    collisions: dict[int, int] = field(default_factory=dict)
    siblings: dict[int, tuple[int, ...]] = field(default_factory=dict)


def judge_phrases(space: Space, settings: AssessmentSettings) -> Judged:
    """Score each phrase against each tool: the mean of its cosines with the record and with the tool's phrases.

    With its own tool's it is the mean over the other phrases, for a phrase is no witness of itself; a tool without
    phrases, or without another, has its record alone. 10,000 tools with 8 phrases each take 16 s of one core.
    """
    counts = np.diff(space.offsets)
    sums = space.sums()
    centres = ((space.records + space.means()) / 2).T
    judged = Judged()
    for tools in space.blocks(counts):
        rows = np.concatenate([np.arange(space.offsets[tool], space.offsets[tool + 1]) for tool in tools])
        vectors, owners = space.phrases[rows], space.owners[rows]
        record = np.einsum("ij,ij->i", vectors, space.records[owners])
        rest = counts[owners] - 1
        others = np.einsum("ij,ij->i", vectors, sums[owners] - vectors) / np.maximum(rest, 1)
        own = ((record + np.where(rest > 0, others, record)) / 2).astype(np.float32)
        scores = vectors @ centres
        fit = space.fit(scores, owners, own)
        fits = scores >= (own - TIE)[:, None]
        first = 0
        for tool in tools.tolist():
            its = slice(first, first + int(counts[tool]))
            first = its.stop
            for row in _inconsistent(fit, its, settings):
                judged.inconsistent[int(rows[row])] = int(fit.best[row])
                fits[row] = False
            siblings = _siblings(scores[its], fits[its], settings.sibling_share)
            if len(siblings):
                judged.siblings[tool] = tuple(siblings.tolist())
                for row in (its.start + np.flatnonzero(fits[its][:, siblings].any(axis=1))).tolist():
                    fitting = siblings[fits[row, siblings]]
                    judged.collisions[int(rows[row])] = int(fitting[_best_first(scores[row, fitting], fitting)[0]])
    return judged


def _inconsistent(fit: Fit, its: slice, settings: AssessmentSettings) -> list[int]:
    """The rows of a tool that fit it no better than chance and another far better: at most half of them, the worst."""
    wrong = (fit.own[its] < settings.inconsistent_fit) & (fit.lead[its] > settings.inconsistent_lead)
    worst = sorted((its.start + np.flatnonzero(wrong)).tolist(), key=lambda row: -fit.lead[row])
    return worst[: len(wrong) // 2]


def _siblings(scores: NDArray[np.float32], fits: NDArray[np.bool_], share: float) -> NDArray[np.int64]:
    """Ordinals of the tools that enough of a tool's phrases fit as well or better, the most phrases first.

    `scores` and `fits` are its rows (phrases, tools). Of tools with as many phrases the one goes first that they fit
    best.
    """
    shared = np.count_nonzero(fits, axis=0)
    near = np.flatnonzero(shared >= max(_FEWEST_SHARED, share * len(fits)))
    total = np.where(fits[:, near], scores[:, near], 0).sum(axis=0)
    near = near[_best_first(total, near)]
    return near[np.argsort(-shared[near], kind="stable")][:_MOST_SIBLINGS].astype(np.int64)


def _best_first(scores: NDArray[np.float32], ordinals: NDArray[np.int64]) -> NDArray[np.int64]:
    """Positions by falling score, equal ones by ordinal; the last bits of a score are noise."""
    return np.lexsort((ordinals, -np.round(scores, 5)))
