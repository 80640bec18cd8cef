"""Writes the dense part of a snapshot: all vectors as int8 and, for a large catalog, an index of candidates."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipeline.indexing.centroids import index_centroids
from pipeline.indexing.lance_table import write_table
from pipeline.indexing.moments import MomentsAccumulator, centroids
from pipeline.scratch import mapped_array, release
from pipeline.settings.snapshot import CandidateEngine
from router import contract
from router.retrieval.retrievers import DenseView, ToolVectors, has_faiss, is_large

__all__ = ["write_dense"]

_BLOCK = 4096  # tools in memory at once


def write_dense(
    folder: Path,
    documents: NDArray[np.float32],
    phrases: NDArray[np.float32],
    offsets: NDArray[np.int64],
    engine: CandidateEngine = "faiss",
) -> None:
    """Write the dense part of a snapshot, block by block, so that the matrices may be memory-mapped.

    `documents` (tools, dim) and `phrases` (phrases, dim) are float32 and L2-normalised; tool i owns
    phrases[offsets[i]:offsets[i+1]]. A large catalog gets an index of candidates for an engine. Where that is faiss and
    it is not installed there is none, and the router scores every vector. Raises SnapshotInvalid where it is lancedb
    and that is not installed.
    """
    vectors = _write_vectors(folder, documents, phrases, offsets)
    if not is_large(len(documents), len(vectors.rows)) or (engine == "faiss" and not has_faiss()):
        return
    accumulator = MomentsAccumulator.of(vectors)
    stored = mapped_array(folder / ".centroids.npy", documents.shape, np.float32)
    try:
        for first, last in _blocks(len(vectors)):
            by_view = centroids(vectors, first, last, accumulator.lift)
            stored[first:last] = by_view[DenseView.MEAN]
            accumulator.add(by_view)
            release(vectors.rows)
            release(stored)
        accumulator.moments().save(folder / contract.MOMENTS)
        if engine == "lancedb":
            write_table(stored, folder)
        else:
            index_centroids(stored, folder / contract.CANDIDATES)
    finally:
        (folder / ".centroids.npy").unlink()


def _write_vectors(
    folder: Path, documents: NDArray[np.float32], phrases: NDArray[np.float32], offsets: NDArray[np.int64]
) -> ToolVectors:
    """Quantize and write the vectors, and return them memory-mapped."""
    starts = offsets + np.arange(len(offsets))
    rows = mapped_array(folder / contract.VECTORS, (int(starts[-1]), documents.shape[1]), np.int8)
    scales = np.empty(len(rows), np.float32)
    for first, last in _blocks(len(documents)):
        own_rows = slice(int(starts[first]), int(starts[last]))
        own_offsets = offsets[first : last + 1] - offsets[first]
        block = ToolVectors.of(documents[first:last], phrases[offsets[first] : offsets[last]], own_offsets)
        rows[own_rows], scales[own_rows] = block.rows, block.scales
        for read in (documents, phrases, rows):
            release(read)
    np.save(folder / contract.VECTOR_SCALES, scales)
    np.save(folder / contract.VECTOR_OFFSETS, starts)
    return ToolVectors(rows, scales, starts)


def _blocks(tools: int) -> Iterator[tuple[int, int]]:
    """Return first and last of each block of tools, the last exclusive."""
    return ((first, min(first + _BLOCK, tools)) for first in range(0, tools, _BLOCK))
