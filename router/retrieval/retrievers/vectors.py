"""The vectors of a catalog's tools as int8, tool by tool."""

from pathlib import Path

import msgspec
import numkong
import numpy as np
from numpy.typing import NDArray

from router import contract
from router.errors import SnapshotInvalid
from router.retrieval.arrays import load_array, load_offsets

_LEVELS = 127
# A number of a request becomes a whole one of 23 bits, as many as a float32 has, in four signed bytes. The last byte is
# zero: one pass over the vectors multiplies all, and numkong takes less time for four than for three.
_MOST = _LEVELS * (2 * _LEVELS) ** 2
_SIGNED = 0x808080  # added, then taken out by XOR, it makes a whole number's lower bytes signed
_WORTH = np.array([1, 2**8, 2**16, 2**24], np.float64)  # of each byte; sums of so few bits are exact
_BLOCK = 16_384  # vectors compared at once, so that their products stay in the core's cache


def quantize(vectors: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return vectors (n, dim) as int8 (n, dim) and the scales (n,) that the rows are multiplied by.

    See docs/decisions/large-catalogs.md for the loss.
    """
    scales = (np.abs(vectors).max(axis=1, initial=0) / _LEVELS).astype(np.float32)
    rows = np.rint(vectors / np.where(scales > 0, scales, 1)[:, None]).astype(np.int8)
    return rows, scales


class ToolVectors(msgspec.Struct, frozen=True):
    """L2-normalised vectors: row r is `rows[r] * scales[r]`, int8 of shape (n, dim) and float32 of shape (n,).

    Tool i owns rows[offsets[i]:offsets[i+1]]: its document's first, then one for each phrase.
    """

    rows: NDArray[np.int8]
    scales: NDArray[np.float32]
    offsets: NDArray[np.int64]

    @classmethod
    def open(cls, folder: Path) -> "ToolVectors":
        """Open a snapshot's vectors, memory-mapped. Raises SnapshotInvalid where a file cannot be read."""
        rows, scales = (load_array(folder / name) for name in (contract.VECTORS, contract.VECTOR_SCALES))
        offsets = load_offsets(folder / contract.VECTOR_OFFSETS)
        by_row = rows.dtype == np.int8 and rows.flags.c_contiguous  # numkong multiplies no others
        if not by_row or scales.dtype != np.float32 or (np.diff(offsets) < 1).any():
            raise SnapshotInvalid(f"{folder / contract.VECTORS} does not hold a vector or more of each tool as int8")
        return cls(rows, scales, offsets)

    @classmethod
    def of(
        cls, documents: NDArray[np.float32], phrases: NDArray[np.float32], offsets: NDArray[np.int64]
    ) -> "ToolVectors":
        """Quantize documents (tools, dim) and phrases (phrases, dim); tool i owns phrases[offsets[i]:offsets[i+1]]."""
        starts = offsets + np.arange(len(offsets))
        vectors = np.empty((starts[-1], documents.shape[1]), np.float32)
        is_document = np.zeros(len(vectors), bool)
        is_document[starts[:-1]] = True
        vectors[is_document], vectors[~is_document] = documents, phrases
        return cls(*quantize(vectors), starts)

    def __len__(self) -> int:
        """Return the number of tools."""
        return len(self.offsets) - 1

    @property
    def dim(self) -> int:
        """Return the length of a vector."""
        return int(self.rows.shape[1])

    def products(self, vector: NDArray[np.float32], rows: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        """Return the products of all rows, or of some, with a vector (dim,).

        They are sums of integers, so that a row's is the same on every machine, and beside whatever others.
        """
        parts, step = _in_parts(vector)
        products = np.empty(len(self.rows) if rows is None else len(rows), np.float32)
        for start in range(0, len(products), _BLOCK):
            block = slice(start, start + _BLOCK)
            chosen = block if rows is None else rows[block]
            sums = np.asarray(numkong.dots_packed(self.rows[chosen], parts))
            products[block] = sums @ _WORTH * (step * self.scales[chosen])
        return products

    def of_tools(self, first: int, last: int) -> NDArray[np.float32]:
        """Return the vectors of the tools first to last - 1 as float32."""
        rows = slice(int(self.offsets[first]), int(self.offsets[last]))
        vectors: NDArray[np.float32] = self.rows[rows].astype(np.float32) * self.scales[rows, None]
        return vectors

    def documents(self) -> NDArray[np.float32]:
        """Return the documents' vectors, float32 (tools, dim)."""
        starts = self.offsets[:-1]
        vectors: NDArray[np.float32] = self.rows[starts].astype(np.float32) * self.scales[starts, None]
        return vectors

    def phrases(self) -> NDArray[np.float32]:
        """Return the phrases' vectors, float32 (phrases, dim), tool by tool."""
        is_phrase = np.ones(len(self.rows), bool)
        is_phrase[self.offsets[:-1]] = False
        vectors: NDArray[np.float32] = self.rows[is_phrase].astype(np.float32) * self.scales[is_phrase, None]
        return vectors


class StackedVectors:
    """The vectors of a catalog, followed by those of tools that were added later. Only offsets are copied."""

    def __init__(self, first: ToolVectors, later: ToolVectors) -> None:
        self._first, self._later = first, later
        self._rows = int(first.offsets[-1])
        self.offsets: NDArray[np.int64] = np.concatenate([first.offsets, later.offsets[1:] + self._rows])

    def __len__(self) -> int:
        """Return the number of tools."""
        return len(self.offsets) - 1

    def products(self, vector: NDArray[np.float32], rows: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        """Return the same as `ToolVectors.products`."""
        if rows is None:
            return np.concatenate([self._first.products(vector), self._later.products(vector)])
        later = rows >= self._rows
        if not later.any():
            return self._first.products(vector, rows)
        products = np.empty(len(rows), np.float32)
        products[~later] = self._first.products(vector, rows[~later])
        products[later] = self._later.products(vector, rows[later] - self._rows)
        return products


def places(offsets: NDArray[np.int64], tools: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of some tools, tool by tool, and the offsets (len(tools) + 1,) where each tool's begin."""
    first = offsets[tools]
    counts = offsets[tools + 1] - first
    starts = np.zeros(len(tools) + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    return np.arange(starts[-1]) + np.repeat(first - starts[:-1], counts), starts


def _in_parts(vector: NDArray[np.float32]) -> tuple[numkong.PackedMatrix, float]:
    """Return a vector's parts, packed int8 (parts, dim), and what one of the first is worth."""
    step = float(np.abs(vector).max(initial=0)) / _MOST or 1.0
    whole = np.rint(vector / np.float64(step)).astype("<i4")
    parts = ((whole + _SIGNED) ^ _SIGNED).view(np.int8).reshape(-1, len(_WORTH)).T
    return numkong.dots_pack(np.ascontiguousarray(parts)), step
