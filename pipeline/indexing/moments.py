"""The moments of a catalog, summed block by block; `router.retrieval.retrievers.moments` says what they are for."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from router.retrieval.retrievers import VIEWS, DenseRetriever, DenseView, Moments, ToolVectors

# Tools and phrases that tell how far a best phrase is from the mean of a tool's phrases.
_TOOLS = 1_024
_REQUESTS = 64


def centroids(
    held: ToolVectors, first: int, last: int, lift: NDArray[np.float64]
) -> Mapping[DenseView, NDArray[np.float32]]:
    """By view, for each of the tools first to last - 1 the vector whose product with a request stands for its score,
    shape (last - first, dim).

    A tool without phrases has its document and `lift`, as `DenseRetriever` lifts it.
    """
    rows = held.of_tools(first, last)
    offsets = held.offsets[first : last + 1] - held.offsets[first]
    documents: NDArray[np.float32] = rows[offsets[:-1]]
    counts = np.diff(offsets) - 1
    sums = np.add.reduceat(rows, offsets[:-1], axis=0) - documents
    means = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], documents + lift).astype(np.float32)
    both = ((documents + means) / 2).astype(np.float32, copy=False)
    return {DenseView.DOCUMENT: documents, DenseView.PHRASE: means, DenseView.MEAN: both}


@dataclass
class MomentsAccumulator:
    """Sums of centroids and of their squares, by view; what the maximum adds is measured on a sample."""

    lift: NDArray[np.float64]
    shifts: NDArray[np.float64]
    ratios: NDArray[np.float64]
    lift_shift: float
    count: int
    sums: NDArray[np.float64]
    squares: NDArray[np.float64]

    @classmethod
    def of(cls, held: ToolVectors) -> "MomentsAccumulator":
        """Begin, with a sample drawn evenly from the catalog."""
        sample = _sample(held)
        whole = DenseRetriever(sample)
        phrases = sample.phrases()
        requests = phrases[np.linspace(0, len(phrases) - 1, _REQUESTS).astype(int)] if len(phrases) else phrases
        with_phrases = np.diff(sample.offsets) > 1
        nothing = np.zeros(held.dim)
        bare = centroids(sample, 0, len(sample), nothing)
        gained = (bare[DenseView.PHRASE] - bare[DenseView.DOCUMENT])[with_phrases].astype(np.float64)
        lift = gained.mean(axis=0) if with_phrases.any() else nothing
        shifts, ratios = np.zeros(len(VIEWS)), np.ones(len(VIEWS))
        if len(requests):
            middles = centroids(sample, 0, len(sample), lift)
            for place, view in enumerate(VIEWS):
                linear = requests @ middles[view].T
                exact = np.stack([whole.scores(request, view) for request in requests])
                shifts[place] = (exact.mean(axis=1) - linear.mean(axis=1)).mean()
                ratios[place] = (exact.std(axis=1) / linear.std(axis=1)).mean()
        lift_shift = float(shifts[VIEWS.index(DenseView.PHRASE)])
        views, dim = len(VIEWS), held.dim
        return cls(lift, shifts, ratios, lift_shift, 0, np.zeros((views, dim)), np.zeros((views, dim, dim)))

    def add(self, middles: Mapping[DenseView, NDArray[np.float32]]) -> None:
        """Add the centroids of some tools."""
        self.count += len(middles[DenseView.DOCUMENT])
        for place, view in enumerate(VIEWS):
            block = middles[view]
            self.sums[place] += block.sum(axis=0)
            self.squares[place] += block.T @ block

    def moments(self) -> Moments:
        """The moments of all tools that were added."""
        centers = self.sums / self.count
        covariances = self.squares / self.count - np.einsum("vi,vj->vij", centers, centers)
        arrays = (centers, covariances, self.shifts, self.ratios, self.lift, np.array(self.lift_shift))
        return Moments(*(array.astype(np.float32) for array in arrays))


def _sample(held: ToolVectors) -> ToolVectors:
    chosen = np.linspace(0, len(held) - 1, min(len(held), _TOOLS)).astype(np.int64)
    rows, offsets = held.places(chosen)
    return ToolVectors(held.rows[rows], held.scales[rows], offsets)
