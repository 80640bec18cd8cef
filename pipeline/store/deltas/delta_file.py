"""One delta: a file as pieces of another file, its base, and the bytes that the base lacks.

It is an SQLite file. `parts` covers the file from start to end: each part is a range of the base (`source`), or of the
zlib-compressed `blocks` (`source` within the block). Reading needs no more memory than one block.
"""

import mmap
import os
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Protocol

import numpy as np

from router.files import open_in

_SCHEMA = """
    PRAGMA journal_mode = OFF;  -- the caller renames the file when it is whole
    PRAGMA synchronous = OFF;
    CREATE TABLE about (base TEXT, size INTEGER);
    CREATE TABLE blocks (number INTEGER PRIMARY KEY, data BLOB);
    CREATE TABLE parts (start INTEGER PRIMARY KEY, length INTEGER, block INTEGER, source INTEGER);
"""
_PARTS = """
    SELECT start, length, block, source FROM parts
    WHERE start >= (SELECT max(start) FROM parts WHERE start <= ?) AND start < ? ORDER BY start
"""
_BLOCK = 1 << 18  # bytes before compression
_MOST_BLOCK = 4 * _BLOCK  # bytes of a block when it is read: those written are less than twice _BLOCK
_LEVEL = 1  # of zlib: vectors do not compress, and level 6 makes the rest 7 % smaller in three times the time


class Source(Protocol):
    """Bytes that can be read anywhere."""

    def read(self, start: int, length: int) -> bytes:
        """Return so many bytes from a place on, fewer at the end."""
        ...


class WholeFile:
    """An open file as a source."""

    def __init__(self, path: Path) -> None:
        self._stream = os.fdopen(open_in(path.parent, path.name), "rb")
        self.close = self._stream.close

    def read(self, start: int, length: int) -> bytes:
        """Return so many bytes from a place on."""
        self._stream.seek(start)
        return self._stream.read(length)


class DeltaFile:
    """A delta as a source, once its `base` is opened. Raises sqlite3.Error or zlib.error where it is damaged."""

    def __init__(self, path: Path) -> None:
        os.close(open_in(path.parent, path.name))  # not a pipe, nor a link that leads out
        # Immutable: read without locks, also where nothing can be written.
        self._connection = sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True, check_same_thread=False)
        self.close = self._connection.close
        self.base: Source | None = None
        try:
            base, size = self._connection.execute("SELECT base, size FROM about").fetchone() or ("", 0)
        except sqlite3.Error:
            self.close()
            raise
        self.base_name, self.size = str(base), int(size)
        self._block = lru_cache(maxsize=4)(self._read_block)

    def read(self, start: int, length: int) -> bytes:
        """Return so many bytes from a place on."""
        assert self.base is not None
        end = min(start + length, self.size)
        if start >= end:
            return b""
        pieces = []
        for first, count, block, source in self._connection.execute(_PARTS, (start, end)):
            skipped, kept = max(start - first, 0), min(first + count, end) - max(start, first)
            if block is None:
                pieces.append(self.base.read(source + skipped, kept))
            else:
                pieces.append(self._block(block)[source + skipped : source + skipped + kept])
        return b"".join(pieces)

    def _read_block(self, number: int) -> bytes:
        (data,) = self._connection.execute("SELECT data FROM blocks WHERE number = ?", (number,)).fetchone()
        block = zlib.decompressobj().decompress(data, _MOST_BLOCK + 1)
        if len(block) > _MOST_BLOCK:
            raise zlib.error(f"block {number} is larger than {_MOST_BLOCK:,} bytes")
        return block


def write_delta(target: Path, base: Path, delta: Path) -> None:
    """Write `target` as a delta against `base`, whose folder names its snapshot. Raises OSError or sqlite3.Error.

    Takes some 150 bytes of memory for each 3 KB of the base.
    """
    data, block, number = _mapped(target), bytearray(), 0
    with closing(sqlite3.connect(delta)) as connection:
        connection.executescript(_SCHEMA)
        connection.execute("INSERT INTO about VALUES (?, ?)", (base.parent.name, len(data)))
        for start, end, source in _joined(_matches(data, _mapped(base))):
            row = start, end - start, *((number, len(block)) if source is None else (None, source))
            connection.execute("INSERT INTO parts VALUES (?, ?, ?, ?)", row)
            if source is None:
                block += data[start:end]
            if len(block) >= _BLOCK or (block and end == len(data)):
                blob = zlib.compress(block, _LEVEL)
                connection.execute("INSERT INTO blocks VALUES (?, ?)", (number, blob))
                block, number = bytearray(), number + 1
        connection.commit()


def _matches(data: memoryview, base: memoryview) -> Iterator[tuple[int, int, int | None]]:
    """Yield start and end of each chunk of the data, and where the base has the same bytes, or None."""
    places = {_key(base[start:end]): start for start, end in chunks(base)}
    for start, end in chunks(data):
        yield start, end, places.get(_key(data[start:end]))


def _joined(parts: Iterator[tuple[int, int, int | None]]) -> Iterator[tuple[int, int, int | None]]:
    """Join neighbours that are neighbours in the base too, and neighbours that it lacks, up to a block."""
    held: tuple[int, int, int | None] | None = None
    for start, end, source in parts:
        if held is not None:
            first, last, before = held
            follows = before is not None and source == before + last - first
            if follows or (source is None and before is None and end - first <= _BLOCK):
                held = first, end, before
                continue
            yield held
        held = start, end, source
    if held is not None:
        yield held


def _key(data: memoryview) -> bytes:
    return blake2b(data, digest_size=16).digest()


def _mapped(path: Path) -> memoryview:
    """Return a file's bytes, read as they are needed; the mapping ends with the last reference to them."""
    with path.open("rb") as stream:
        if not os.fstat(stream.fileno()).st_size:
            return memoryview(b"")  # which cannot be mapped
        return memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))


# A chunk ends after any eight bytes whose product with an odd number begins with the bits of _MARK: one place of 2,048.
# The mark is not zero, which the product of eight zeros is.
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(53)
_MARK = np.uint64(0x5A5)
_WINDOW = 8
LEAST, MOST = 1 << 9, 1 << 16  # bytes of a chunk
_HASHED_BLOCK = 1 << 16  # bytes looked at in one step: its products stay in the processor's cache


def chunks(data: memoryview) -> Iterator[tuple[int, int]]:
    """Return start and end of each chunk, in order; together they are all of the data."""
    start = 0
    for end in _marked(data):
        while end - start > MOST:
            yield start, start + MOST
            start += MOST
        if end - start >= LEAST:
            yield start, end
            start = end
    for cut in range(start, len(data), MOST):
        yield cut, min(cut + MOST, len(data))


def _marked(data: memoryview) -> Iterator[int]:
    """Return the ends of the windows that are marked."""
    for start in range(0, len(data) - _WINDOW + 1, _HASHED_BLOCK):
        block = data[start : start + _HASHED_BLOCK + _WINDOW - 1]
        # A window starts at every byte, so the numbers overlap.
        windows = np.ndarray((len(block) - _WINDOW + 1,), np.dtype("<u8"), block, strides=(1,))
        for place in np.flatnonzero((windows * _FACTOR) >> _SHIFT == _MARK).tolist():
            yield start + place + _WINDOW
