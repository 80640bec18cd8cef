"""The ledger's file: opening and locking it, and Arrow tables in and out."""

import fcntl
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import duckdb
import pyarrow as pa

from pipeline.errors import RunAborted, SettingsInvalid
from pipeline.ledger.schema import create_tables

LEDGER_FILE = "ledger.duckdb"
# Nothing is fetched at run time, and SQL never picks up a Python variable by accident.
CONNECTION: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
}


class LedgerFile:
    """The open and locked file."""

    # Types of DuckDB are quoted in annotations: a flow outlives its modules in Prefect's threads, and DuckDB reports
    # each of its types that is still held at exit, on the terminal.

    def __init__(self, connection: "duckdb.DuckDBPyConnection", lock: IO[str]) -> None:
        """Internal: use `open`."""
        self._connection = connection
        self._lock = lock

    @classmethod
    def open(cls, workspace: Path, wait_s: float = 0.0) -> Self:
        """Open or create the ledger of a workspace; wait up to `wait_s` seconds for another build to release it.

        Raises SettingsInvalid where the workspace cannot be written, RunAborted where another build holds the ledger
        or the file is no DuckDB file.
        """
        path = workspace / LEDGER_FILE
        try:
            workspace.mkdir(parents=True, exist_ok=True)
            lock = (workspace / ".lock").open("w", encoding="utf-8")
        except OSError as error:
            raise SettingsInvalid(
                f"the workspace {workspace} cannot be written ({error.strerror}): choose another with --workspace"
            ) from error
        until = time.monotonic() + wait_s
        # DuckDB keeps other processes out, not another build in this one.
        while not _locked(lock):
            if time.monotonic() >= until:
                lock.close()
                raise RunAborted(f"the ledger {path} is in use by another build: wait for it to end")
            time.sleep(0.2)
        try:
            connection = duckdb.connect(str(path), config=CONNECTION)
            create_tables(connection)
        except duckdb.Error as error:
            lock.close()
            if "could not set lock" in str(error).lower():  # "lock" alone is in "block" and in many a path
                raise RunAborted(
                    f"the ledger {path} is in use by another build: wait for it to end. {error}"
                ) from error
            raise RunAborted(f"the ledger {path} cannot be opened: {error}. Move it away to begin a new one") from error
        return cls(connection, lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()
        self._lock.close()

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


def _locked(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


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
