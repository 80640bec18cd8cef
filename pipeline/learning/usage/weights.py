"""Weights of a recipe fitted to past requests, and adopted only where requests that were left out agree.

Coordinate descent over a grid of multiples of the recipe's own weights, for mean nDCG@10. How good the fitted weights
are is told by cross-validation: each fold is ranked by weights that were fitted to the others.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.learning.usage.intents import FOLDS, Rankings, folds
from router.contract import Signal
from router.evaluation import Difference, K, differences
from router.retrieval.fusion import fuse
from router.retrieval.recipe import Recipe

Floats = NDArray[np.float64]

# With 100 requests the interval of a difference is some .02 to either side.
FEWEST_REQUESTS = 100
# What all folds take grows with them: 1,000 take a few seconds.
MOST_REQUESTS = 1_000
_STEPS = (1 / 4, 1 / 2, 2**-0.5, 2**0.5, 2, 4)
_SWEEPS = 2
# A move earns this at least. Left-out nDCG@10 of 1,000 requests of UltraTool .0123 with it and .0090 without; of
# ToolPicker's 200, where there is next to nothing to gain, -.0007 and -.0057; of MetaTool .0241 and .0272.
_LEAST_GAIN = 0.002
SIGNIFICANCE = 0.05


@dataclass(frozen=True)
class Candidates:
    """The tools that any list holds, request by request, in order of ordinals; rows are padded to one length.

    `parts` float64 (signals, requests, tools): what each signal gives for a weight of 1, in the order of `signals`.
    `held` bool (requests, tools) marks what is no padding, `relevant` what the request led to. `ideal` (requests,) is
    the discounted gain of the best possible answer.
    """

    signals: tuple[Signal, ...]
    parts: Floats
    held: NDArray[np.bool_]
    relevant: NDArray[np.bool_]
    ideal: Floats

    @classmethod
    def of(
        cls,
        asked: Sequence[Rankings],
        tools: Sequence[Collection[int]],
        recipe: Recipe,
        expanded: NDArray[np.uint8] | None,
    ) -> "Candidates":
        """Fuse each request's lists by the recipe and take the contributions apart: they are linear in the weights."""
        signals = tuple(signal for signal in Signal if recipe.weights.get(signal))
        weights = np.array([recipe.weights[signal] for signal in signals])
        rows = []
        for lists in asked:
            fused, contributions, _ = fuse(lists, recipe, expanded)
            given = np.array([[part.get(signal, 0.0) for signal in signals] for part in contributions])
            order = np.argsort(fused.ordinals)
            rows.append((fused.ordinals[order], given.reshape(-1, len(signals))[order] / weights))
        width = max(max((len(ordinals) for ordinals, _ in rows), default=1), 1)
        parts = np.zeros((len(signals), len(rows), width))
        held = np.zeros((len(rows), width), np.bool_)
        relevant = np.zeros_like(held)
        for row, ((ordinals, given), wanted) in enumerate(zip(rows, tools, strict=True)):
            parts[:, row, : len(ordinals)] = given.T
            held[row, : len(ordinals)] = True
            relevant[row, : len(ordinals)] = np.isin(ordinals, list(wanted))
        discounts = np.cumsum(1 / np.log2(np.arange(2, K + 2)))
        ideal = np.array([discounts[min(len(wanted), K) - 1] for wanted in tools])
        return cls(signals, parts, held, relevant, ideal)

    def take(self, rows: NDArray[np.bool_]) -> "Candidates":
        """The requests that a mask keeps."""
        return Candidates(self.signals, self.parts[:, rows], self.held[rows], self.relevant[rows], self.ideal[rows])

    def without(self, left_out: Signal) -> "Candidates":
        """The same as if a signal gave nothing."""
        given = np.array([signal is not left_out for signal in self.signals])
        return replace(self, parts=self.parts * given[:, None, None])

    def ndcg(self, weights: Floats) -> Floats:
        """nDCG@10 of each request by weights in the order of `signals`, shape (requests,); ties go by ordinal."""
        scores = np.where(self.held, np.tensordot(weights, self.parts, axes=1), -np.inf)
        # Relevant tools are few: to count what stands above each takes a fraction of a sort.
        rows, places = np.nonzero(self.relevant)
        of_row, own = scores[rows], scores[rows, places][:, None]
        before = np.arange(scores.shape[1]) < places[:, None]
        ranks = 1 + ((of_row > own) | ((of_row == own) & before)).sum(axis=1)
        gains = np.where(ranks <= K, 1 / np.log2(ranks + 1), 0.0)
        found: Floats = np.bincount(rows, gains, len(scores)) / self.ideal
        return found


@dataclass(frozen=True, slots=True)
class WeightsEvidence:
    """What fitted weights gain, and why they are adopted or not (`kept`: why the recipe's own stay, else "").

    `difference` is of nDCG@10 on requests that were left out, with its 95 % interval and the p of chance; `ndcg` that
    of the recipe's own weights.
    """

    requests: int
    kept: str
    fitted: Mapping[str, float] | None = None
    ndcg: float | None = None
    difference: Difference | None = None

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready dict, for the manifest."""
        return {
            "requests": self.requests,
            "kept": self.kept,
            "fitted": dict(self.fitted) if self.fitted else None,
            "ndcg@10": self.ndcg,
            "left_out": self.difference.to_json() if self.difference else None,
        }


def fit_weights(candidates: Candidates, recipe: Recipe) -> tuple[Recipe, WeightsEvidence]:
    """The recipe, with fitted weights if they are better beyond chance on requests that they were not fitted to."""
    requests = len(candidates.ideal)
    if requests < FEWEST_REQUESTS:
        return recipe, WeightsEvidence(requests, f"{requests} past requests are too few: {FEWEST_REQUESTS} are needed")
    if len(candidates.signals) < 2:
        return recipe, WeightsEvidence(requests, "the recipe weighs a single signal")
    own = np.array([recipe.weights[signal] for signal in candidates.signals])
    fold = folds(requests)
    before = candidates.ndcg(own)
    after = np.empty(requests)
    for part in range(FOLDS):
        weights = _descend(candidates.take(fold != part), own)
        after[fold == part] = candidates.take(fold == part).ndcg(weights)
    (difference,) = differences(after[:, None], before[:, None])
    assert difference is not None and difference.low is not None
    weights = _descend(candidates, own)
    fitted = {str(signal): round(float(weight), 4) for signal, weight in zip(candidates.signals, weights, strict=True)}
    kept = ""
    if np.array_equal(weights, own):
        kept = "no other weights are better"
    elif difference.low <= 0 or difference.p >= SIGNIFICANCE:
        kept = f"their gain on held-out requests may be chance (p = {difference.p:.2g})"
    evidence = WeightsEvidence(requests, kept, fitted, round(float(before.mean()), 4), difference)
    if kept:
        return recipe, evidence
    return replace(recipe, name=f"{recipe.name}-fitted", weights={**recipe.weights, **fitted}), evidence


def _descend(candidates: Candidates, own: Floats) -> Floats:
    """One weight after the other to its best multiple; the heaviest stays, for only proportions count."""
    weights, best = own.copy(), candidates.ndcg(own).mean()
    for _ in range(_SWEEPS):
        before = weights
        for i in np.flatnonzero(np.arange(len(own)) != np.argmax(own)):
            tried = [np.where(np.arange(len(own)) == i, own[i] * step, weights) for step in (1.0, *_STEPS)]
            found = [candidates.ndcg(other).mean() for other in tried]
            if max(found) >= best + _LEAST_GAIN:
                weights, best = tried[int(np.argmax(found))], max(found)
        if np.array_equal(weights, before):
            break
    return weights
