"""Read numpy arrays of a snapshot, memory-mapped."""

import math
import os
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray

from router.errors import SnapshotInvalid
from router.refusals import damage_refused


def load_array(path: Path) -> NDArray[Any]:
    """Return a stored array, memory-mapped. Raises SnapshotInvalid where it cannot be read.

    Its header must describe the file: one that says more, or less, than the file holds is refused before it is mapped.
    """
    with damage_refused(f"{path} cannot be read"), path.open("rb") as stream:
        shape, order, dtype = _header(stream)
        size = os.fstat(stream.fileno()).st_size - stream.tell()
        if dtype.hasobject or size != math.prod(shape) * dtype.itemsize:
            raise ValueError(f"its header says {dtype} of shape {shape}, it holds {size} bytes")
        if not size:
            return np.zeros(shape, dtype)
        # As plain arrays: numpy's memmap class makes each small operation several times slower.
        return np.asarray(np.memmap(stream, dtype, "r", stream.tell(), shape, order))


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], Literal["C", "F"], np.dtype[Any]]:
    """Return the shape, the order and the dtype of a file in numpy's format."""
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"it has version {version} of numpy's format, 1.0 and 2.0 are read")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    try:
        shape, is_fortran, dtype = read(stream)
    except TokenError as error:  # numpy reads headers of Python 2 by its tokenizer
        raise ValueError(f"its header cannot be read: {error}") from error
    return shape, "F" if is_fortran else "C", dtype


def load_bytes(path: Path) -> NDArray[np.uint8]:
    """Return a file's bytes, memory-mapped."""
    try:
        stored: NDArray[np.uint8] = np.asarray(np.memmap(path, dtype=np.uint8, mode="r"))
    except (OSError, ValueError) as error:
        raise SnapshotInvalid(f"{path} cannot be read: {error}") from error
    return stored


def load_offsets(path: Path) -> NDArray[np.int64]:
    """Return stored offsets, int64 (n + 1,), which start at 0 and never fall. Raises SnapshotInvalid for others."""
    offsets = load_array(path)
    if offsets.dtype != np.int64 or offsets.ndim != 1 or not len(offsets):
        raise SnapshotInvalid(f"{path} holds {offsets.dtype} of shape {offsets.shape}, not int64 of shape (None,)")
    if offsets[0] != 0 or (np.diff(offsets) < 0).any():
        raise SnapshotInvalid(f"{path} does not hold offsets: they start at 0 and never fall")
    return offsets


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
