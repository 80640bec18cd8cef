"""Open a snapshot with its `catalog.duckdb` verified, which may be stored as a delta."""

from collections.abc import Callable
from pathlib import Path

from pipeline.store.deltas.databases import database_sha256
from router.contract import CATALOG_DB, Manifest
from router.errors import SnapshotInvalid
from router.snapshot.snapshot import Snapshot

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
