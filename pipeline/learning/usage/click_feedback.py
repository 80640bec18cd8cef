"""Learn from past requests, where a catalog has them: the intent signal, and weights for all signals.

The snapshot under construction ranks each past request as a router does. Both results are measured on past requests
that were held out; a signal that makes these worse beyond chance is not built.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.learning.usage.intents import FEWEST_USES, IntentData, Rankings, held_out_rankings, learn_intents
from pipeline.learning.usage.log import PastRequests
from pipeline.learning.usage.weights import MOST_REQUESTS, SIGNIFICANCE, FusionCandidates, fit_weights
from pipeline.progress import Progress
from router import contract
from router.contract import Signal
from router.evaluation import Difference, differences
from router.retrieval.recipe import Recipe
from router.retrieval.retrievers import EncodedQuery
from router.search.search import encoded_queries, rank
from router.snapshot.snapshot import Snapshot
from router.text import terms

Shares = Mapping[int, float]


@dataclass(frozen=True)
class ClickFeedback:
    """The data of the intent signal, None where it is not built; the recipe; the evidence for both."""

    intents: IntentData | None
    recipe: Recipe
    evidence: Mapping[str, Any]

    def save(self, folder: Path) -> tuple[str, ...]:
        """Write the intent signal into a snapshot's folder and return the names of the files, none without one."""
        if self.intents is None:
            return ()
        arrays: dict[str, NDArray[Any]] = {
            contract.INTENT_VECTORS: self.intents.vectors,
            contract.INTENT_OFFSETS: self.intents.offsets,
            contract.INTENT_TOOLS: self.intents.tools,
            contract.INTENT_WEIGHTS: self.intents.weights,
            contract.INTENT_THRESHOLD: np.array(self.intents.threshold),
        }
        for name, array in arrays.items():
            np.save(folder / name, array, allow_pickle=False)
        return tuple(arrays)


def learn_from_use(snapshot: Snapshot, past: PastRequests, fit: bool, progress: Progress) -> ClickFeedback:
    """Learn from past requests by the snapshot's own recipe; `snapshot` has no intent signal yet.

    `fit` says whether weights are fitted too.
    """
    recipe = snapshot.recipe
    evidence = {"intents": past.usage.to_json(), "weights": {"kept": "tuning.fit_weights is false"}}
    why = _no_intents(past, recipe)
    if why and not fit:
        evidence["intents"]["skipped"] = why
        return ClickFeedback(None, recipe, evidence)
    rankings, tools = _ranked(snapshot, past, progress)
    count = min(len(rankings), MOST_REQUESTS)
    rows = np.linspace(0, len(rankings) - 1, count).astype(int).tolist()
    intents = None
    if not why and past.vectors is not None:
        intents = learn_intents(rankings, tools, past.vectors, recipe, snapshot.expanded)
        why = "" if intents else "all past requests led to the same tools"
    held_out = held_out_rankings(intents, rankings, rows, recipe.depth) if intents else [rankings[row] for row in rows]
    candidates = FusionCandidates.of(held_out, [tools[row] for row in rows], recipe, snapshot.expanded)
    if intents:
        gain = _gain(candidates, recipe)
        evidence["intents"] |= {
            "taught": int(np.count_nonzero(intents.weights)),
            "threshold": round(intents.threshold, 4),
            "left_out": gain.to_json(),
        }
        if gain.high is not None and gain.high < 0 and gain.p < SIGNIFICANCE:
            intents, why = None, "held-out past requests are ranked worse with it, by more than chance"
            candidates = candidates.without(Signal.INTENT)
    evidence["intents"]["skipped"] = why
    if fit:
        recipe, fitted = fit_weights(candidates, recipe)
        evidence["weights"] = fitted.to_json()
    return ClickFeedback(intents, recipe, evidence)


def _ranked(snapshot: Snapshot, past: PastRequests, progress: Progress) -> tuple[list[Rankings], list[Shares]]:
    """Return the rankings of each past request, and the shares of its tools by ordinal."""
    recipe, ordinal = snapshot.recipe, cache(snapshot.records.ordinal)
    progress.start("learn", len(past.usage.requests))
    rankings: list[Rankings] = []
    tools: list[Shares] = []
    for past_request, query in zip(past.usage.requests, _encoded(snapshot, past), strict=True):
        rankings.append(rank(snapshot, query, recipe, recipe.depth))
        shares = ((ordinal(tool_id), share) for tool_id, share in past_request.shares.items())
        tools.append({place: share for place, share in shares if place is not None})
        progress.advance()
    return rankings, tools


def _encoded(snapshot: Snapshot, past: PastRequests) -> list[EncodedQuery]:
    """Return past requests as `router.search` encodes them, from vectors that are known already."""
    texts = [past_request.request for past_request in past.usage.requests]
    if past.vectors is None:
        return [EncodedQuery(text, terms(text)) for text in texts]
    return encoded_queries(snapshot, texts, past.vectors, snapshot.recipe)


def _no_intents(past: PastRequests, recipe: Recipe) -> str:
    """Return why there is no intent signal; "" where there can be one."""
    if past.vectors is None:
        return "there is no encoder" if past.usage.requests else "there are no past requests"
    if not recipe.weights.get(Signal.INTENT):
        return f"the recipe {recipe.name!r} gives it no weight"
    if len(past.usage.requests) < FEWEST_USES:
        return f"{len(past.usage.requests)} past requests are too few: {FEWEST_USES} are needed"
    return ""


def _gain(candidates: FusionCandidates, recipe: Recipe) -> Difference:
    """Return how much better requests are ranked with the intent signal than without."""
    weights = np.array([recipe.weights[signal] for signal in candidates.signals])
    without = candidates.without(Signal.INTENT)
    (gain,) = differences(candidates.ndcg(weights)[:, None], without.ndcg(weights)[:, None])
    assert gain is not None
    return gain
