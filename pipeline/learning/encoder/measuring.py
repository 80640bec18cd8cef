"""Measure an encoder on requests that it has not been trained on: does it find their tools, and only theirs?"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.learning.encoder.model import Encode
from pipeline.learning.encoder.pairs import TrainingPairs
from router.retrieval.retrievers import DenseView, blend

Floats = NDArray[np.float64]

_MOST_REQUESTS = 500
_MOST_TOOLS = 1_000


def of_stop(pairs: TrainingPairs) -> NDArray[np.int64]:
    """Return every second held-out pair: these tell when to stop."""
    return np.flatnonzero(pairs.held_out)[::2]


def of_judgement(pairs: TrainingPairs) -> NDArray[np.int64]:
    """Return the other held-out pairs: these tell whether it helps."""
    return np.flatnonzero(pairs.held_out)[1::2]


def evenly(rows: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Return at most so many of some rows, spread evenly."""
    return rows[np.linspace(0, len(rows) - 1, min(len(rows), most)).astype(np.int64)] if len(rows) else rows


@dataclass(frozen=True)
class StopMeasure:
    """Finds the tools of some requests among their own and others, by the tools' texts alone: it is asked often."""

    pairs: TrainingPairs
    rows: NDArray[np.int64]
    tools: NDArray[np.int64]

    @classmethod
    def of(cls, pairs: TrainingPairs, seed: int) -> "StopMeasure":
        """Return the measure of the pairs that tell when to stop."""
        rows = evenly(of_stop(pairs), _MOST_REQUESTS)
        others = np.random.default_rng(seed).permutation(len(pairs.tools))[:_MOST_TOOLS]
        return cls(pairs, rows, np.union1d(pairs.owners[rows], others))

    def mean_reciprocal_rank(self, encode: Encode, prefix: str) -> float:
        """Return the mean of 1 / rank of the requests' tools; 0 without requests."""
        if not len(self.rows):
            return 0.0
        requests = encode([prefix + self.pairs.requests[row] for row in self.rows.tolist()])
        tools = encode([self.pairs.tools[tool] for tool in self.tools.tolist()])
        ranks = reciprocal_ranks(tools @ requests.T, self.pairs, self.rows, self.tools)
        return round(float(ranks.mean()), 6)


def reciprocal_ranks(
    scores: NDArray[np.float32], pairs: TrainingPairs, rows: NDArray[np.int64], tools: NDArray[np.int64]
) -> Floats:
    """Return 1 / rank of the tool of each pair `rows` among `tools` (ascending ordinals) of its own catalog.

    `scores` has the shape (tools, rows). The other tools that a request needs stand in nobody's way.
    """
    ranks = np.empty(len(rows))
    for column, row in enumerate(rows.tolist()):
        owner = int(pairs.owners[row])
        rivals = pairs.group[tools] == pairs.group[owner]
        rivals[np.searchsorted(tools, [tool for tool in pairs.needed[pairs.requests[row]] if tool in tools])] = False
        own = scores[np.searchsorted(tools, owner), column]
        ranks[column] = 1 / (1 + int((scores[rivals, column] > own).sum()))
    return ranks


@dataclass(frozen=True)
class Space:
    """One encoder's vectors of a catalog, as its dense list reads them.

    `tools` (tools, dim) are of the tools' texts; `phrases` (phrases, dim) those of the pairs `kept`, which are indexed;
    `requests` those of the pairs that judge, `background` of the background queries, both with the query
    `prefix`. `everyday` are the background queries as texts.
    """

    pairs: TrainingPairs
    kept: NDArray[np.int64]
    tools: NDArray[np.float32]
    phrases: NDArray[np.float32]
    requests: NDArray[np.float32]
    background: NDArray[np.float32]
    everyday: Sequence[str] = ()
    prefix: str = ""

    @classmethod
    def encoded(
        cls, pairs: TrainingPairs, kept: NDArray[np.int64], background: Sequence[str], encode: Encode, prefix: str
    ) -> "Space":
        """Return the vectors by an encoder. `kept` are sorted by owner."""
        rows = judging(pairs)
        return cls(
            pairs,
            kept,
            encode(pairs.tools),
            encode([pairs.requests[row] for row in kept.tolist()]),
            encode([prefix + pairs.requests[row] for row in rows.tolist()]),
            encode([prefix + request for request in background]),
            background,
            prefix,
        )

    def scores(self, requests: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return what the dense list scores requests, shape (tools, requests): the mean of text and best phrase."""
        documents = self.tools @ requests.T
        nearest = np.full_like(documents, np.nan)
        if not len(self.kept):
            return documents
        owners, first = np.unique(self.pairs.owners[self.kept], return_index=True)
        nearest[owners] = np.maximum.reduceat(self.phrases @ requests.T, first, axis=0)
        lift = (nearest[owners] - documents[owners]).mean(axis=0)
        return blend(documents, nearest, DenseView.MEAN, lift)

    def reciprocal_ranks(self) -> Floats:
        """Return 1 / rank of the tool of each pair that judges."""
        rows = judging(self.pairs)
        return reciprocal_ranks(self.scores(self.requests), self.pairs, rows, np.arange(len(self.tools)))

    def mistaken(self) -> Floats:
        """Return by background query the share of the requests whose best standard score is no higher than its own.

        The mean is 1 less the area under the curve that tells requests for the catalog from everyday ones.
        """
        everyday = self.scores(self.background)
        mean, deviation = everyday.mean(axis=1, keepdims=True), everyday.std(axis=1, keepdims=True)
        deviation = (deviation + deviation.mean()) / 2
        best = [((s - mean) / deviation).max(axis=0) for s in (everyday, self.scores(self.requests))]
        mistaken: Floats = np.searchsorted(np.sort(best[1]), best[0], side="right") / len(best[1])
        return mistaken


def judging(pairs: TrainingPairs) -> NDArray[np.int64]:
    """Return the pairs that judge, at most _MOST_REQUESTS."""
    return evenly(of_judgement(pairs), _MOST_REQUESTS)
