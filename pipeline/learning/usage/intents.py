"""Learn the intent signal from past requests: what the other signals miss of each, and how near is near.

See docs/decisions/use.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from router.contract import Signal
from router.retrieval.fusion import fuse
from router.retrieval.recipe import Recipe
from router.retrieval.retrievers import IntentRetriever, Ranking

Rankings = Mapping[Signal, Ranking]

# With fewer past requests the similarity of unrelated ones is not known.
FEWEST_USES = 20
FOLDS = 5
# Deviations above the mean similarity of requests for different tools, which differs between encoders.
# See docs/decisions/use.md.
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


def fold_numbers(count: int) -> NDArray[np.int64]:
    """Return the fold of each of `count` requests, shape (count,): random, and the same each time."""
    return np.random.default_rng(0).permutation(count) % FOLDS


def held_out_rankings(
    intents: IntentData, rankings: Sequence[Rankings], rows: Sequence[int], depth: int
) -> list[Rankings]:
    """Return the rankings of the requests `rows` with this signal, which learned from the other folds alone."""
    fold = fold_numbers(len(intents.vectors))
    retrievers = [intents.retriever(fold != part) for part in range(FOLDS)]
    return [
        {**rankings[row], Signal.INTENT: retrievers[fold[row]].rank_vector(intents.vectors[row], depth)} for row in rows
    ]
