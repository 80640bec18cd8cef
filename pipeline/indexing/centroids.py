"""Writes the index of candidates: centroids as 4-bit product codes, in cells where the catalog is very large."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Codes that a request is compared with: 300,000 of 384 dims are 29 MB, some four milliseconds of one core.
MOST_SCANNED = 300_000
# One cell in five is scanned. See docs/decisions/large-catalogs.md.
_CELLS_PER_PROBE = 5
_TRAINED_ON = 16_384
_ITERATIONS = 8


def index_centroids(centroids: NDArray[np.float32], path: Path) -> None:
    """Write a faiss index of centroids (tools, dim), by inner product. Equal centroids give equal indexes."""
    import faiss

    tools, dim = centroids.shape
    codes = f"PQ{dim // 2}x4fs" if dim % 2 == 0 else f"PQ{dim}x4fs"
    cells = 0 if tools <= MOST_SCANNED else int(4 * np.sqrt(tools))
    index: Any = faiss.index_factory(dim, f"IVF{cells},{codes}" if cells else codes, faiss.METRIC_INNER_PRODUCT)
    product = index.pq
    product.cp.niter, product.cp.seed = _ITERATIONS, 0
    sample = np.linspace(0, tools - 1, min(tools, max(_TRAINED_ON, 40 * cells))).astype(np.int64)
    if cells:
        index.cp.niter, index.cp.seed, index.cp.spherical = _ITERATIONS, 0, True
        index.nprobe = max(cells // _CELLS_PER_PROBE, 1)
    product.cp.min_points_per_centroid = 1
    with _threads(0 if cells else 1):
        index.train(np.ascontiguousarray(centroids[sample]))
    for first in range(0, tools, _TRAINED_ON):
        index.add(np.ascontiguousarray(centroids[first : first + _TRAINED_ON]))
    faiss.write_index(index, str(path))


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """Let faiss use `count` threads inside the block; 0 leaves their number as it is.

    Training codes is five times faster on one thread: their tables are small, and threads wait for each other.
    """
    import faiss

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(count or before)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
