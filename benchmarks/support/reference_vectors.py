"""The vectors of a catalog in fp32, and the exact score of every one."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from router import DenseView, contract
from router.retrieval.arrays import load_array
from router.retrieval.retrievers import ToolVectors
from router.snapshot.snapshot import Snapshot

DOCUMENTS, PHRASES, OFFSETS = "document_vectors.npy", "phrase_vectors.npy", "phrase_offsets.npy"
_CHUNK = 8_192  # tools scored at once, with all their phrases


@dataclass(frozen=True)
class ReferenceVectors:
    """Vectors in fp32: `documents` (tools, dim), `phrases` (phrases, dim), tool i owning
    phrases[offsets[i]:offsets[i+1]]."""

    documents: NDArray[np.float32]
    phrases: NDArray[np.float32]
    offsets: NDArray[np.int64]

    @classmethod
    def open(cls, folder: Path) -> "ReferenceVectors":
        """The arrays of a folder, memory-mapped. Raises SnapshotInvalid where one cannot be read."""
        return cls(*(load_array(folder / name) for name in (DOCUMENTS, PHRASES, OFFSETS)))

    @classmethod
    def of(cls, snapshot: Snapshot) -> "ReferenceVectors":
        """Those of a snapshot, as precise as it keeps them, in memory."""
        assert snapshot.folder is not None
        names = (contract.VECTORS, contract.VECTOR_SCALES, contract.VECTOR_OFFSETS)
        held = ToolVectors(*(load_array(snapshot.folder / name) for name in names))
        return cls(held.documents(), held.phrases(), held.offsets - np.arange(len(held) + 1))

    def scores(self, requests: NDArray[np.float32], view: DenseView) -> NDArray[np.float32]:
        """The score of each tool for each request, shape (tools, requests), as `DenseView` defines it."""
        found = np.empty((len(self.documents), len(requests)), np.float32)
        lift, held = np.zeros(len(requests)), np.diff(self.offsets) > 0
        for first in range(0, len(found), _CHUNK):
            rows = slice(first, min(first + _CHUNK, len(found)))
            documents = self.documents[rows] @ requests.T
            begin, end = self.offsets[rows.start], self.offsets[rows.stop]
            if view is DenseView.DOCUMENT or end == begin:
                found[rows] = documents
                continue
            own = held[rows]
            near = np.maximum.reduceat(self.phrases[begin:end] @ requests.T, self.offsets[rows][own] - begin, axis=0)
            lift += (near - documents[own]).sum(axis=0)
            best = documents.copy()
            best[own] = near
            found[rows] = (documents + best) / 2 if view is DenseView.MEAN else best
        if view is not DenseView.DOCUMENT and held.any():
            # A tool without phrases is lifted by what they give the others on average.
            found[~held] += lift / held.sum() / (2 if view is DenseView.MEAN else 1)
        return found
