"""Results of functions of single tools, kept in a file from one build to the next: a night computes what changed.

A result is found by a digest of its function's inputs, and of the code of both packages: a new version computes all
results anew. See docs/decisions/builds.md.
"""

import json
import sqlite3
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from hashlib import blake2b
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

import msgspec

import router

T = TypeVar("T")

FOLDER = "computed"  # of a workspace, a file for each catalog
_LIBRARIES = "confusable-homoglyphs msgspec numpy onnxruntime tantivy tiktoken tokenizers".split()  # make results
_LARGEST_CODE = 1_000_000  # bytes of a file: greater ones are models, which keys name
_CRC = 4  # bytes
_KEYS = 500  # asked for at once


def digest(*parts: Any) -> bytes:
    """Return 16 bytes that tell inputs apart. The order of keys counts: an equal object may miss its result."""
    packed = _packed(parts)
    if packed is None:
        packed = json.dumps(parts, default=repr).encode()
    return blake2b(packed, digest_size=16).digest()


class Memo:
    """Keeps results in a file of SQLite; without a path as long as the object lives."""

    def __init__(self, path: Path | None = None, tell: Callable[[str], object] = lambda text: None) -> None:
        """Open what earlier builds kept. `tell` hears where it is damaged or cannot be written: then all is new."""
        self._tell = tell
        self._used: set[bytes] = set()
        try:
            self._connection = _open(path)
        except (sqlite3.Error, OSError) as error:
            self._begin_anew(path, error)

    @classmethod
    @contextmanager
    def of_catalog(cls, workspace: Path, catalog: str, tell: Callable[[str], object]) -> Iterator["Memo"]:
        """Yield the results of a catalog, whose lock the caller holds, and keep those that were used at the end."""
        memo = cls(workspace / FOLDER / f"{catalog}.db", tell)
        try:
            yield memo
            memo._forget_unused()
        finally:
            memo._connection.close()

    def results(
        self, name: str, keys: Sequence[bytes], kind: Any, compute: Callable[[Sequence[int]], Sequence[T]]
    ) -> list[T]:
        """Return the result of the function `name` for each key, which is a digest of all that it depends on.

        `compute` is given the places of the keys that have none yet, and returns their results, which msgspec
        decodes as `kind`. None is not kept. `name` has at most 16 characters.
        """
        decode = msgspec.msgpack.Decoder(kind).decode
        code, function = _code(), name.encode()
        full_keys = [blake2b(key, digest_size=16, key=code, person=function).digest() for key in keys]
        self._used.update(full_keys)
        found: list[Any] = [None if stored is None else decode(stored) for stored in self._stored(full_keys)]
        if missing := [place for place, one in enumerate(found) if one is None]:
            new = compute(missing)
            for place, result in zip(missing, new, strict=True):
                found[place] = result
            self._put([full_keys[place] for place in missing], list(map(_packed, new)))
        return found

    def _stored(self, keys: Sequence[bytes]) -> list[bytes | None]:
        try:
            whole: dict[bytes, bytes] = {}
            in_order = sorted(keys)  # as the index has them: its pages are read once
            for first in range(0, len(keys), _KEYS):
                part = in_order[first : first + _KEYS]
                query = f"SELECT key, value FROM results WHERE key IN ({','.join('?' * len(part))})"
                for key, value in self._connection.execute(query, part):
                    if zlib.crc32(value[_CRC:], zlib.crc32(key)) == int.from_bytes(value[:_CRC]):
                        whole[key] = value[_CRC:]
            return list(map(whole.get, keys))
        except sqlite3.Error as error:
            self._begin_anew(None, error)
            return [None] * len(keys)

    def _put(self, keys: Sequence[bytes], values: Sequence[bytes | None]) -> None:
        checked = (
            (key, zlib.crc32(value, zlib.crc32(key)).to_bytes(_CRC) + value)
            for key, value in zip(keys, values, strict=True)
            if value is not None
        )
        try:
            with self._connection:
                self._connection.executemany("INSERT OR REPLACE INTO results VALUES (?, ?)", checked)
        except sqlite3.Error as error:
            self._begin_anew(None, error)

    def _forget_unused(self) -> None:
        """Remove the results that this build did not use, once they are as many as those that it did."""
        try:
            ((count,),) = self._connection.execute("SELECT count(*) FROM results").fetchall()
            if count > 2 * len(self._used):
                kept = [(key,) for key in self._used]
                with self._connection:
                    self._connection.execute("CREATE TEMP TABLE used (key BLOB PRIMARY KEY)")
                    self._connection.executemany("INSERT INTO used VALUES (?)", kept)
                    self._connection.execute("DELETE FROM results WHERE key NOT IN (SELECT key FROM used)")
                self._connection.execute("VACUUM")
        except sqlite3.Error as error:
            self._begin_anew(None, error)

    def _begin_anew(self, path: Path | None, error: Exception) -> None:
        """Go on without what is kept: in a new file where the old one could not be opened, else in memory."""
        self._tell(f"what earlier builds computed cannot be used, and is computed anew: {error}")
        try:
            if path is not None:
                path.unlink(missing_ok=True)
            self._connection = _open(path)
        except (sqlite3.Error, OSError):
            self._connection = _open(None)


def _packed(value: Any) -> bytes | None:
    """Return a value as msgpack; None for lone surrogates and integers beyond 64 bits, which it cannot express."""
    try:
        return msgspec.msgpack.encode(value)
    except (UnicodeEncodeError, OverflowError):
        return None


def _open(path: Path | None) -> sqlite3.Connection:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
    # Stages may run in other threads, one at a time.
    connection = sqlite3.connect(path or ":memory:", check_same_thread=False)
    connection.execute("CREATE TABLE IF NOT EXISTS results (key BLOB PRIMARY KEY, value BLOB)")
    return connection


@cache
def _code() -> bytes:
    """Return a digest of all that functions of tools are made of: the code of both packages, and libraries."""
    made_of = blake2b(sys.version.encode(), digest_size=16)
    for library in _LIBRARIES:
        made_of.update(metadata.version(library).encode())
    for package in (Path(router.__file__).parent, Path(__file__).parent):
        for path in sorted(package.rglob("*")):
            if "__pycache__" not in path.parts and path.is_file() and path.stat().st_size < _LARGEST_CODE:
                made_of.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes())
    return made_of.digest()
