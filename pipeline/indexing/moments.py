"""Measures the moments of a catalog block by block; `router.retrieval.retrievers.moments` says how they are used."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from router.retrieval.retrievers import VIEWS, CatalogMoments, DenseRetriever, DenseView, ToolVectors
from router.retrieval.retrievers.vectors import places

# Sizes of the sample that compares nearest phrases with the mean of a tool's phrases.
_SAMPLE_TOOLS = 1_024
_SAMPLE_QUERIES = 64


def centroids(
    vectors: ToolVectors, first: int, last: int, lift: NDArray[np.float64]
) -> Mapping[DenseView, NDArray[np.float32]]:
    """Return by view the vectors whose products with a query approximate the scores of the tools first to last - 1.

    Their shape is (last - first, dim). A tool without phrases has its document's vector plus `lift` (dim,).
    """
    rows = vectors.of_tools(first, last)
    offsets = vectors.offsets[first : last + 1] - vectors.offsets[first]
    documents: NDArray[np.float32] = rows[offsets[:-1]]
    counts = np.diff(offsets) - 1
    sums = np.add.reduceat(rows, offsets[:-1], axis=0) - documents
    means = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], documents + lift).astype(np.float32)
    both = ((documents + means) / 2).astype(np.float32, copy=False)
    return {DenseView.DOCUMENT: documents, DenseView.PHRASE: means, DenseView.MEAN: both}


@dataclass
class MomentsAccumulator:
    """Sums of centroids and of their squares, by view; shifts and ratios are measured on a sample of the catalog."""

    lift: NDArray[np.float64]
    shifts: NDArray[np.float64]
    ratios: NDArray[np.float64]
    lift_shift: float
    count: int
    sums: NDArray[np.float64]
    squares: NDArray[np.float64]

    @classmethod
    def of(cls, vectors: ToolVectors) -> "MomentsAccumulator":
        """Return an accumulator without any sums, with shifts and ratios measured on a sample of the catalog."""
        sample = _sample(vectors)
        whole = DenseRetriever(sample)
        phrases = sample.phrases()
        queries = phrases[np.linspace(0, len(phrases) - 1, _SAMPLE_QUERIES).astype(int)] if len(phrases) else phrases
        with_phrases = np.diff(sample.offsets) > 1
        zeros = np.zeros(vectors.dim)
        without_lift = centroids(sample, 0, len(sample), zeros)
        gains = (without_lift[DenseView.PHRASE] - without_lift[DenseView.DOCUMENT])[with_phrases].astype(np.float64)
        lift = gains.mean(axis=0) if with_phrases.any() else zeros
        shifts, ratios = np.zeros(len(VIEWS)), np.ones(len(VIEWS))
        if len(queries):
            by_view = centroids(sample, 0, len(sample), lift)
            for row, view in enumerate(VIEWS):
                linear = queries @ by_view[view].T
                exact = np.stack([whole.scores(query, view) for query in queries])
                shifts[row] = (exact.mean(axis=1) - linear.mean(axis=1)).mean()
                ratios[row] = (exact.std(axis=1) / linear.std(axis=1)).mean()
        lift_shift = float(shifts[VIEWS.index(DenseView.PHRASE)])
        views, dim = len(VIEWS), vectors.dim
        return cls(lift, shifts, ratios, lift_shift, 0, np.zeros((views, dim)), np.zeros((views, dim, dim)))

    def add(self, by_view: Mapping[DenseView, NDArray[np.float32]]) -> None:
        """Add the centroids of some tools, as `centroids` returns them."""
        self.count += len(by_view[DenseView.DOCUMENT])
        for row, view in enumerate(VIEWS):
            block = by_view[view]
            self.sums[row] += block.sum(axis=0)
            self.squares[row] += block.T @ block

    def moments(self) -> CatalogMoments:
        """Return the moments of all tools that were added."""
        centers = self.sums / self.count
        covariances = self.squares / self.count - np.einsum("vi,vj->vij", centers, centers)
        arrays = (centers, covariances, self.shifts, self.ratios, self.lift, np.array(self.lift_shift))
        return CatalogMoments(*(array.astype(np.float32) for array in arrays))


def _sample(vectors: ToolVectors) -> ToolVectors:
    """Return the vectors of up to _SAMPLE_TOOLS tools, spread evenly over the catalog."""
    tools = np.linspace(0, len(vectors) - 1, min(len(vectors), _SAMPLE_TOOLS)).astype(np.int64)
    rows, offsets = places(vectors.offsets, tools)
    return ToolVectors(vectors.rows[rows], vectors.scales[rows], offsets)
