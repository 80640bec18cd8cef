"""The query adapter at work: request vectors moved by the map that a build learned."""

import numpy as np
from numpy.typing import NDArray


def adapted(vectors: NDArray[np.float32], adapter: NDArray[np.float32]) -> NDArray[np.float32]:
    """normalize(q + qA) for vectors of shape (dim,) or (n, dim) and a map of shape (dim, dim)."""
    moved = vectors + vectors @ adapter
    unit: NDArray[np.float32] = moved / np.linalg.norm(moved, axis=-1, keepdims=True)
    return unit
