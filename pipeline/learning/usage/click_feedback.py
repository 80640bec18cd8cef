"""Learn from past requests, where a catalog has them: the intent signal, and weights for all signals.

The snapshot under construction ranks each past request as a router does. Both results are measured on past requests
that were held out; a signal that makes these worse beyond chance is not built. See docs/decisions/use.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pipeline.learning.usage.feedback import relevances
from pipeline.learning.usage.log import PastRequests
from pipeline.learning.usage.weights import (
    FOLDS,
    MOST_REQUESTS,
    SIGNIFICANCE,
    FusionCandidates,
    Rankings,
    fit_weights,
    fold_numbers,
)
from pipeline.progress import Progress
from quartermaster.evaluation import differences
from router import contract
from router.contract import Signal
from router.retrieval.fusion import fuse
from router.retrieval.recipe import Recipe
from router.retrieval.retrievers import EncodedQuery, IntentRetriever, Ranking
from router.search.search import encoded_queries, rank
from router.snapshot.snapshot import Snapshot
from router.text import terms

Shares = Mapping[int, float]
T = TypeVar("T")


# With fewer past requests the similarity of unrelated ones is not known.
FEWEST_USES = 20
# Deviations above the mean similarity of requests for different tools, which differs between encoders.
_DEVIATIONS = 2.0
_HIGHEST = 0.95
_MOST_COMPARED = 1_000


@dataclass(frozen=True)
class IntentData:
    """Past requests as a snapshot keeps them: see IntentRetriever, whose lessons are the `weights`."""

    vectors: NDArray[np.float32]
    offsets: NDArray[np.int64]
    tools: NDArray[np.int64]
    weights: NDArray[np.float32]
    threshold: float

    def retriever(self, kept: NDArray[np.bool_]) -> IntentRetriever:
        """Return the signal over the past requests where a mask (requests,) is true."""
        counts = np.diff(self.offsets)
        pairs = np.repeat(kept, counts)
        offsets = np.cumsum([0, *counts[kept]], dtype=np.int64)
        return IntentRetriever(self.vectors[kept], offsets, self.tools[pairs], self.weights[pairs], self.threshold)


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


@dataclass(frozen=True)
class _Lessons:
    """Requests, the shares of their tools by ordinal, and their vectors (requests, dim), None without an encoder."""

    texts: Sequence[str]
    tools: Sequence[Shares]
    vectors: NDArray[np.float32] | None


def learn_from_use(snapshot: Snapshot, past: PastRequests, fit: bool, progress: Progress) -> ClickFeedback:
    """Learn from past requests by the snapshot's own recipe; `snapshot` has no intent signal yet.

    `fit` says whether weights are fitted too.
    """
    recipe = snapshot.recipe
    evidence = {"intents": past.to_json(), "weights": {"kept": "tuning.fit_weights is false"}}
    lessons = _lessons(snapshot, past)
    why = _no_intents(lessons, recipe)
    if (why and not fit) or not lessons.texts:
        evidence["intents"]["skipped"] = why
        return ClickFeedback(None, recipe, evidence)
    tools, rankings = lessons.tools, _ranked(snapshot, lessons, progress)
    count = min(len(rankings), MOST_REQUESTS)
    rows = np.linspace(0, len(rankings) - 1, count).astype(int).tolist()
    intents = None
    if not why and lessons.vectors is not None:
        intents = learn_intents(rankings, tools, lessons.vectors, recipe, snapshot.expanded)
        why = "" if intents else "all past requests led to the same tools"
    held_out = held_out_rankings(intents, rankings, rows, recipe.depth) if intents else [rankings[row] for row in rows]
    candidates = FusionCandidates.of(held_out, [tools[row] for row in rows], recipe, snapshot.expanded)
    if intents:
        weights = np.array([recipe.weights[signal] for signal in candidates.signals])
        without = candidates.without(Signal.INTENT)
        (gain,) = differences(candidates.ndcg(weights)[:, None], without.ndcg(weights)[:, None])
        assert gain is not None
        evidence["intents"] |= {
            "taught": int(np.count_nonzero(intents.weights)),
            "threshold": round(intents.threshold, 4),
            "left_out": gain.to_json(),
        }
        if gain.high is not None and gain.high < 0 and gain.p < SIGNIFICANCE:
            intents, why = None, "held-out past requests are ranked worse with it, by more than chance"
            candidates = without
    evidence["intents"]["skipped"] = why
    if fit:
        recipe, evidence["weights"] = fit_weights(candidates, recipe)
    return ClickFeedback(intents, recipe, evidence)


def _lessons(snapshot: Snapshot, past: PastRequests) -> _Lessons:
    """Return the requests that led to a tool of the snapshot, with the shares of the tools by ordinal.

    Those of a feedback log count what became of their tools at near requests too.
    """
    ordinal = cache(snapshot.records.ordinal)

    def by_ordinal(by_id: Mapping[str, T]) -> dict[int, T]:
        return {place: value for tool_id, value in by_id.items() if (place := ordinal(tool_id)) is not None}

    tools = [by_ordinal(one.shares) for one in past.requests]
    logged = [row for row, one in enumerate(past.requests) if one.evidence is not None]
    led = [row for row, shares in enumerate(tools) if shares]
    if past.vectors is not None and logged and led:
        threshold = similarity_threshold([frozenset(tools[row]) for row in led], past.vectors[led])
        if threshold is not None:
            evidence = [by_ordinal(past.requests[row].evidence or {}) for row in logged]
            for row, shares in zip(logged, relevances(evidence, past.vectors[logged], threshold), strict=True):
                tools[row] = shares
    rows = [row for row, shares in enumerate(tools) if shares]
    texts = [past.requests[row].request for row in rows]
    return _Lessons(texts, [tools[row] for row in rows], None if past.vectors is None else past.vectors[rows])


def _ranked(snapshot: Snapshot, lessons: _Lessons, progress: Progress) -> list[Rankings]:
    """Return the rankings of each request, encoded as `router.search` does, from vectors that are known already."""
    recipe = snapshot.recipe
    if lessons.vectors is None:
        queries = [EncodedQuery(text, terms(text)) for text in lessons.texts]
    else:
        queries = encoded_queries(snapshot, lessons.texts, lessons.vectors, recipe)
    progress.start("learn", len(queries))
    rankings: list[Rankings] = []
    for query in queries:
        rankings.append(rank(snapshot, query, recipe, recipe.depth))
        progress.advance()
    return rankings


def _no_intents(lessons: _Lessons, recipe: Recipe) -> str:
    """Return why there is no intent signal; "" where there can be one."""
    if lessons.vectors is None:
        return "there is no encoder" if lessons.texts else "there are no past requests"
    if not recipe.weights.get(Signal.INTENT):
        return f"the recipe {recipe.name!r} gives it no weight"
    if len(lessons.texts) < FEWEST_USES:
        return f"{len(lessons.texts)} past requests are too few: {FEWEST_USES} are needed"
    return ""


def learn_intents(
    rankings: Sequence[Rankings],
    tools: Sequence[Mapping[int, float]],
    vectors: NDArray[np.float32],
    recipe: Recipe,
    expanded: NDArray[np.uint8] | None,
) -> IntentData | None:
    """Return the data of the intent signal; None where no two past requests led to different tools.

    `rankings` are the lists that each past request gets without this signal, `tools` the shares of its tools by
    ordinal, `vectors` (requests, dim) the requests as a router encodes them.
    """
    threshold = similarity_threshold([frozenset(shares) for shares in tools], vectors)
    if threshold is None:
        return None
    weights = [
        tool_weights(fuse(lists, recipe, expanded)[0], shares) for lists, shares in zip(rankings, tools, strict=True)
    ]
    return IntentData(
        vectors=np.ascontiguousarray(vectors, np.float32),
        offsets=np.cumsum([0, *map(len, tools)], dtype=np.int64),
        tools=np.array([ordinal for shares in tools for ordinal in shares], np.int64),
        weights=np.array([weight for of_request in weights for weight in of_request], np.float32),
        threshold=threshold,
    )


def tool_weights(fused: Ranking, shares: Mapping[int, float]) -> list[float]:
    """Return share × (1 - 1/rank) for each tool, by its rank among tools that the request did not lead to."""
    weights = []
    for ordinal, share in shares.items():
        if (rank := fused.rank_of(ordinal)) is not None:
            before = int(np.isin(fused.ordinals[: rank - 1], list(shares)).sum())
            share *= 1 - 1 / (rank - before)
        weights.append(share)
    return weights


def similarity_threshold(tools: Sequence[frozenset[int]], vectors: NDArray[np.float32]) -> float | None:
    """Return the cosine that requests for different tools seldom reach; None where all led to the same tools."""
    count = min(len(tools), _MOST_COMPARED)
    drawn = np.linspace(0, len(tools) - 1, count).astype(np.int64)
    columns = {ordinal: column for column, ordinal in enumerate(sorted(set[int]().union(*tools)))}
    led = np.zeros((len(drawn), len(columns)), np.float32)
    for row, number in enumerate(drawn):
        led[row, [columns[ordinal] for ordinal in tools[number]]] = 1
    cosines = vectors[drawn] @ vectors[drawn].T
    unrelated = cosines[led @ led.T == 0]
    return min(float(unrelated.mean() + _DEVIATIONS * unrelated.std()), _HIGHEST) if len(unrelated) else None


def held_out_rankings(
    intents: IntentData, rankings: Sequence[Rankings], rows: Sequence[int], depth: int
) -> list[Rankings]:
    """Return the rankings of the requests `rows` with this signal, which learned only from the other folds."""
    fold = fold_numbers(len(intents.vectors))
    retrievers = [intents.retriever(fold != part) for part in range(FOLDS)]
    return [
        {**rankings[row], Signal.INTENT: retrievers[fold[row]].rank_vector(intents.vectors[row], depth)} for row in rows
    ]
