"""Read a snapshot's `catalog.duckdb`, whole or as a delta against that of another snapshot."""

import hashlib
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

from pipeline.store.deltas.delta_file import DeltaFile, Source, WholeFile
from router.contract import CATALOG_DB, MANIFEST
from router.errors import SnapshotInvalid

DELTA = f"{CATALOG_DB}.delta"
_PIECE = 1 << 20  # bytes read at once
_TRIES = 3  # a build may replace a file by its delta just before it is opened


def read_database(folder: Path) -> Iterator[bytes]:
    """Return the bytes of a snapshot's database in pieces.

    Raises OSError where there is none, SnapshotInvalid where a delta is corrupt or its base is missing.
    """
    with ExitStack() as stack:
        yield from _translate_errors(_pieces(_open_at_last(folder, stack)), folder / DELTA)


def read_delta(delta: Path) -> Iterator[bytes]:
    """Return the bytes that a delta in its snapshot's folder restores, in pieces. Raises as `read_database`."""
    with ExitStack() as stack:
        yield from _translate_errors(_pieces(_open_delta(delta, stack)), delta)


def sha256_of(pieces: Iterable[bytes]) -> str:
    """Return the sha256 (64 hex digits) of bytes in pieces."""
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


def base_of(folder: Path) -> str:
    """Return the snapshot that a snapshot's delta is against; empty where it has none that can be read."""
    if not (folder / DELTA).is_file():
        return ""
    with suppress(sqlite3.Error), closing(DeltaFile(folder / DELTA)) as delta:
        return delta.base_name
    return ""


def _translate_errors(pieces: Iterator[bytes], delta: Path) -> Iterator[bytes]:
    try:
        yield from pieces
    except (sqlite3.Error, zlib.error, TypeError) as error:  # the latter: a block that is not there
        raise SnapshotInvalid(f"{delta}, or a delta that it builds on, is corrupt: {error}") from error


def _pieces(source: Source) -> Iterator[bytes]:
    start = 0
    while piece := source.read(start, _PIECE):
        yield piece
        start += len(piece)


def _open_at_last(folder: Path, stack: ExitStack) -> Source:
    for _ in range(_TRIES - 1):
        with suppress(FileNotFoundError):
            return _open(folder, stack)
    return _open(folder, stack)


def _open(folder: Path, stack: ExitStack, above: tuple[str, ...] = ()) -> Source:
    """Open a snapshot's database; `above` are the snapshots whose deltas build on it."""
    try:
        return stack.enter_context(closing(WholeFile(folder / CATALOG_DB)))
    except FileNotFoundError:
        if not (folder / DELTA).is_file():
            raise
        return _open_delta(folder / DELTA, stack, above)


def _open_delta(delta: Path, stack: ExitStack, above: tuple[str, ...] = ()) -> Source:
    try:
        source = stack.enter_context(closing(DeltaFile(delta)))
    except sqlite3.Error as error:
        raise SnapshotInvalid(f"{delta} is corrupt: {error}") from error
    folder, name = delta.parent, source.base_name
    if name != Path(name).name or name in (folder.name, *above) or not (folder.parent / name / MANIFEST).is_file():
        raise SnapshotInvalid(f"{delta} is a delta against the snapshot {name!r}, which {folder.parent} does not have")
    source.base = _open(folder.parent / name, stack, (*above, folder.name))
    return source
