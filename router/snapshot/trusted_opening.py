"""Open a snapshot whose signature is checked before anything else of it is read."""

from pathlib import Path

from router.contract import CATALOG_DB, Manifest
from router.signing.statement import Statement
from router.snapshot.snapshot import Snapshot
from router.snapshot.trust import Trust


def open_trusted(folder: Path, trust: Trust, before: Snapshot | None = None) -> Snapshot:
    """Open a snapshot that is to serve. `before` is as in `Snapshot.open`.

    Raises SnapshotUntrusted where it is not signed, or older than what served, and SnapshotInvalid as `Snapshot.open`.
    """
    found: list[Statement] = []

    def inspect(folder: Path, data: bytes, manifest: Manifest) -> None:
        statement = trust.statement(folder, data, manifest)
        trust.require_newest(folder, statement)
        found.append(statement)

    opened = Snapshot.open(folder, whole=_has_database(folder), before=before, inspect=inspect)
    trust.remember(folder, found[0])  # last: a snapshot that does not open has not served
    return opened


def open_signed(folder: Path, trust: Trust) -> Snapshot:
    """Open a signed snapshot to look at it, however old. Raises as `open_trusted` does."""
    return Snapshot.open(folder, whole=_has_database(folder), inspect=trust.statement)


def _has_database(folder: Path) -> bool:
    """Return whether the folder has `catalog.duckdb` whole, which no router needs and people read."""
    return (folder / CATALOG_DB).is_file()
