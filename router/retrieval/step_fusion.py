"""Fuses the rankings of a request's steps with the whole request's, so that one answer covers all. Pure functions.

    score(d) = share × whole(d) + gain × max over steps s of weight(s) × ranking(s, d) × √(best of whole / best of s)

The gain is .65, and 1 where a request has many steps: the whole request's ranking then says little about each.
A tool is credited with the one step that it serves best, so that longer steps do not outvote shorter ones. The root
scales each step halfway to the whole request's scores; unscaled, the clearest step would fill the answer. It applies
where the steps make up most of the request, and there the whole request's best tool stays first. Where the lists of the
steps have no tool in common, the first ten places hold up to three tools of each step.

Needs that the caller states are fused by the same sum: nothing stays first, and no places are held. Whoever states them
may be wrong, so a need counts by how much it has to do with the request.
"""

import itertools
import math
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from router.query.steps import MANY_STEPS, Steps
from router.retrieval.retrievers import EncodedQuery, Ranking

# See docs/decisions/steps.md for these nine.
SHARE_BESIDE_NEEDS = 0.5
_LEAST_OF_NEED = 0.5
_RELATED = 0.4
_GAIN = 0.65
_GAIN_OF_MANY = 1.0
_MOSTLY = 0.5  # share of the request from which its steps are most of it
_WINDOW = 10
_PLACES_A_STEP = 3
_MAX_HELD = 8


class StepCoverage(msgspec.Struct, frozen=True):
    """A ranking that covers the steps.

    Row by row, `gains` float64 (n,) is the part of the score that a step gave, beside `share` times the whole request's
    score; `steps` int64 (n,) is the index of that step, -1 where there is none.
    """

    ranking: Ranking
    gains: NDArray[np.float64]
    steps: NDArray[np.int64]


def cover_steps(whole: Ranking, parts: Sequence[Ranking], steps: Steps) -> StepCoverage:
    """Return the tools of the whole request and of its steps in one ranking.

    `parts` are the fused rankings of `steps.texts`, by the recipe that made `whole`. Raises ValueError where there is
    not one a step.
    """
    if len(parts) != len(steps):
        raise ValueError(f"{len(parts)} rankings for {len(steps)} steps: give one ranking a step")
    lists = [whole.ordinals, *(part.ordinals for part in parts)]
    ordinals, places = np.unique(np.concatenate(lists), return_inverse=True)
    rows_of_whole, *rows_of_parts = np.split(places, np.cumsum([len(tools) for tools in lists[:-1]]))
    # A tool outside a list is below all in it; standardised scores can be negative there.
    base = np.full(len(ordinals), min(0.0, float(whole.scores.min(initial=0.0))))
    base[rows_of_whole] = whole.scores
    gains, best_step = np.zeros(len(ordinals)), np.full(len(ordinals), -1)
    is_mostly_steps = steps.share > _MOSTLY
    few = steps.stated or sum(weight == 1 for weight in steps.weights) < MANY_STEPS
    gain = _GAIN if few else _GAIN_OF_MANY
    for step, (part, rows, weight) in enumerate(zip(parts, rows_of_parts, steps.weights, strict=True)):
        scale = gain * weight * (_scale(whole, part) if is_mostly_steps else 1.0)
        scaled = scale * part.scores
        better = scaled > gains[rows]
        gains[rows[better]] = scaled[better]
        best_step[rows[better]] = step
    scores = steps.share * base + gains
    order = np.lexsort((ordinals, -scores))
    if steps.stated:
        return StepCoverage(Ranking(ordinals[order], scores[order]), gains[order], best_step[order])
    front = rows_of_whole[:1].tolist() if is_mostly_steps else []
    reserved = [np.searchsorted(ordinals, tools).tolist() for tools in _reserved(parts, steps)]
    order = _moved_to_front(list(dict.fromkeys([*front, *(rows[0] for rows in reserved)])), order)
    order = _moved_into_window(
        order, [row for rank in itertools.zip_longest(*reserved) for row in rank if row is not None]
    )
    # Raise the scores of promoted tools to keep the order, and count the increase as gain.
    monotone = np.maximum.accumulate(scores[order][::-1])[::-1]
    gains[order] += monotone - scores[order]
    return StepCoverage(Ranking(ordinals[order], monotone), gains[order], best_step[order])


def need_weights(request: EncodedQuery, needs: Sequence[EncodedQuery], dense: Ranking | None) -> tuple[float, ...]:
    """Return what each need counts: from _LEAST_OF_NEED to 1, the more the nearer it is to the request.

    A need is near that is _RELATED as near as the best tool of `dense`, the request's dense list. All count 1 where
    that has no tool.
    """
    if request.adapted_vector is None or not dense:
        return (1.0,) * len(needs)
    best = max(float(dense.scores[0]) - dense.center, dense.spread)
    cosines = [float(request.adapted_vector @ need.adapted_vector) for need in needs if need.adapted_vector is not None]
    related = [min(max((cosine - dense.center) / (_RELATED * best), 0.0), 1.0) for cosine in cosines]
    return tuple(_LEAST_OF_NEED + (1 - _LEAST_OF_NEED) * share for share in related)


def _reserved(parts: Sequence[Ranking], steps: Steps) -> list[list[int]]:
    """Return the best tools, by ordinal, of each step of full weight; nothing where two of these share a tool."""
    step_tools = [
        part.ordinals[:_WINDOW].tolist() for part, weight in zip(parts, steps.weights, strict=True) if weight == 1
    ]
    step_tools = [tools for tools in step_tools if tools]
    if len(step_tools) < 2 or len(set().union(*step_tools)) < sum(map(len, step_tools)):
        return []
    return [tools[:_PLACES_A_STEP] for tools in step_tools]


def _moved_to_front(front: list[int], order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows of `order` with those of `front` before the others."""
    return np.concatenate([np.array(front, np.int64), _without(order, front)])


def _moved_into_window(order: NDArray[np.int64], promoted: list[int]) -> NDArray[np.int64]:
    """Return the rows of `order` with those of `promoted`, best first, in the window, in place of its last others."""
    promoted = promoted[:_MAX_HELD]
    window = order[:_WINDOW].tolist()
    new = [row for row in promoted if row not in window]
    replaceable = [row for row in window[1:] if row not in promoted]
    dropped = set(replaceable[max(len(replaceable) - len(new), 0) :]) if new else set()
    staying = [row for row in window if row not in dropped]
    placed = [*staying, *new]
    return np.concatenate([np.array(placed, np.int64), _without(order, placed)])


def _without(order: NDArray[np.int64], rows: list[int]) -> NDArray[np.int64]:
    """Return the rows of `order`, which holds each once, but for some."""
    remains = np.ones(len(order), bool)
    remains[rows] = False
    return order[remains[order]]


def _scale(whole: Ranking, part: Ranking) -> float:
    """Return the factor that scales a step's scores halfway to the whole request's."""
    if not len(whole) or not len(part) or whole.scores[0] <= 0 or part.scores[0] <= 0:
        return 1.0
    return math.sqrt(float(whole.scores[0])) / math.sqrt(float(part.scores[0]))  # the quotient could be infinite
