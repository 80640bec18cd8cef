"""Vectors of recombined tools, where encoding would take hours: those of real tools, moved a little.

A recombined tool has the vectors of the real tool that its text is made of, document and phrases, all moved by one
vector and each by a smaller one of its own, and normalised. The moves are drawn from a normal distribution with the
covariance of the real vectors, so they lead where texts are and not into empty dimensions; the first is of length .5,
the second of .25: cosine to the original .87 on average, .89 by the first alone. Real tools keep their vectors.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.support.reference_vectors import ReferenceVectors

Vectors = NDArray[np.float32]

TOGETHER, APART = 0.5, 0.25  # lengths of the moves


class NearVectors:
    """Draws them near the vectors of real tools."""

    def __init__(self, real: ReferenceVectors, seed: int) -> None:
        self._real, self._seed = real, seed
        sample = np.asarray(real.documents[:: max(len(real.documents) // 10_000, 1)], np.float64)
        values, directions = np.linalg.eigh(np.cov(sample, rowvar=False))
        self._shape = (directions * np.sqrt(np.maximum(values, 0))).T.astype(np.float32)

    @property
    def dim(self) -> int:
        """Numbers of a vector."""
        return int(self._real.documents.shape[1])

    def draw(
        self, first: int, real: NDArray[np.int64], moved: NDArray[np.bool_], counts: Sequence[int]
    ) -> tuple[Vectors, Vectors]:
        """The vectors of some tools in a row, from ordinal `first` on: of documents, and of all their phrases.

        `real` are the ordinals of the real tools behind them, `moved` says which are recombined, `counts` how many
        phrases each has: those of the real tool, from its first again where it has too few, its document's where it has
        none. The seed and `first` alone decide the moves.
        """
        draw = np.random.default_rng((self._seed, first))
        owners = np.repeat(np.arange(len(real)), counts)
        held = np.diff(self._real.offsets)[real]
        starts = np.repeat(np.cumsum([0, *counts[:-1]]), counts)
        lent = held[owners] > 0
        rows = self._real.offsets[real[owners]] + (np.arange(len(owners)) - starts) % np.maximum(held[owners], 1)
        originals = self._real.documents[real[owners]]
        originals[lent] = self._real.phrases[rows[lent]]
        together = TOGETHER * self._units(draw, len(real)) * moved[:, None]
        documents = self._real.documents[real] + together + APART * self._units(draw, len(real)) * moved[:, None]
        phrases = originals + together[owners] + APART * self._units(draw, len(rows)) * moved[owners][:, None]
        return _normalized(documents, moved), _normalized(phrases, moved[owners])

    def _units(self, draw: np.random.Generator, count: int) -> Vectors:
        moves = draw.standard_normal((count, len(self._shape)), dtype=np.float32) @ self._shape
        return np.asarray(moves / np.linalg.norm(moves, axis=1, keepdims=True), np.float32)


def _normalized(vectors: Vectors, moved: NDArray[np.bool_]) -> Vectors:
    vectors[moved] /= np.linalg.norm(vectors[moved], axis=1, keepdims=True)
    return vectors
