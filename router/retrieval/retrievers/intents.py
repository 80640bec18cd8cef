"""Past requests: what those that are near to a request led to. A k-nearest-neighbour classifier of intents.

    score(tool) = Σ over the k nearest uses past the threshold t: lesson(use, tool) × (cosine - t) / (1 - t)

A lesson says how much a use tells that the catalog's own words do not: next to nothing where the other lists together
have the tool first already. So a log of what the router proposed does not confirm it in its own mistakes, and a tool
that was never used is not pushed down by a sibling that was. pipeline/learning/usage/intents.py has the measurements.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from router import contract
from router.contract import Manifest
from router.errors import SnapshotInvalid
from router.retrieval.arrays import load_array
from router.retrieval.retrievers.ranking import EMPTY, Ranking
from router.retrieval.retrievers.retriever import Admitted, EncodedQuery

# Mean gain in nDCG@10 on five sets, half of their requests past ones: .0111 of 3, .0141 of 5, .0164 of 10, .0166 of 20,
# .0159 of 50.
_NEIGHBOURS = 20


class IntentRetriever:
    """Exact cosine over the L2-normalised vectors of past requests; their words are not kept.

    `vectors` (uses, dim) float32, encoded as a request is and not adapted; use i led to the tools of the ordinals
    tools[offsets[i]:offsets[i+1]], with `lessons` from 0 to 1 beside them. `threshold`, below 1, is the cosine up to
    which a past request says nothing.
    """

    needs_vector = True

    def __init__(
        self,
        vectors: NDArray[np.float32],
        offsets: NDArray[np.int64],
        tools: NDArray[np.int64],
        lessons: NDArray[np.float32],
        threshold: float,
    ) -> None:
        self._vectors = vectors
        self._offsets = offsets
        self._tools = tools
        self._lessons = lessons
        self._threshold = threshold

    @classmethod
    def open(cls, folder: Path, manifest: Manifest, tools: int) -> "IntentRetriever | None":
        """Open a snapshot's past requests; return None where it has no encoder.

        Raises SnapshotInvalid where a file cannot be read or does not fit the number of tools.
        """
        if manifest.encoder is None:
            return None
        vectors, offsets, ordinals, lessons, threshold = (
            load_array(folder / name)
            for name in (
                contract.INTENT_VECTORS,
                contract.INTENT_OFFSETS,
                contract.INTENT_TOOLS,
                contract.INTENT_LESSONS,
                contract.INTENT_THRESHOLD,
            )
        )
        is_consistent = (
            vectors.shape == (len(offsets) - 1, manifest.encoder.dim)
            and ordinals.shape == lessons.shape == (offsets[-1],)
            and not ((ordinals < 0) | (ordinals >= tools)).any()
            and threshold.shape == ()
            and threshold < 1
        )
        if not is_consistent:
            raise SnapshotInvalid(
                f"{folder}: past requests of shape {vectors.shape}, with {len(ordinals)} tools, "
                f"do not fit {tools} tools"
            )
        return cls(vectors, offsets, ordinals, lessons, float(threshold))

    def __len__(self) -> int:
        return len(self._vectors)

    def with_ordinals(self, places: NDArray[np.int64]) -> "IntentRetriever":
        """The same of a catalog whose tool i is now tool places[i], int64 (tools,); -1 where it is gone."""
        tools = places[self._tools]
        kept = tools >= 0
        offsets = np.concatenate([[0], np.cumsum(kept)])[self._offsets]
        return IntentRetriever(self._vectors, offsets, tools[kept], self._lessons[kept], self._threshold)

    def rank(self, query: EncodedQuery, depth: int, admitted: Admitted | None = None) -> Ranking:
        """Return the `depth` admitted tools that past requests near to the query's own vector speak for most.

        Raises ValueError for a query without a vector.
        """
        if query.vector is None:
            raise ValueError("the query has no vector: encode it for a recipe that weights the intent signal")
        return self.rank_vector(query.vector, depth, admitted)

    def rank_vector(self, vector: NDArray[np.float32], depth: int, admitted: Admitted | None = None) -> Ranking:
        """The `depth` admitted tools that near uses speak for most; EMPTY where none is near, or they tell nothing.

        A use of the same words whose tool no list had scores 1: the spread. The center is 0, what a tool scores that no
        near use led to.
        """
        # Rounded as the dense list's are: equal vectors tie, and go by their place.
        cosines = np.round((self._vectors @ vector).astype(np.float64), 6)
        near = np.flatnonzero(cosines > self._threshold)
        near = near[np.lexsort((near, -cosines[near]))][:_NEIGHBOURS]
        if not len(near):
            return EMPTY
        first, last = self._offsets[near], self._offsets[near + 1]
        pairs = np.concatenate([np.arange(*ends) for ends in zip(first, last, strict=True)])
        nearness = np.repeat((cosines[near] - self._threshold) / (1 - self._threshold), last - first)
        ordinals, places = np.unique(self._tools[pairs], return_inverse=True)
        scores = np.zeros(len(ordinals))
        np.add.at(scores, places, nearness * self._lessons[pairs])
        scores = np.round(scores, 6)
        taught = scores > 0
        if admitted is not None:
            taught &= admitted.mask[ordinals]
        return Ranking.of(ordinals[taught], scores[taught]).cut(depth) if taught.any() else EMPTY
