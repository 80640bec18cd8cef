"""Rewrite the ledger without the gaps that updates and deletions left: a DuckDB file never shrinks."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import duckdb

from pipeline.errors import RunAborted
from pipeline.ledger.backups import copy_before_migration
from pipeline.ledger.file_copy import replace_file
from pipeline.ledger.maintenance import Tell, existing, fresh, locked
from pipeline.ledger.opening import LedgerDamaged, connect, connect_to_read, explained, log_of
from pipeline.ledger.rewriting import copy_tables
from pipeline.ledger.schema import update_tables
from pipeline.ledger.stored_snapshots import stored_snapshots, used_texts
from router.snapshot.store.durable import sync


@dataclass(frozen=True, slots=True)
class Compacted:
    """A ledger that was rewritten: its bytes before and after, and how many vectors were left out."""

    ledger: Path
    before: int
    after: int
    vectors: int


def compact(
    workspace: Path, *, drop_vectors: bool = False, wait_s: float = 0.0, tell: Tell = lambda _: None
) -> Compacted:
    """Rewrite the ledger into a new file, which takes its place at once: DuckDB never gives back what it deleted.

    Nothing that was paid for is left out. `drop_vectors` leaves out vectors of texts that no stored snapshot has: they
    are embedded again where they are needed. Raises RunAborted where a build runs or the disk does not suffice.
    """
    path = existing(workspace)
    if drop_vectors and not stored_snapshots(workspace):
        raise RunAborted(f"{workspace} has no snapshot, so nothing tells which vectors are in use: leave out --vectors")
    with locked(workspace, "ledger compact", wait_s, tell) as waiting:
        try:
            connection = connect(path, waiting)
        except LedgerDamaged as error:
            raise RunAborted(f"the ledger {path} is damaged: {error}. Restore it first") from error
        before, unfinished = path.stat().st_size, fresh(workspace)
        try:
            update_tables(connection, path, lambda number: copy_before_migration(connection, path, number))
            if shutil.disk_usage(workspace).free < before:
                raise RunAborted(f"{workspace} has too little room for a second ledger of {before / 1e6:,.0f} MB")
            dropped = copy_tables(connection, unfinished, used_texts(workspace) if drop_vectors else None)
        except duckdb.Error as error:
            raise explained(error, path) from error
        finally:
            connection.close()
        connect_to_read(unfinished).close()
        sync(unfinished)
        replace_file(unfinished, path)
        log_of(path).unlink(missing_ok=True)
        return Compacted(path, before, path.stat().st_size, dropped)
