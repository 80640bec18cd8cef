"""Fit the weights of a recipe to past requests, and adopt them only where held-out requests agree.

Weights are fitted by coordinate descent over a grid of multiples of the recipe's own, for mean nDCG@10, and measured by
cross-validation: each fold is ranked by weights that were fitted to the others.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quartermaster.evaluation import K, differences
from router.contract import Signal
from router.retrieval.fusion import fuse
from router.retrieval.recipe import Recipe
from router.retrieval.retrievers import Ranking

Floats = NDArray[np.float64]
Rankings = Mapping[Signal, Ranking]

FOLDS = 5

# With 100 requests the interval of a difference is some .02 to either side.
FEWEST_REQUESTS = 100
# The time grows with them: 1,000 take a few seconds.
MOST_REQUESTS = 1_000
_STEPS = (1 / 4, 1 / 2, 2**-0.5, 2**0.5, 2, 4)
_SWEEPS = 2
# A smaller gain changes no weight. See docs/decisions/use.md.
_LEAST_GAIN = 0.002
SIGNIFICANCE = 0.05


@dataclass(frozen=True)
class FusionCandidates:
    """The tools in any list of each request, in the order of ordinals; rows are padded to one length.

    `parts` float64 (signals, requests, tools) are the contributions of each of `signals` at weight 1. `present` bool
    (requests, tools) is false for padding, `relevant` true for tools that the request led to. `ideal` (requests,) is
    the discounted gain of the best possible ranking.
    """

    signals: tuple[Signal, ...]
    parts: Floats
    present: NDArray[np.bool_]
    relevant: NDArray[np.bool_]
    ideal: Floats

    @classmethod
    def of(
        cls,
        rankings: Sequence[Rankings],
        tools: Sequence[Collection[int]],
        recipe: Recipe,
        expanded: NDArray[np.uint8] | None,
    ) -> "FusionCandidates":
        """Fuse each request's lists by the recipe and separate the contributions, which are linear in the weights."""
        signals = tuple(signal for signal in Signal if recipe.weights.get(signal))
        weights = np.array([recipe.weights[signal] for signal in signals])
        rows = []
        for lists in rankings:
            fused, contributions, _ = fuse(lists, recipe, expanded)
            by_signal = np.array([[part.get(signal, 0.0) for signal in signals] for part in contributions])
            order = np.argsort(fused.ordinals)
            rows.append((fused.ordinals[order], by_signal.reshape(-1, len(signals))[order] / weights))
        width = max(max((len(ordinals) for ordinals, _ in rows), default=1), 1)
        parts = np.zeros((len(signals), len(rows), width))
        present = np.zeros((len(rows), width), np.bool_)
        relevant = np.zeros_like(present)
        for row, ((ordinals, by_signal), wanted) in enumerate(zip(rows, tools, strict=True)):
            parts[:, row, : len(ordinals)] = by_signal.T
            present[row, : len(ordinals)] = True
            relevant[row, : len(ordinals)] = np.isin(ordinals, list(wanted))
        discounts = np.cumsum(1 / np.log2(np.arange(2, K + 2)))
        ideal = np.array([discounts[min(len(wanted), K) - 1] for wanted in tools])
        return cls(signals, parts, present, relevant, ideal)

    def take(self, rows: NDArray[np.bool_]) -> "FusionCandidates":
        """Return the requests where a mask is true."""
        return FusionCandidates(
            self.signals, self.parts[:, rows], self.present[rows], self.relevant[rows], self.ideal[rows]
        )

    def without(self, left_out: Signal) -> "FusionCandidates":
        """Return the candidates as if a signal contributed nothing."""
        included = np.array([signal is not left_out for signal in self.signals])
        return replace(self, parts=self.parts * included[:, None, None])

    def ndcg(self, weights: Floats) -> Floats:
        """Return nDCG@10 of each request, shape (requests,), by weights in the order of `signals`.

        Ties are broken by ordinal.
        """
        scores = np.where(self.present, np.tensordot(weights, self.parts, axes=1), -np.inf)
        # Relevant tools are few: counting the tools above each is faster than sorting.
        rows, places = np.nonzero(self.relevant)
        of_row, own = scores[rows], scores[rows, places][:, None]
        before = np.arange(scores.shape[1]) < places[:, None]
        ranks = 1 + ((of_row > own) | ((of_row == own) & before)).sum(axis=1)
        gains = np.where(ranks <= K, 1 / np.log2(ranks + 1), 0.0)
        ndcg: Floats = np.bincount(rows, gains, len(scores)) / self.ideal
        return ndcg


def fit_weights(candidates: FusionCandidates, recipe: Recipe) -> tuple[Recipe, dict[str, Any]]:
    """Return the recipe, with fitted weights if they are better beyond chance on held-out requests, and the evidence.

    The evidence is for the manifest: `kept` says why the recipe's own weights stay, "" where the fitted ones are
    adopted; `ndcg@10` is that of the own weights, `left_out` the gain of the fitted ones on held-out requests.
    """
    requests = len(candidates.ideal)
    evidence: dict[str, Any] = {"requests": requests, "kept": "", "fitted": None, "ndcg@10": None, "left_out": None}
    if requests < FEWEST_REQUESTS:
        return recipe, {**evidence, "kept": f"{requests} past requests are too few: {FEWEST_REQUESTS} are needed"}
    if len(candidates.signals) < 2:
        return recipe, {**evidence, "kept": "the recipe weighs a single signal"}
    own = np.array([recipe.weights[signal] for signal in candidates.signals])
    fold = fold_numbers(requests)
    before = candidates.ndcg(own)
    after = np.empty(requests)
    for part in range(FOLDS):
        weights = _descend(candidates.take(fold != part), own)
        after[fold == part] = candidates.take(fold == part).ndcg(weights)
    (difference,) = differences(after[:, None], before[:, None])
    assert difference is not None and difference.low is not None
    weights = _descend(candidates, own)
    fitted = {str(signal): round(float(weight), 4) for signal, weight in zip(candidates.signals, weights, strict=True)}
    if np.array_equal(weights, own):
        evidence["kept"] = "no other weights are better"
    elif difference.low <= 0 or difference.p >= SIGNIFICANCE:
        evidence["kept"] = f"their gain on held-out requests may be chance (p = {difference.p:.2g})"
    evidence |= {"fitted": fitted, "ndcg@10": round(float(before.mean()), 4), "left_out": difference.to_json()}
    if evidence["kept"]:
        return recipe, evidence
    return replace(recipe, name=f"{recipe.name}-fitted", weights={**recipe.weights, **fitted}), evidence


def fold_numbers(count: int) -> NDArray[np.int64]:
    """Return the fold of each of `count` requests, shape (count,): random, and the same each time."""
    return np.random.default_rng(0).permutation(count) % FOLDS


def _descend(candidates: FusionCandidates, own: Floats) -> Floats:
    """Return weights after setting one after the other to its best multiple.

    The heaviest stays as it is, because only proportions count.
    """
    weights, best = own.copy(), candidates.ndcg(own).mean()
    for _ in range(_SWEEPS):
        before = weights
        for i in np.flatnonzero(np.arange(len(own)) != np.argmax(own)):
            trials = [np.where(np.arange(len(own)) == i, own[i] * step, weights) for step in (1.0, *_STEPS)]
            means = [candidates.ndcg(trial).mean() for trial in trials]
            if max(means) >= best + _LEAST_GAIN:
                weights, best = trials[int(np.argmax(means))], max(means)
        if np.array_equal(weights, before):
            break
    return weights
