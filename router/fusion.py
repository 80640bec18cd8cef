"""Rankings to one ranking: weighted Reciprocal Rank Fusion and convex combination. Pure functions.

RRF: Cormack, Clarke and Büttcher, SIGIR 2009. Convex combination: Bruch, Gai and Ingber, TOIS 2023.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from router.contract import Signal
from router.recipe import Fusion, Recipe
from router.retrievers import EMPTY, Ranking

Contributions = Mapping[Signal, float]


def fuse(rankings: Mapping[Signal, Ranking], recipe: Recipe) -> tuple[Ranking, list[Contributions]]:
    """Fuse by a recipe. Returns the fused ranking and, row for row, what each signal gave to the score.

    A tool that a list does not hold gets nothing from it. Sums run in the order of `Signal` and ties go by ordinal,
    so equal inputs give equal rankings to the last bit.
    """
    parts = [
        (signal, rankings[signal].ordinals, _contributions(rankings[signal], recipe, recipe.weights[signal]))
        for signal in Signal
        if recipe.weights.get(signal) and signal in rankings and len(rankings[signal])
    ]
    if not parts:
        return EMPTY, []
    ordinals, positions = np.unique(np.concatenate([ordinals for _, ordinals, _ in parts]), return_inverse=True)
    table = np.zeros((len(parts), len(ordinals)))
    first = 0
    for row, (_, held, given) in enumerate(parts):
        table[row, positions[first : first + len(held)]] = given
        first += len(held)
    scores = np.add.reduce(table, axis=0)
    order = np.lexsort((ordinals, -scores))
    contributions: list[Contributions] = [
        {parts[row][0]: float(table[row, i]) for row in range(len(parts)) if table[row, i]} for i in order
    ]
    return Ranking(ordinals[order], scores[order]), contributions


def _contributions(ranking: Ranking, recipe: Recipe, weight: float) -> NDArray[np.float64]:
    if recipe.fusion is Fusion.RRF:
        ranks = np.arange(1, len(ranking) + 1, dtype=np.float64)
        return weight / (recipe.k + ranks)
    total = sum(recipe.weights.values())
    return weight / total * minmax(ranking.scores)


def minmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores of one list moved to [0, 1]; all equal scores become 1, for each is the list's best."""
    low, high = scores.min(), scores.max()
    return (scores - low) / (high - low) if high > low else np.ones_like(scores)
