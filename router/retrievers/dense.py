"""Cosine over the vectors of documents and phrases."""

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from router.retrievers.ranking import Ranking


class DenseView(StrEnum):
    """Which vectors score a tool: its document's, its best phrase's, or the mean of the two cosines.

    The last two take, for a tool without phrases, its document's cosine and the mean gain of the tools with phrases:
    such a score can pass 1.
    """

    DOCUMENT = "document"
    PHRASE = "phrase"
    MEAN = "mean"


class DenseRetriever:
    """Exact cosine over L2-normalised vectors.

    `documents` (tools, dim) and `phrases` (phrases, dim) are float32; tool i owns phrases[offsets[i]:offsets[i+1]].
    """

    def __init__(
        self, documents: NDArray[np.float32], phrases: NDArray[np.float32], offsets: NDArray[np.int64]
    ) -> None:
        self._documents = documents
        self._phrases = phrases
        self._offsets = offsets
        self._with_phrases = np.flatnonzero(np.diff(offsets))

    def rank(self, vector: NDArray[np.float32], depth: int, view: DenseView) -> Ranking:
        """The `depth` nearest tools of the whole catalog."""
        # Equal vectors can differ in the last bits by their row in a BLAS block; rounded, they tie and go by id.
        scores: NDArray[np.float64] = np.round(self._scores(vector, view), 6).astype(np.float64)
        center, spread = float(scores.mean()), float(scores.std())
        if depth >= len(scores):
            return Ranking.of(np.arange(len(scores)), scores, center, spread)
        threshold = np.partition(scores, len(scores) - depth)[len(scores) - depth]
        candidates = np.flatnonzero(scores >= threshold)
        return Ranking.of(candidates, scores[candidates], center, spread).cut(depth)

    def best_phrase(self, vector: NDArray[np.float32], ordinal: int) -> int | None:
        """Which of a tool's phrases, from 0, is nearest to the request; None where it has none."""
        first, last = self._offsets[ordinal : ordinal + 2]
        return int(np.argmax(self._phrases[first:last] @ vector)) if last > first else None

    def _scores(self, vector: NDArray[np.float32], view: DenseView) -> NDArray[np.float32]:
        documents: NDArray[np.float32] = self._documents @ vector
        if view is DenseView.DOCUMENT or not len(self._with_phrases):
            return documents
        # A phrase is nearer to a request than a document is, to any request. A tool without phrases is lifted by what
        # they give the others on average. Mean nDCG@10 of five sets, 10, 50 and 90 % of the tools with phrases, when
        # fused: .738, .773, .819 against .731, .763, .817 by its document's cosine alone.
        held = self._with_phrases
        nearest = np.maximum.reduceat(self._phrases @ vector, self._offsets[held])
        best = documents + np.mean(nearest - documents[held])
        best[held] = nearest
        if view is DenseView.MEAN:
            best += documents
            best /= 2
        return best
