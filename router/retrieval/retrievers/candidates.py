"""Candidates of a large catalog: the tools whose centroid is near, which alone are scored by all their vectors.

A tool's centroid is the mean of its document's vector and of its phrases' mean. Centroids are stored as 4-bit product
codes of two components each, which faiss scans in registers (André, Kermarrec and Le Scouarnec, "Accelerated nearest
neighbor search with Quick ADC", ICMR 2017): 10,000 take a tenth of a millisecond.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from router.distribution import install_command
from router.errors import SnapshotInvalid

NO_FAISS_WARNING = "without faiss each request is compared with all {vectors:,} vectors: " + install_command("large")


def has_faiss() -> bool:
    """Return whether faiss is installed, by the extra `large`. This imports it, so call it for large catalogs only."""
    try:
        import faiss  # noqa: F401
    except ImportError:
        return False
    return True


class CandidateIndex:
    """An index of centroids, by ordinal. Safe to search from many threads."""

    def __init__(self, index: Any, always: NDArray[np.int64] | None = None) -> None:
        """Internal: use `open`."""
        self._index = index
        self._always = np.empty(0, np.int64) if always is None else always

    @classmethod
    def open(cls, path: Path, tools: int, dim: int) -> "CandidateIndex":
        """Open an index. Raises SnapshotInvalid where it cannot be read or is of other vectors."""
        import faiss  # here: a small catalog needs none

        try:
            index = faiss.read_index(str(path))
        except RuntimeError as error:
            raise SnapshotInvalid(f"{path} cannot be read: {error}") from error
        if (index.ntotal, index.d) != (tools, dim):
            raise SnapshotInvalid(f"{path} holds {index.ntotal} tools of {index.d} dims, not {tools} of {dim}")
        return cls(index)

    def with_always(self, ordinals: NDArray[np.int64]) -> "CandidateIndex":
        """Return candidates that always include `ordinals`, ascending, which lie behind the index's own."""
        return CandidateIndex(self._index, ordinals)

    def nearest(self, vector: NDArray[np.float32], count: int) -> NDArray[np.int64]:
        """Return the `count` tools whose centroid is nearest to a vector of shape (dim,): ordinals, ascending."""
        _, nearest = self._index.search(vector[None], min(count, self._index.ntotal))
        ordinals: NDArray[np.int64] = np.sort(nearest[0])
        ordinals = ordinals[np.searchsorted(ordinals, 0) :]  # -1 where the cells held fewer
        return np.concatenate([ordinals, self._always]) if len(self._always) else ordinals
