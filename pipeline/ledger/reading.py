"""Read a ledger at any time: the file itself, or the newest copy of it while somebody writes."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from pipeline.errors import RunAborted
from pipeline.ledger.backups import newest_copy
from pipeline.ledger.lock import Holder, is_locked, lock_holder
from pipeline.ledger.maintenance import existing
from pipeline.ledger.opening import LedgerDamaged, connect_to_read


@dataclass(frozen=True)
class ReadableLedger:
    """An open file that cannot be written: the ledger, or a copy made at `made_at` (UTC) where `holder` writes it."""

    connection: "duckdb.DuckDBPyConnection"
    file: Path
    made_at: datetime
    holder: Holder | None

    @property
    def note(self) -> str | None:
        """Return which copy is read, and why; None where it is the ledger itself."""
        if self.holder is None:
            return None
        return f"the ledger is held by {self.holder}: this is the copy of {self.made_at:%Y-%m-%d %H:%M:%S} UTC"


def open_to_read(workspace: Path) -> ReadableLedger:
    """Open the ledger of a workspace, or its newest copy while a build writes.

    Raises RunAborted where there is none, where it is damaged, and where it is in use and no copy was made.
    """
    path = existing(workspace)
    holder = lock_holder(workspace) if is_locked(workspace) else None
    file = path
    if holder is not None:
        copy = newest_copy(workspace)
        if copy is None:
            raise RunAborted(
                f"the ledger {path} is held by {holder}, and no copy of it was made: ask when it has ended"
            )
        file = copy
    try:
        connection = connect_to_read(file)
    except LedgerDamaged as error:
        raise RunAborted(f"the ledger {file} is damaged: {error}. `quartermaster ledger restore` mends it") from error
    made_at = datetime.fromtimestamp(file.stat().st_mtime, UTC)
    return ReadableLedger(connection, file, made_at, holder)
