"""Candidates of a large catalog: the tools whose centroid is near. Only these are scored by all their vectors.

A tool's centroid is the mean of its document's vector and of its phrases' mean. Centroids are stored as 4-bit product
codes of two components each, which faiss scans in registers (André, Kermarrec and Le Scouarnec, "Accelerated nearest
neighbor search with Quick ADC", ICMR 2017): 10,000 take a tenth of a millisecond.
"""

import math
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from router import contract
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


# The start of a file: kind, dims, tools.
_HEADER = struct.Struct("<4siq")
_KINDS = (b"IPfs", b"IwPf")  # without and with cells: what a build writes
_limiting = threading.Lock()


class Candidates(Protocol):
    """What finds the candidates of a large catalog. Safe to search from many threads. See docs/past_one_machine.md."""

    def nearest(self, vector: NDArray[np.float32], count: int) -> NDArray[np.int64]:
        """Return some `count` tools whose centroid is nearest to a vector of shape (dim,): ordinals, ascending.

        There may be fewer. Tools of `with_always` come in addition.
        """
        ...

    def with_always(self, ordinals: NDArray[np.int64]) -> "Candidates":
        """Return candidates that always include `ordinals`, ascending, which lie behind the snapshot's own."""
        ...


class CandidateIndex:
    """An index of centroids by faiss, in memory, by ordinal. Safe to search from many threads."""

    def __init__(self, index: Any, always: NDArray[np.int64] | None = None) -> None:
        """Internal: use `open`."""
        self._index = index
        self._always = np.empty(0, np.int64) if always is None else always

    @classmethod
    def open(cls, path: Path, tools: int, dim: int) -> "CandidateIndex":
        """Open an index. Raises SnapshotInvalid where it cannot be read or is of other vectors.

        It takes no more memory than its file has bytes: a few bytes could ask for gigabytes.
        """
        import faiss  # here: a small catalog needs none

        try:
            with path.open("rb") as stream:
                kind, held_dim, held_tools = _HEADER.unpack(stream.read(_HEADER.size))
            if kind not in _KINDS:
                raise ValueError(f"its kind is {kind!r}, it must be one of {', '.join(map(repr, _KINDS))}")
            if (held_tools, held_dim) == (tools, dim):
                # faiss also counts a table of cells, of which a build makes 4 √tools, that this index does not have.
                with _bounded(path.stat().st_size + 256 * dim * (math.isqrt(tools) + 1)):
                    index = faiss.read_index(str(path))
                held_tools, held_dim = index.ntotal, index.d
                _require_layout(index)
        except (RuntimeError, OSError, ValueError, MemoryError, struct.error) as error:
            raise SnapshotInvalid(f"{path} cannot be read: {' '.join(str(error).split())}") from error
        if (held_tools, held_dim) != (tools, dim):
            raise SnapshotInvalid(f"{path} holds {held_tools} tools of {held_dim} dims, not {tools} of {dim}")
        return cls(index)

    def with_always(self, ordinals: NDArray[np.int64]) -> "CandidateIndex":
        """Return candidates that always include `ordinals`, ascending, which lie behind the index's own."""
        return CandidateIndex(self._index, ordinals)

    def nearest(self, vector: NDArray[np.float32], count: int) -> NDArray[np.int64]:
        """Return the `count` tools whose centroid is nearest to a vector of shape (dim,): ordinals, ascending."""
        _, nearest = self._index.search(vector[None], min(count, self._index.ntotal))
        ordinals: NDArray[np.int64] = np.sort(nearest[0])
        ordinals = ordinals[np.searchsorted(ordinals, 0) :]  # -1 where the cells held fewer
        if len(ordinals) and ordinals[-1] >= self._index.ntotal:
            raise SnapshotInvalid(f"{contract.CANDIDATES} is damaged: it gives a tool that the snapshot does not have")
        return with_others(ordinals, self._always)


def with_others(nearest: NDArray[np.int64], always: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the nearest tools of a snapshot, and those behind it that are always among the candidates."""
    return np.concatenate([nearest, always]) if len(always) else nearest


def _require_layout(index: Any) -> None:
    """Raise ValueError for another layout of codes than a build writes: faiss would read past their end."""
    blocks = -(-index.ntotal // index.bbs) * index.bbs if index.bbs > 0 else 0
    is_flat = hasattr(index, "ntotal2")
    if (
        (index.implem, index.bbs, index.qbs, index.pq.nbits) != (0, 32, 0, 4)
        or index.pq.M * index.pq.dsub != index.d
        or index.M2 != index.pq.M + index.pq.M % 2
        or (is_flat and (index.ntotal2 != blocks or index.codes.size() * 2 < blocks * index.M2))
        or not (is_flat or (index.quantizer.d == index.d and 0 < index.nprobe <= index.nlist == index.quantizer.ntotal))
    ):
        raise ValueError("its codes are laid out otherwise than a build writes them")


@contextmanager
def _bounded(size: int) -> Iterator[None]:
    """Keep faiss from reading more into one vector than a file of that size can hold.

    The limit is one of the whole process, so it is put back; indexes are opened one at a time.
    """
    import faiss

    with _limiting:
        before = faiss.get_deserialization_vector_byte_limit()
        faiss.set_deserialization_vector_byte_limit(size)
        try:
            yield
        finally:
            faiss.set_deserialization_vector_byte_limit(before)
