"""Vectors → what the router scores tools by: all vectors as bytes and, in a large catalog, an index of candidates."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipeline.indexing.centroids import index_centroids
from pipeline.indexing.moments import MomentsAccumulator, centroids
from router import contract
from router.retrieval.retrievers import DenseView, ToolVectors, candidate_count, has_faiss

__all__ = ["MOST_SCORED", "write_dense"]

# Vectors that a request may be held against one by one: some 6 MB, a millisecond of one core. With more, candidates
# come first.
MOST_SCORED = 5_000
_BLOCK = 4096  # tools in memory at once


def write_dense(
    folder: Path, documents: NDArray[np.float32], phrases: NDArray[np.float32], offsets: NDArray[np.int64]
) -> None:
    """Write the dense part of a snapshot, block by block: the matrices may be memory-mapped.

    `documents` (tools, dim) and `phrases` (phrases, dim) are L2-normalised; tool i owns
    phrases[offsets[i]:offsets[i+1]]. A large catalog gets an index where faiss is installed; without one the router
    scores every vector.
    """
    held = _write_vectors(folder, documents, phrases, offsets)
    if not _is_large(len(documents), len(held.rows)) or not has_faiss():
        return
    measuring = MomentsAccumulator.of(held)
    middles = np.lib.format.open_memmap(folder / ".centroids.npy", "w+", np.float32, documents.shape)
    try:
        for first, last in _blocks(len(held)):
            block = centroids(held, first, last, measuring.lift)
            middles[first:last] = block[DenseView.MEAN]
            measuring.add(block)
        measuring.moments().save(folder / contract.MOMENTS)
        index_centroids(middles, folder / contract.CANDIDATES)
    finally:
        (folder / ".centroids.npy").unlink()


def _is_large(tools: int, vectors: int) -> bool:
    """Whether candidates come first in a catalog of so many: not where all tools would be candidates."""
    return tools > candidate_count(tools) and vectors > MOST_SCORED


def _write_vectors(
    folder: Path, documents: NDArray[np.float32], phrases: NDArray[np.float32], offsets: NDArray[np.int64]
) -> ToolVectors:
    starts = offsets + np.arange(len(offsets))
    rows = np.lib.format.open_memmap(folder / contract.VECTORS, "w+", np.int8, (int(starts[-1]), documents.shape[1]))
    scales = np.empty(len(rows), np.float32)
    for first, last in _blocks(len(documents)):
        own = slice(int(starts[first]), int(starts[last]))
        own_offsets = offsets[first : last + 1] - offsets[first]
        block = ToolVectors.of(documents[first:last], phrases[offsets[first] : offsets[last]], own_offsets)
        rows[own], scales[own] = block.rows, block.scales
    rows.flush()
    np.save(folder / contract.VECTOR_SCALES, scales)
    np.save(folder / contract.VECTOR_OFFSETS, starts)
    return ToolVectors(rows, scales, starts)


def _blocks(tools: int) -> Iterator[tuple[int, int]]:
    return ((first, min(first + _BLOCK, tools)) for first in range(0, tools, _BLOCK))
