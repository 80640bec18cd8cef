"""The ledger's file, open and locked, and Arrow tables in and out."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import duckdb
import pyarrow as pa

from pipeline.ledger.backups import AutomaticCopies, copy_before_migration
from pipeline.ledger.lock import Waiting, WorkspaceLock
from pipeline.ledger.opening import LEDGER_FILE, as_ours
from pipeline.ledger.recovery import Recovery, open_or_recover
from pipeline.ledger.schema import quoted, update_tables
from pipeline.settings import LedgerSettings


class LedgerFile:
    """The open and locked file. `recovery` says what was done to have it."""

    # Types of DuckDB are quoted in annotations: a flow outlives its modules in Prefect's threads, and DuckDB reports
    # each of its types that is still held at exit, on the terminal.

    def __init__(
        self, connection: "duckdb.DuckDBPyConnection", lock: WorkspaceLock, path: Path, recovery: Recovery
    ) -> None:
        """Internal: use `open`."""
        self.path = path
        self.recovery = recovery
        self._connection = connection
        self._lock = lock
        self._copies: AutomaticCopies | None = None

    @classmethod
    def open(
        cls, workspace: Path, wait_s: float = 0.0, *, task: str = "build", tell: Callable[[str], None] = lambda _: None
    ) -> Self:
        """Open or create the ledger of a workspace; wait up to `wait_s` seconds for whoever holds it.

        A ledger that is missing or damaged is restored from its copies and the snapshots; one of an earlier version is
        copied and brought up to date. `task` names the caller to those who wait; `tell` hears once who is waited for,
        and what was restored. Raises SettingsInvalid where the workspace cannot be written, RunAborted where the ledger
        stays in use, is of a newer version, or is damaged and there is nothing to restore it from.
        """
        workspace = Path(workspace)
        path, waiting = workspace / LEDGER_FILE, Waiting(wait_s, tell)
        lock = WorkspaceLock.acquire(workspace, task, waiting)
        try:
            connection, recovery = open_or_recover(workspace, waiting)
        except BaseException as error:
            lock.release()
            raise as_ours(error, path) from error
        try:
            update_tables(connection, path, lambda number: copy_before_migration(connection, path, number))
        except BaseException as error:
            connection.close()
            lock.release()
            raise as_ours(error, path) from error
        for note in recovery.notes:
            tell(note)
        return cls(connection, lock, path, recovery)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()
        self._lock.release()

    def keep_copies(self, settings: LedgerSettings, catalog: str, run: int, tell: Callable[[str], None]) -> None:
        """Copy the ledger before `run` stores anything, and again while it does; name the run in the lock file."""
        self._lock.name_run(catalog, run)
        self._copies = AutomaticCopies(self.path, settings, run, tell)
        self._copies.make_first(self._connection)

    def spill_into(self, folder: Path) -> None:
        """Let DuckDB put what does not fit into its memory into `folder`, which it makes when it needs it."""
        self._connection.execute(f"SET temp_directory = {quoted(str(folder))}")

    @property
    def problems(self) -> tuple[str, ...]:
        """Return what the build went without: what was lost of the ledger, and copies that could not be made."""
        return (*self.recovery.losses, *(self._copies.problems if self._copies else ()))

    def _stored(self) -> None:
        """Copy the ledger again if a copy is due, after something was stored that cost money or time."""
        if self._copies is not None:
            self._copies.make_if_due(self._connection)

    def _insert(self, table: str, columns: Mapping[str, Any], unless: str | None = None) -> None:
        """Insert rows by column name, through Arrow: 100,000 vectors take 1.2 s, row by row 440 s.

        `unless` is a condition on a stored row `t` and a new row `n`: new rows that it holds for are left out.
        """
        rows = pa.table(dict(columns))
        if not len(rows):
            return
        missing = f"WHERE NOT EXISTS (SELECT 1 FROM {table} t WHERE {unless})" if unless else ""
        with arrow_table_name(self._connection, rows) as name:
            self._connection.execute(f"INSERT INTO {table} BY NAME SELECT * FROM {name} n {missing}")


@contextmanager
def arrow_table_name(connection: "duckdb.DuckDBPyConnection", table: pa.Table) -> Iterator[str]:
    """Yield the name under which SQL can read an Arrow table inside the `with` block."""
    connection.register("arrow_rows", table)
    try:
        yield "arrow_rows"
    finally:
        connection.unregister("arrow_rows")


def utc_now() -> datetime:
    """Return the time in UTC, without a time zone: DuckDB reads TIMESTAMPTZ only where pytz is installed."""
    return datetime.now(UTC).replace(tzinfo=None)
