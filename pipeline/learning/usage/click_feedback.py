"""What a build learns from use, where a catalog has past requests: the intent signal, and weights for all signals.

Each past request is ranked by the snapshot under construction, as a router ranks it. What was learned is measured on
past requests that were left out; a signal that makes them worse beyond chance is not built.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.learning.usage.intents import FEWEST_USES, Lessons, Rankings, left_out, teach
from pipeline.learning.usage.log import PastRequests
from pipeline.learning.usage.weights import MOST_REQUESTS, SIGNIFICANCE, Candidates, fit_weights
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
class Learned:
    """The lessons for the intent signal, None where it is not built; the recipe; what both were measured by."""

    lessons: Lessons | None
    recipe: Recipe
    evidence: Mapping[str, Any]

    def save(self, folder: Path) -> tuple[str, ...]:
        """Write the intent signal into a snapshot's folder and return the names of the files, none without one."""
        if self.lessons is None:
            return ()
        arrays: dict[str, NDArray[Any]] = {
            contract.INTENT_VECTORS: self.lessons.vectors,
            contract.INTENT_OFFSETS: self.lessons.offsets,
            contract.INTENT_TOOLS: self.lessons.tools,
            contract.INTENT_WEIGHTS: self.lessons.lessons,
            contract.INTENT_THRESHOLD: np.array(self.lessons.threshold),
        }
        for name, array in arrays.items():
            np.save(folder / name, array, allow_pickle=False)
        return tuple(arrays)


def learn_from_use(snapshot: Snapshot, past: PastRequests, fit: bool, progress: Progress) -> Learned:
    """Learn from past requests by the snapshot's own recipe; `snapshot` has no intent signal yet.

    `fit` says whether weights are fitted too.
    """
    recipe = snapshot.recipe
    evidence = {"intents": past.usage.to_json(), "weights": {"kept": "tuning.fit_weights is false"}}
    why = _no_intents(past, recipe)
    if why and not fit:
        evidence["intents"]["skipped"] = why
        return Learned(None, recipe, evidence)
    asked, tools = _asked(snapshot, past, progress)
    count = min(len(asked), MOST_REQUESTS)
    rows = np.linspace(0, len(asked) - 1, count).astype(int).tolist()
    taught = None
    if not why and past.vectors is not None:
        taught = teach(asked, tools, past.vectors, recipe, snapshot.expanded)
        why = "" if taught else "all past requests led to the same tools"
    lists = left_out(taught, asked, rows, recipe.depth) if taught else [asked[row] for row in rows]
    candidates = Candidates.of(lists, [tools[row] for row in rows], recipe, snapshot.expanded)
    if taught:
        gain = _gain(candidates, recipe)
        evidence["intents"] |= {
            "taught": int(np.count_nonzero(taught.lessons)),
            "threshold": round(taught.threshold, 4),
            "left_out": gain.to_json(),
        }
        if gain.high is not None and gain.high < 0 and gain.p < SIGNIFICANCE:
            taught, why = None, "held-out past requests are ranked worse with it, by more than chance"
            candidates = candidates.without(Signal.INTENT)
    evidence["intents"]["skipped"] = why
    if fit:
        recipe, fitted = fit_weights(candidates, recipe)
        evidence["weights"] = fitted.to_json()
    return Learned(taught, recipe, evidence)


def _asked(snapshot: Snapshot, past: PastRequests, progress: Progress) -> tuple[list[Rankings], list[Shares]]:
    """The lists that each past request gets, and the shares of its tools by ordinal."""
    recipe, ordinal = snapshot.recipe, cache(snapshot.records.ordinal)
    progress.start("learn", len(past.usage.uses))
    asked: list[Rankings] = []
    tools: list[Shares] = []
    for use, request in zip(past.usage.uses, _encoded(snapshot, past), strict=True):
        asked.append(rank(snapshot, request, recipe, recipe.depth))
        places = ((ordinal(tool_id), share) for tool_id, share in use.shares.items())
        tools.append({place: share for place, share in places if place is not None})
        progress.advance()
    return asked, tools


def _encoded(snapshot: Snapshot, past: PastRequests) -> list[EncodedQuery]:
    """Past requests as `router.search` encodes them, without encoding again, which takes two thirds of a route."""
    texts = [use.request for use in past.usage.uses]
    if past.vectors is None:
        return [EncodedQuery(text, terms(text)) for text in texts]
    return encoded_queries(snapshot, texts, past.vectors, snapshot.recipe)


def _no_intents(past: PastRequests, recipe: Recipe) -> str:
    """Why there is no intent signal; "" where there can be one."""
    if past.vectors is None:
        return "there is no encoder" if past.usage.uses else "there are no past requests"
    if not recipe.weights.get(Signal.INTENT):
        return f"the recipe {recipe.name!r} gives it no weight"
    if len(past.usage.uses) < FEWEST_USES:
        return f"{len(past.usage.uses)} past requests are too few: {FEWEST_USES} are needed"
    return ""


def _gain(candidates: Candidates, recipe: Recipe) -> Difference:
    """How much better requests are ranked with the signal than without."""
    weights = np.array([recipe.weights[signal] for signal in candidates.signals])
    before = candidates.without(Signal.INTENT)
    (found,) = differences(candidates.ndcg(weights)[:, None], before.ndcg(weights)[:, None])
    assert found is not None
    return found
