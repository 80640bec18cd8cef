"""The `catalog.duckdb` of a catalog's snapshots: that which serves is whole, the others are deltas against a newer one.

At every moment a snapshot has the file, or a delta of it, or both. A delta's base is the snapshot that served when the
delta was written. That one becomes a delta later, against a newer one still: a chain, as long as the retention. Only
`store_as_deltas` removes files, and one build runs at a time; any process may restore, which only adds the whole file.
"""

import hashlib
import logging
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

from pipeline.store.deltas.delta_file import write_delta
from pipeline.store.deltas.reading import DELTA, base_of, read_database, read_delta, sha256_of
from router.contract import CATALOG_DB, MANIFEST, Manifest
from router.errors import SnapshotInvalid
from router.snapshot.snapshot import Snapshot
from router.snapshot.store.durable import read_mode, sync

LEAST_SIZE = 16_000_000  # bytes: a smaller database stays whole, for any DuckDB client to open
_UNFINISHED = f".{CATALOG_DB}-"
_HOUR_S = 3600

_logger = logging.getLogger(__name__)


def database_file(folder: Path) -> Path:
    """Return the path of a snapshot's `catalog.duckdb`, restored where it is stored as a delta.

    The path may lead to no file where there is no delta either. Raises SnapshotInvalid where it cannot be restored.
    """
    whole = folder / CATALOG_DB
    if whole.is_file() or not (folder / DELTA).is_file():
        return whole
    try:
        _restore(folder)
    except OSError as error:
        raise SnapshotInvalid(
            f"{whole} is stored as a delta, and cannot be restored: {error}. Run "
            f"`quartermaster inspect --snapshot {folder}` once as a user who may write there"
        ) from error
    return whole


def restore_serving(folder: Path) -> None:
    """Restore the database of a snapshot that serves from now on. A failure is logged: no router reads the file."""
    try:
        database_file(folder)
    except SnapshotInvalid as error:
        _logger.warning("%s", error)


def database_sha256(folder: Path) -> str:
    """Return the sha256 of a snapshot's `catalog.duckdb`, and write nothing. Raises OSError or SnapshotInvalid."""
    return sha256_of(read_database(folder))


def store_as_deltas(catalog: Path, current: str) -> list[str]:
    """Store the databases of a catalog's snapshots as deltas against that of the current one.

    Returns a sentence for each that could not be: its file stays whole. Readers that have a file open keep it.
    """
    base = catalog / current / CATALOG_DB
    if not base.is_file():
        return []  # it could not be restored after a rollback, for want of space perhaps
    folders = _snapshots(catalog)
    for folder in folders:
        _remove_unfinished(folder)
        # Restored, or left by a kill. Were the delta kept, its base could in turn become a delta against this snapshot,
        # and neither could be restored.
        if (folder / CATALOG_DB).is_file():
            (folder / DELTA).unlink(missing_ok=True)
    problems = []
    for folder in folders:
        whole = folder / CATALOG_DB
        if folder.name == current or not whole.is_file() or whole.stat().st_size < LEAST_SIZE:
            continue
        try:
            _store_as_delta(folder, base)
        except (OSError, sqlite3.Error, SnapshotInvalid) as error:
            problems.append(f"{whole} stays whole, because its delta could not be written: {error}")
    return problems


def restore_dependents(catalog: Path, removed: Collection[str]) -> None:
    """Restore the databases that are deltas against snapshots that are about to be removed.

    Raises OSError. There is seldom one: the oldest go first, and deltas are of older snapshots. One that is corrupt, as
    `snapshots --verify` tells, is lost with its base or without.
    """
    for folder in _snapshots(catalog):
        if folder.name not in removed and not (folder / CATALOG_DB).is_file() and base_of(folder) in removed:
            with suppress(SnapshotInvalid):
                _restore(folder)


def _store_as_delta(folder: Path, base: Path) -> None:
    """Write the delta, see that it restores the file, and remove the file."""
    unfinished = _new_file(folder)
    try:
        write_delta(folder / CATALOG_DB, base, unfinished)
        _check(folder, sha256_of(read_delta(unfinished)))
        _move(unfinished, folder / DELTA)
    finally:
        unfinished.unlink(missing_ok=True)
    (folder / CATALOG_DB).unlink()


def _restore(folder: Path) -> None:
    """Write the whole file beside its delta."""
    unfinished = _new_file(folder)
    try:
        digest = hashlib.sha256()
        with unfinished.open("wb") as stream:
            for piece in read_database(folder):
                digest.update(piece)
                stream.write(piece)
        _check(folder, digest.hexdigest())
        _move(unfinished, folder / CATALOG_DB)
    finally:
        unfinished.unlink(missing_ok=True)


def _check(folder: Path, digest: str) -> None:
    if digest != Manifest.read(folder).files.get(CATALOG_DB):
        raise SnapshotInvalid(f"the {CATALOG_DB} of {folder} is corrupt: its checksum is not the one in the manifest")


def _snapshots(catalog: Path) -> list[Path]:
    return sorted(manifest.parent for manifest in catalog.glob(f"[!.]*/{MANIFEST}"))


def _new_file(folder: Path) -> Path:
    descriptor, name = tempfile.mkstemp(prefix=_UNFINISHED, dir=folder)
    os.close(descriptor)
    return Path(name)


def _move(unfinished: Path, target: Path) -> None:
    """Move a file to its place. It is on disk when this returns, and has the mode of the snapshot's other files."""
    unfinished.chmod(read_mode(target.parent))
    sync(unfinished)
    unfinished.replace(target)
    sync(target.parent)


def _remove_unfinished(folder: Path) -> None:
    """Remove what killed processes left, but not what one is writing now."""
    for path in folder.glob(f"{_UNFINISHED}*"):
        with suppress(FileNotFoundError):
            if abs(time.time() - path.stat().st_mtime) > _HOUR_S:
                path.unlink()


Inspect = Callable[[Path, bytes, Manifest], object]


def open_whole(folder: Path, inspect: Inspect | None = None) -> Snapshot:
    """Open a snapshot's folder and verify every checksum; `inspect` as in `Snapshot.open`. Raises SnapshotInvalid."""
    if (folder / CATALOG_DB).is_file():
        return Snapshot.open(folder, whole=True, inspect=inspect)
    snapshot = Snapshot.open(folder, inspect=inspect)
    verify_database(folder, snapshot.manifest)
    return snapshot


def verify_database(folder: Path, manifest: Manifest) -> None:
    """Compare `catalog.duckdb`, or what its delta restores, with its checksum. Raises SnapshotInvalid."""
    path = folder / CATALOG_DB
    if CATALOG_DB not in manifest.files:
        raise SnapshotInvalid(f"{folder} does not list {CATALOG_DB}, which `quartermaster inspect` needs")
    try:
        actual = database_sha256(folder)
    except OSError as error:
        raise SnapshotInvalid(f"{path} cannot be read: {error}") from error
    if actual != manifest.files[CATALOG_DB]:
        raise SnapshotInvalid(f"{path} is corrupt: its checksum is not the one in the manifest; roll back or rebuild")
