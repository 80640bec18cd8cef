"""One delta: a file as pieces of another file, its base, and the bytes that the base lacks.

It is an SQLite file. `parts` covers the file from start to end: each part is a range of the base (`source`), or of the
zlib-compressed `blocks` (`source` within the block). Reading needs no more memory than one block.
"""

import mmap
import os
import sqlite3
import zlib
from array import array
from collections.abc import Iterator
from contextlib import closing
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
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
_GROUP = 4096  # chunks that are looked up at once
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
        self.base_name, self.size = self._about()
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

    def _about(self) -> tuple[str, int]:
        try:
            base, size = self._connection.execute("SELECT base, size FROM about").fetchone() or ("", 0)
        except sqlite3.Error:
            self.close()
            raise
        return str(base), int(size)

    def _read_block(self, number: int) -> bytes:
        (data,) = self._connection.execute("SELECT data FROM blocks WHERE number = ?", (number,)).fetchone()
        block = zlib.decompressobj().decompress(data, _MOST_BLOCK + 1)
        if len(block) > _MOST_BLOCK:
            raise zlib.error(f"block {number} is larger than {_MOST_BLOCK:,} bytes")
        return block


def write_delta(target: Path, base: Path, delta: Path) -> None:
    """Write `target` as a delta against `base`, whose folder names its snapshot. Raises OSError or sqlite3.Error.

    Takes 20 bytes of memory for each 2 KB of the base.
    """
    data = _mapped(target)
    with closing(sqlite3.connect(delta)) as connection:
        connection.executescript(_SCHEMA)
        connection.execute("INSERT INTO about VALUES (?, ?)", (base.parent.name, len(data)))
        literals = _Literals(connection)
        rows = (
            (start, end - start, *(literals.add(data[start:end]) if source is None else (None, source)))
            for start, end, source in _joined(_Index(_mapped(base)).matches(data))
        )
        connection.executemany("INSERT INTO parts VALUES (?, ?, ?, ?)", rows)
        literals.flush()
        connection.commit()


class _Literals:
    """Gathers bytes that the base lacks, and writes them in blocks."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._bytes = bytearray()
        self._number = 0

    def add(self, data: memoryview) -> tuple[int, int]:
        """Return the block that the bytes will be in, and their place there."""
        if len(self._bytes) >= _BLOCK:
            self.flush()
        place = self._number, len(self._bytes)
        self._bytes += data
        return place

    def flush(self) -> None:
        """Write the block and begin another."""
        self._connection.execute("INSERT INTO blocks VALUES (?, ?)", (self._number, zlib.compress(self._bytes, _LEVEL)))
        self._bytes = bytearray()
        self._number += 1


class _Index:
    """Finds the chunks of a base by their hash: 20 bytes a chunk, where a dictionary would take 150."""

    def __init__(self, base: memoryview) -> None:
        self._base = base
        keys, starts = array("Q"), array("Q")
        for start, end in chunks(base):
            keys.append(_key(base[start:end]))
            starts.append(start)
        order = np.argsort(np.frombuffer(keys, np.uint64), kind="stable")
        self._keys = np.frombuffer(keys, np.uint64)[order]
        self._starts = np.frombuffer(starts, np.uint64)[order]

    def matches(self, data: memoryview) -> Iterator[tuple[int, int, int | None]]:
        """Return start and end of each chunk of the data, and where the base has the same bytes, or None."""
        remaining = chunks(data)
        while group := list(islice(remaining, _GROUP)):
            keys = np.array([_key(data[start:end]) for start, end in group], np.uint64)
            places = np.searchsorted(self._keys, keys)
            for (start, end), key, place in zip(group, keys, places, strict=True):
                found = None
                if place < len(self._keys) and self._keys[place] == key:
                    source = int(self._starts[place])
                    # As bytes: memoryviews are compared item by item.
                    if bytes(self._base[source : source + end - start]) == bytes(data[start:end]):
                        found = source
                yield start, end, found


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


def _key(data: memoryview) -> int:
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little")


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
