"""Fuses rankings into one: weighted Reciprocal Rank Fusion (RRF) or a convex combination of scores. Pure functions.

RRF: Cormack, Clarke and Büttcher, SIGIR 2009. Convex combination: Bruch, Gai and Ingber, TOIS 2023.

A tool without an expansion is absent from the expansion's list for every request, so its absence says nothing. Its
contribution there is assumed from the other lists that describe what a tool does: the better of description and dense,
at most the best in the expansion's own list.

A tool that is described in another language shares no words with an English request, whatever it does. Its
contributions of name and description are assumed too: the lesser of those of dense and expansion.

A list counts as far as it could read the request: an English encoder says little of one in Chinese.
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import overload

import numpy as np
from numpy.typing import NDArray

from router.contract import Expanded, Signal
from router.retrieval.recipe import Fusion, Normalization, Recipe
from router.retrieval.retrievers import EMPTY, Ranking

Contributions = Mapping[str, float]  # by the signal's name
_TENTH = 9  # index of the tool whose score shows how far the best one leads
# See docs/decisions/fusion.md for these two.
_WELL_READ = 0.85
_LEAST_FACTOR = 0.05


class LazyContributions(Sequence[Contributions]):
    """The contributions of each signal to the tools of a fused ranking, row by row; zeros are left out.

    They are made on access, because only ten of hundreds of candidates are explained.
    """

    def __init__(self, parts: Mapping[str, NDArray[np.float64]], order: NDArray[np.int64]) -> None:
        self._parts = parts
        self._order = order

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, row: int) -> Contributions: ...
    @overload
    def __getitem__(self, row: slice) -> "LazyContributions": ...
    def __getitem__(self, row: int | slice) -> "Contributions | LazyContributions":
        if isinstance(row, slice):
            return LazyContributions(self._parts, self._order[row])
        column = self._order.item(row)
        return {name: value for name, part in self._parts.items() if (value := part.item(column))}


def fuse(
    rankings: Mapping[Signal, Ranking],
    recipe: Recipe,
    expanded: NDArray[np.uint8] | None = None,
    non_english: NDArray[np.bool_] | None = None,
) -> tuple[Ranking, LazyContributions, NDArray[np.float64]]:
    """Fuse rankings by a recipe.

    Return the fused ranking and, row for row, each signal's contribution to the score and the assumed part of the
    score. `expanded`, uint8 of shape (tools,), is `Expanded` by ordinal; None where every tool has an expansion.
    `non_english`, bool (tools,), marks tools whose descriptions are not in the request's language; None where all are.
    A tool absent from a list scores 0 there, except these two kinds. Contributions, the assumed ones included, add
    up to the score. Sums run in the order of `Signal` and ties go by ordinal, so equal inputs give equal
    rankings to the last bit.
    """
    parts = {signal: ranking for signal, ranking in rankings.items() if recipe.weights.get(signal) and len(ranking)}
    if not parts:
        return EMPTY, LazyContributions({}, np.empty(0, np.int64)), np.empty(0)
    ordinals = np.sort(np.concatenate([ranking.ordinals for ranking in parts.values()]))
    ordinals = ordinals[np.concatenate([[True], ordinals[1:] != ordinals[:-1]])]  # a third of np.unique's time
    # An expansion list that is there but empty shows that none of its tools shares a word with the request.
    has_empty_expansion = Signal.EXPANSION in rankings and Signal.EXPANSION not in parts
    assumes = expanded is not None and recipe.weights.get(Signal.EXPANSION) and not has_empty_expansion
    rows = {
        signal: np.zeros(len(ordinals))
        for signal in Signal
        if signal in parts or (assumes and signal is Signal.EXPANSION)
    }
    for signal, ranking in parts.items():
        rows[signal][np.searchsorted(ordinals, ranking.ordinals)] = _contributions(ranking, recipe, signal)
    assumed = np.zeros(len(ordinals))
    if expanded is not None and assumes:
        listed = Signal.EXPANSION in parts
        assumed = _assumed(rows, recipe, expanded[ordinals], listed)
        rows[Signal.EXPANSION] += assumed
    if non_english is not None and recipe.impute_non_english:
        for signal, beyond in _imputed_of_non_english(rows, recipe, non_english[ordinals]).items():
            rows[signal] += beyond
            assumed += beyond
    scores = reduce(np.add, rows.values())
    order = np.argsort(-scores, kind="stable")
    parts_by_name = {str(signal): part for signal, part in rows.items()}
    return Ranking(ordinals[order], scores[order]), LazyContributions(parts_by_name, order), assumed[order]


def _assumed(
    rows: Mapping[Signal, NDArray[np.float64]], recipe: Recipe, expanded: NDArray[np.uint8], listed: bool
) -> NDArray[np.float64]:
    """Return the contributions assumed for tools without an expansion.

    `listed`: the catalog has an expansion list, so its best contribution is the limit, even where that is 0.
    """
    # See docs/decisions/fusion.md.
    own = rows[Signal.EXPANSION]
    assumed = np.zeros(len(own))
    for signal in (Signal.DENSE, Signal.DESCRIPTION):
        if signal in rows:
            weight = recipe.weights[Signal.EXPANSION] / recipe.weights[signal]
            assumed = np.maximum(assumed, weight * rows[signal])
    if listed:
        assumed = np.minimum(assumed, own.max())
    return np.where(expanded == Expanded.YES, 0, np.maximum(assumed - own, 0))


def _imputed_of_non_english(
    rows: Mapping[Signal, NDArray[np.float64]], recipe: Recipe, non_english: NDArray[np.bool_]
) -> dict[Signal, NDArray[np.float64]]:
    """Return the contributions of name and description assumed for tools in another language, beyond their own."""
    # See docs/decisions/fusion.md.
    evidence = [s for s in (Signal.DENSE, Signal.EXPANSION) if s in rows]
    if not evidence or not non_english.any():
        return {}
    earned = reduce(np.minimum, (rows[signal] / recipe.weights[signal] for signal in evidence))
    assumed = {}
    for signal in (Signal.NAME, Signal.DESCRIPTION):
        if signal in rows:
            own = rows[signal]
            limited = np.minimum(recipe.weights[signal] * earned, own.max())
            assumed[signal] = np.where(non_english, np.maximum(limited - own, 0), 0)
    return assumed


def _contributions(ranking: Ranking, recipe: Recipe, signal: Signal) -> NDArray[np.float64]:
    """Return what a signal's ranking adds to the score of each tool in it."""
    weight = recipe.weights[signal]
    if (factor := reading_factor(ranking, recipe)) < 1:
        weight *= factor
    if recipe.fusion is Fusion.RRF:
        return _reciprocal_ranks(ranking, recipe, weight)
    total = sum(recipe.weights.values())
    standard = recipe.normalization is Normalization.STANDARD
    return weight / total * (ranking.standard() if standard else minmax(ranking.scores))


def reading_factor(ranking: Ranking, recipe: Recipe) -> float:
    """Return what the weight of a list is multiplied by, as it could read only a part of the request; at most 1."""
    if not recipe.weigh_by_share_read or ranking.share_read >= _WELL_READ:
        return 1.0
    return max(ranking.share_read / _WELL_READ, _LEAST_FACTOR)


def _reciprocal_ranks(ranking: Ranking, recipe: Recipe, weight: float) -> NDArray[np.float64]:
    """Return weight / (k + rank) for each tool of a list, the weight multiplied by the list's confidence.

    With a shortfall, a rank is a tool's place and how far its z-score falls short of the best. What a tool that
    the list lacks would get is taken off: it gets 0, and all others are moved alike.
    """
    # See docs/decisions/fusion.md.
    ranks = np.arange(1.0, len(ranking) + 1)
    if not recipe.adaptive and not recipe.shortfall:
        return weight / (recipe.k + ranks)
    standard = ranking.standard()
    best = float(standard[0])
    if recipe.adaptive:
        tenth = float(standard[_TENTH]) if len(standard) > _TENTH else 0.0
        weight *= best + recipe.lead * (best - tenth)
    if not recipe.shortfall:
        return weight / (recipe.k + ranks)
    if best > 0:
        ranks += recipe.shortfall * (1.0 - standard / best)
    absent = len(ranking) + 1 + recipe.shortfall
    return weight / (recipe.k + ranks) - weight / (recipe.k + absent)


def minmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the scores of one list scaled to [0, 1]; equal scores all become 1."""
    low, high = scores.min(), scores.max()
    return (scores - low) / (high - low) if high > low else np.ones_like(scores)
