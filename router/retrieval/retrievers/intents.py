"""Intent signal: ranks tools by what past requests near to a query led to. A k-nearest-neighbour classifier.

    score(tool) = Σ over the k nearest past requests r beyond the threshold t: weight(r, tool) × (cosine - t) / (1 - t)

A weight says how much a past request teaches beyond the catalog's own words: next to nothing where the other lists
together rank the tool first already. So a log of the router's own answers does not confirm its mistakes, and an unused
tool is not pushed down by a sibling that was used. pipeline/learning/usage/click_feedback.py has the measurements.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from router import contract
from router.contract import Manifest
from router.errors import SnapshotInvalid
from router.retrieval.arrays import load_array, load_offsets
from router.retrieval.retrievers.retriever import EMPTY, Admitted, EncodedQuery, Ranking

# See docs/decisions/use.md.
_NEIGHBOURS = 20

# Of vectors, tools, weights and threshold.
_DTYPES = (np.float32, np.int64, np.float32, np.float64)


class IntentRetriever:
    """Ranks by exact cosine over the L2-normalised vectors of past requests, whose words are not kept.

    `vectors` float32 (requests, dim) are encoded like a query and not adapted. Past request i led to the ordinals
    tools[offsets[i]:offsets[i+1]], with `weights` from 0 to 1 beside them. Past requests count where their cosine is
    above `threshold`, which is below 1.
    """

    needs_vector = True

    def __init__(
        self,
        vectors: NDArray[np.float32],
        offsets: NDArray[np.int64],
        tools: NDArray[np.int64],
        weights: NDArray[np.float32],
        threshold: float,
    ) -> None:
        self._vectors = vectors
        self._offsets = offsets
        self._tools = tools
        self._weights = weights
        self._threshold = threshold

    @classmethod
    def open(cls, folder: Path, manifest: Manifest, tools: int) -> "IntentRetriever | None":
        """Open a snapshot's past requests; return None where it has no encoder.

        Raises SnapshotInvalid where a file cannot be read or does not fit the number of tools.
        """
        if manifest.encoder is None:
            return None
        offsets = load_offsets(folder / contract.INTENT_OFFSETS)
        arrays = vectors, ordinals, weights, threshold = (
            load_array(folder / contract.INTENT_VECTORS),
            load_array(folder / contract.INTENT_TOOLS),
            load_array(folder / contract.INTENT_WEIGHTS),
            load_array(folder / contract.INTENT_THRESHOLD),
        )
        is_consistent = (
            all(array.dtype == dtype for array, dtype in zip(arrays, _DTYPES, strict=True))
            and vectors.shape == (len(offsets) - 1, manifest.encoder.dim)
            and ordinals.shape == weights.shape == (offsets[-1],)
            and not ((ordinals < 0) | (ordinals >= tools)).any()
            and threshold.shape == ()
            and threshold < 1
        )
        if not is_consistent:
            raise SnapshotInvalid(
                f"{folder}: past requests of shape {vectors.shape}, with {len(ordinals)} tools, "
                f"do not fit {tools} tools"
            )
        return cls(vectors, offsets, ordinals, weights, float(threshold))

    def __len__(self) -> int:
        """Return how many past requests there are."""
        return len(self._vectors)

    def with_ordinals(self, new: NDArray[np.int64]) -> "IntentRetriever":
        """Return the retriever of a catalog whose tool i now has ordinal new[i], -1 where it is gone; int64."""
        tools = new[self._tools]
        remain = tools >= 0
        offsets = np.concatenate([[0], np.cumsum(remain)])[self._offsets]
        return IntentRetriever(self._vectors, offsets, tools[remain], self._weights[remain], self._threshold)

    def rank(self, query: EncodedQuery, depth: int, admitted: Admitted | None = None) -> Ranking:
        """Return the `depth` admitted tools that past requests near to the query's own vector speak for most.

        Raises ValueError for a query without a vector.
        """
        if query.vector is None:
            raise ValueError("the query has no vector: encode it for a recipe that weights the intent signal")
        return self.rank_vector(query.vector, depth, admitted)

    def rank_vector(self, vector: NDArray[np.float32], depth: int, admitted: Admitted | None = None) -> Ranking:
        """Return the `depth` admitted tools that near past requests led to; EMPTY where there are none.

        A past request of the same words whose tool no list had scores 1, which is the spread. The center is 0, the
        score of a tool that no near past request led to.
        """
        # Rounded like the dense list's: equal vectors tie, and go by their index.
        cosines = np.round((self._vectors @ vector).astype(np.float64), 6)
        near = np.flatnonzero(cosines > self._threshold)
        near = near[np.lexsort((near, -cosines[near]))][:_NEIGHBOURS]
        if not len(near):
            return EMPTY
        first, last = self._offsets[near], self._offsets[near + 1]
        pairs = np.concatenate([np.arange(*ends) for ends in zip(first, last, strict=True)])
        nearness = np.repeat((cosines[near] - self._threshold) / (1 - self._threshold), last - first)
        ordinals, columns = np.unique(self._tools[pairs], return_inverse=True)
        scores = np.zeros(len(ordinals))
        np.add.at(scores, columns, nearness * self._weights[pairs])
        scores = np.round(scores, 6)
        is_listed = scores > 0
        if admitted is not None:
            is_listed &= admitted.mask[ordinals]
        return Ranking.of(ordinals[is_listed], scores[is_listed]).cut(depth) if is_listed.any() else EMPTY
