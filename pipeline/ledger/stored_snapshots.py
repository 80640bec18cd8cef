"""What the snapshots of a workspace say about its ledger: the runs that they know, the texts that they have."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb

from pipeline.ledger.opening import CONNECTION
from pipeline.store.deltas.databases import database_file
from router.contract import MANIFEST
from router.errors import SnapshotInvalid

_VECTORS = ("vectors", "ledger_vectors")


def stored_snapshots(workspace: Path) -> list[Path]:
    """Return the folders of a workspace's snapshots, of all catalogs and areas, newest first."""
    folders = [file.parent for file in workspace.glob(f"*/*/*/{MANIFEST}")]
    return sorted((f for f in folders if not f.name.startswith(".")), key=lambda folder: folder.name, reverse=True)


def known_runs(workspace: Path) -> int:
    """Return the greatest number of a run in the snapshots that can be read; 0 without any."""
    return max((run or 0 for (run,) in _values(workspace, "SELECT max(run_id) FROM builds")), default=0)


def used_texts(workspace: Path) -> set[str]:
    """Return the hashes of the texts whose vectors the snapshots have."""
    return {digest for table in _VECTORS for (digest,) in _values(workspace, f"SELECT DISTINCT text_hash FROM {table}")}


def _values(workspace: Path, statement: str) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a statement in each snapshot; none of one that cannot be read, or lacks the table."""
    for folder in stored_snapshots(workspace):
        try:
            with duckdb.connect(str(database_file(folder)), config=CONNECTION, read_only=True) as connection:
                rows = connection.execute(statement).fetchall()
        except (duckdb.Error, SnapshotInvalid):
            continue
        yield from rows
