"""The steps' rankings into the whole request's, so that one answer covers every step. Pure functions.

    score(d) = share × whole(d) + .65 × max over steps s of weight(s) × ranking(s, d) × √(best of whole / best of s)

A tool is credited with the one step that it serves best, so a step of few words is not outvoted by the others. The
root brings each step half-way to the whole's scale, or the clearest step would take the answer. Where the steps are
most of the request, the whole's best tool stays first: it is the right one more often than any step's best. Where what
is asked needs different tools, as lists with no tool in common say, ten places hold the best three of each step.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from router.query.steps import Steps
from router.retrieval.retrievers import Ranking

# Points of Full Recall@10 / nDCG@10 gained over requests of several steps, mean of seven sets (UltraTool, MetaTool,
# BFCL, APIGen, demo; two also without expansions), at .5, .65, .8 and 1: 2.0/1.8, 2.5/2.1, 2.6/2.2, 2.8/2.4; over
# requests of one step, nine sets: nothing, nothing, -.1/-.1, -.1/-.1. Greedy coverage (xQuAD, Santos et al., WWW 2010)
# gains 1.2/1.2 instead of this sum; interleaving the steps' lists loses 4 points on UltraTool.
_GAIN = 0.65
# The root is worth .4/.4 points. In a long request it would lift what only looks like a step.
_MOSTLY = 0.5
# Without held places 2.5/2.1; three for each step 3.0/2.3, and the best of each in front 3.0/2.4; whether the lists
# differ or not 2.7/2.2, at .5 to 1.6 points on UltraTool, where the steps of one errand share their tools.
_WINDOW = 10
_HELD = 3
_HELD_AT_MOST = 8


@dataclass(frozen=True, slots=True)
class StepCoverage:
    """A ranking that covers the steps, with the reasons, row by row.

    `gains` float64 (n,): the part of each score that a step gave, beside `share` times the whole's score. `steps`
    int64 (n,): which step gave it, from 0; -1 where none did.
    """

    ranking: Ranking
    gains: NDArray[np.float64]
    steps: NDArray[np.int64]


def cover_steps(whole: Ranking, parts: Sequence[Ranking], steps: Steps) -> StepCoverage:
    """The tools of the whole request and of its steps in one ranking.

    `parts` are the fused rankings of `steps.texts`, by the recipe that made `whole`. Raises ValueError where their
    numbers differ.
    """
    if len(parts) != len(steps):
        raise ValueError(f"{len(parts)} rankings for {len(steps)} steps: give one ranking a step")
    ordinals = np.unique(np.concatenate([whole.ordinals, *(part.ordinals for part in parts)]))
    # A tool outside a list is below all in it; standardised scores can be negative there.
    base = np.full(len(ordinals), min(0.0, float(whole.scores.min(initial=0.0))))
    base[np.searchsorted(ordinals, whole.ordinals)] = whole.scores
    gains, given = np.zeros(len(ordinals)), np.full(len(ordinals), -1)
    mostly = steps.share > _MOSTLY
    for step, (part, weight) in enumerate(zip(parts, steps.weights, strict=True)):
        scale = _GAIN * weight * (_level(whole, part) if mostly else 1.0)
        rows = np.searchsorted(ordinals, part.ordinals)
        better = rows[scale * part.scores > gains[rows]]
        gains[rows] = np.maximum(gains[rows], scale * part.scores)
        given[better] = step
    scores = steps.share * base + gains
    order = np.lexsort((ordinals, -scores))
    front = np.searchsorted(ordinals, whole.ordinals[:1]).tolist() if mostly else []
    held = [np.searchsorted(ordinals, tools).tolist() for tools in _held(parts, steps)]
    order = _first(list(dict.fromkeys([*front, *(best[0] for best in held)])), order)
    order = _with(order, [row for rank in itertools.zip_longest(*held) for row in rank if row is not None])
    # What stands before others scores no less than they do, and what that takes counts as its gain.
    level = np.maximum.accumulate(scores[order][::-1])[::-1]
    gains[order] += level - scores[order]
    return StepCoverage(Ranking(ordinals[order], level), gains[order], given[order])


def _held(parts: Sequence[Ranking], steps: Steps) -> list[list[int]]:
    """The best tools of each step that asks, by ordinal, where those steps have no tool in common; else nothing."""
    asked = [part.ordinals[:_WINDOW].tolist() for part, weight in zip(parts, steps.weights, strict=True) if weight == 1]
    asked = [tools for tools in asked if tools]
    if len(asked) < 2 or len(set().union(*asked)) < sum(map(len, asked)):
        return []
    return [tools[:_HELD] for tools in asked]


def _first(front: list[int], order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows in order, those of `front` before the others."""
    return np.array([*front, *(row for row in order.tolist() if row not in front)], np.int64)


def _with(order: NDArray[np.int64], held: list[int]) -> NDArray[np.int64]:
    """Rows in order, those of `held`, the best first, within the window: in place of its last that are not."""
    held = held[:_HELD_AT_MOST]
    window = order[:_WINDOW].tolist()
    new = [row for row in held if row not in window]
    free = [row for row in window[1:] if row not in held]
    out = set(free[max(len(free) - len(new), 0) :]) if new else set()
    kept = [row for row in window if row not in out]
    rest = [row for row in order.tolist() if row not in kept and row not in new]
    return np.array([*kept, *new, *rest], np.int64)


def _level(whole: Ranking, part: Ranking) -> float:
    """By how much a step's scores are raised towards the whole's, or lowered."""
    if not len(whole) or not len(part) or whole.scores[0] <= 0 or part.scores[0] <= 0:
        return 1.0
    return math.sqrt(float(whole.scores[0])) / math.sqrt(float(part.scores[0]))  # the quotient could be infinite
