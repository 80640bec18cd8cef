"""Read numpy arrays of a snapshot, memory-mapped."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from router.errors import SnapshotInvalid


def load_array(path: Path) -> NDArray[Any]:
    """Return a stored array, memory-mapped. Raises SnapshotInvalid where it cannot be read."""
    try:
        # As plain arrays: numpy's memmap class makes each small operation several times slower.
        stored: NDArray[Any] = np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (OSError, ValueError) as error:
        raise SnapshotInvalid(f"{path} cannot be read: {error}") from error
    return stored


def load_float32(path: Path, shape: tuple[int | None, ...]) -> NDArray[np.float32]:
    """Return a stored float32 array. None in `shape` stands for any length.

    Raises SnapshotInvalid where it cannot be read, or has another shape or dtype.
    """
    array = load_array(path)
    has_shape = array.ndim == len(shape) and all(
        expected in (None, length) for expected, length in zip(shape, array.shape, strict=True)
    )
    if not has_shape or array.dtype != np.float32:
        raise SnapshotInvalid(f"{path} holds {array.dtype} of shape {array.shape}, not float32 of shape {shape}")
    return array
