"""What a build keeps on disk instead of in memory, in a folder that goes when the build ends, whoever ends it."""

import mmap
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

T = TypeVar("T")

_NAME = "scratch"


@dataclass(frozen=True)
class ScratchFolder:
    """A folder of files that no build needs after the one that wrote them."""

    path: Path
    _numbers: Iterator[int] = field(default_factory=count, repr=False)

    @classmethod
    @contextmanager
    def open(cls, workspace: Path) -> Iterator[Self]:
        """Yield a new folder in `workspace`, and remove it at the end.

        The caller holds the workspace's lock: what a killed build left there is removed first. Raises OSError where the
        folder cannot be made.
        """
        parent = workspace.absolute() / _NAME  # workers may have another current folder
        shutil.rmtree(parent, ignore_errors=True)
        parent.mkdir(parents=True, exist_ok=True)
        folder = Path(mkdtemp(dir=parent))
        try:
            yield cls(folder)
        finally:
            shutil.rmtree(parent, ignore_errors=True)

    def file(self, name: str) -> Path:
        """Return a path that no file of the folder has yet; it ends in `name`."""
        return self.path / f"{next(self._numbers)}-{name}"

    def array(self, shape: tuple[int, ...], dtype: DTypeLike = np.float32) -> NDArray[Any]:
        """Return a new array of zeros, mapped from a file that goes with the array.

        Raises OSError where the disk has no room for it.
        """
        path = self.file("array.npy")
        try:
            return mapped_array(path, shape, dtype)
        finally:
            path.unlink(missing_ok=True)  # what is mapped stays until nobody holds it


def mapped_array(path: Path, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return a new array of zeros, mapped from the .npy file `path`, whose whole space is reserved.

    Raises OSError where the disk has not so much space: writing to a mapped file that has no space kills the process.
    """
    if not np.prod(shape):
        np.save(path, np.empty(shape, dtype))
        return np.empty(shape, dtype)  # no file of no bytes can be mapped
    mapped = np.lib.format.open_memmap(path, "w+", np.dtype(dtype), shape)
    if hasattr(os, "posix_fallocate"):  # not on macOS
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    return np.asarray(mapped)  # a plain array, which is still mapped: slices of a memmap cost more to make


def release(array: NDArray[Any]) -> None:
    """Let the system take back the memory of a mapped array's pages, which stay in their file; nothing for another.

    Pages that were read count to the process until memory runs short: a build that has read 14 GB of vectors would seem
    to hold them.
    """
    base: Any = array
    while base is not None and not isinstance(base, np.memmap):
        base = getattr(base, "base", None)
    mapped = getattr(base, "_mmap", None)
    if mapped is not None and hasattr(mapped, "madvise"):
        mapped.madvise(mmap.MADV_DONTNEED)


def chunked(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield items in lists of at most `size`."""
    remaining = iter(items)
    while chunk := list(islice(remaining, size)):
        yield chunk
