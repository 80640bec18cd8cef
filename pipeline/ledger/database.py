"""The database of a ledger: opened, read and written through Arrow, copied whole, with DuckDB's errors explained."""

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from pipeline.errors import QuartermasterError, RunAborted, SettingsInvalid
from router.snapshot.store.durable import sync

Parameters = Sequence[Any] | Mapping[str, Any]

# Nothing is fetched at run time, and SQL never picks up a Python variable by accident. By default DuckDB keeps what it
# reads in up to 80 % of the machine's memory; what does not fit is read again, or spilled.
CONNECTION: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "memory_limit": "2GB",
}
_OWNER = 0o600
GIVEN = "(SELECT unnest($given::VARCHAR[]))"  # for IN: texts that a statement gets as a parameter
# DuckDB's words where another process has the file open, and where this one has it open in another way.
_HELD = re.compile(r"Conflicting lock is held in (?P<program>.+?) \(PID (?P<pid>\d+)\)")
_HELD_HERE = ("different configuration than existing connections", "already attached", "Unique file handle conflict")
# Errors that say nothing about the file itself: words of the system or of DuckDB, in lower case, and what to say.
_CAUSES: tuple[tuple[str, type[QuartermasterError], str], ...] = (
    (
        "no space left|file too large|quota exceeded|not enough space",
        RunAborted,
        "the workspace {path.parent} cannot be written, because the disk is full or files are limited: {message}. "
        "Make room and build again; what was stored before is kept",
    ),
    (
        "trying to read a database file with version number|storage version",
        RunAborted,
        "the ledger {path} was written by a newer DuckDB: {message}. Install that version, or restore a backup with "
        "`quartermaster ledger restore`",
    ),
    (
        "out of memory|failed to allocate|could not allocate",
        RunAborted,
        "the memory does not suffice to open the ledger {path}: {message}",
    ),
    (
        "permission denied|read-only file system",
        SettingsInvalid,
        "the ledger {path} cannot be written ({message}): give this user the right to, or choose another --workspace",
    ),
)


class LedgerDamaged(RunAborted):
    """The file is no longer a whole ledger. `reason` says why, in DuckDB's words."""

    def __init__(self, path: Path, reason: str) -> None:
        self.reason = reason.rstrip(".!")
        super().__init__(
            f"the ledger {path} is damaged: {self.reason}. The next build restores it from its last backup, or "
            "`quartermaster ledger restore` does; `quartermaster ledger check` says whether it is whole"
        )


class LedgerInUse(RunAborted):
    """Another process has the ledger. `holder` says which, as far as that is known."""

    def __init__(self, path: Path, holder: str) -> None:
        super().__init__(f"the ledger {path} is in use by {holder}: wait for it to end, or give --wait SECONDS")
        self.holder = holder


def explained(error: Exception, path: Path) -> QuartermasterError:
    """Return an error of DuckDB about a ledger as one of ours: who holds it, the disk, the memory, or the file."""
    if found := _HELD.search(str(error)):
        return LedgerInUse(path, f"another program ({Path(found['program']).name}, pid {found['pid']})")
    if any(mark in str(error) for mark in _HELD_HERE):
        return LedgerInUse(path, "another connection of this process")
    message = " ".join(str(error).partition("\n\n")[0].split())
    words = message.lower()
    if "could not set lock" in words:  # the word "lock" is in "block" and in many a path
        return LedgerInUse(path, "another program")
    for marks, kind, sentence in _CAUSES:
        if re.search(marks, words):
            return kind(sentence.format(path=path, message=message))
    return LedgerDamaged(path, message)


class Database:
    """A connection to a ledger. Each statement is committed by itself, except those of a `transaction`."""

    # Types of DuckDB are quoted in annotations: a flow outlives its modules in Prefect's threads, and DuckDB reports
    # each of its types that is still held at exit, on the terminal.

    def __init__(self, connection: "duckdb.DuckDBPyConnection", path: Path) -> None:
        self.connection = connection
        self.path = path

    def execute(self, statement: str, parameters: Parameters = ()) -> None:
        """Run a statement that returns nothing."""
        self.connection.execute(statement, parameters)

    def rows(self, statement: str, parameters: Parameters = ()) -> list[tuple[Any, ...]]:
        """Return all rows: a result that is not at its end keeps the connection from any other work."""
        return self.connection.execute(statement, parameters).fetchall()

    def table(self, statement: str, parameters: Parameters = ()) -> pa.Table:
        """Return a result as an Arrow table."""
        return self.connection.sql(statement, params=parameters).to_arrow_table()

    def insert(
        self, table: str, rows: Sequence[Mapping[str, Any]] | pa.Table, key: Sequence[str] = (), **same: Any
    ) -> None:
        """Insert rows by column name, through Arrow: 100,000 vectors take 1.2 s, row by row 440 s.

        Columns in `same` have one value in all rows. With a `key` of columns, rows are left out whose key is stored
        already or comes twice.
        """
        if not len(rows):
            return
        constants = "".join(f", ${name} AS {name}" for name in same)
        columns = ", ".join(key)
        distinct, missing = (f"DISTINCT ON ({columns})", f"ANTI JOIN {table} USING ({columns})") if key else ("", "")
        with self.named(rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(rows)) as name:
            new = f"SELECT {distinct} * FROM (SELECT *{constants} FROM {name}) {missing}"
            self.execute(f"INSERT INTO {table} BY NAME {new}", same)
        keep_private(self.path)

    @contextmanager
    def named(self, table: pa.Table) -> Iterator[str]:
        """Yield the name under which SQL can read an Arrow table inside the `with` block."""
        self.connection.register("arrow_rows", table)
        try:
            yield "arrow_rows"
        finally:
            with suppress(duckdb.TransactionException):  # one that failed forgets the name, and its own error counts
                self.connection.unregister("arrow_rows")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit what the block does, or none of it."""
        self.execute("BEGIN")
        try:
            yield
        except BaseException:
            self.execute("ROLLBACK")
            raise
        self.execute("COMMIT")
        keep_private(self.path)


def connect(path: Path) -> "duckdb.DuckDBPyConnection":
    """Return a connection that writes to a ledger, whose file is made where it is missing.

    Raises LedgerInUse where another process has it open, RunAborted where disk or memory do not suffice,
    SettingsInvalid where the file may not be written, LedgerDamaged where it is damaged.
    """
    if path.is_dir():
        raise SettingsInvalid(f"the ledger {path} is a folder: move it away, or choose another --workspace")
    try:
        connection = duckdb.connect(str(path), config=CONNECTION)
    except duckdb.Error as error:
        raise explained(error, path) from error
    keep_private(path)
    return _whole(connection, path)


def connect_to_read(path: Path) -> "duckdb.DuckDBPyConnection":
    """Return a connection that only reads a ledger or a backup. Raises LedgerInUse, RunAborted or LedgerDamaged."""
    connection = duckdb.connect(config=CONNECTION)  # in memory: it may write beside the ledger, a copy for example
    try:
        connection.execute(f"ATTACH {quoted(str(path))} AS ledger (READ_ONLY); USE ledger")
    except duckdb.Error as error:
        connection.close()
        raise explained(error, path) from error
    return _whole(connection, path)


def _whole(connection: "duckdb.DuckDBPyConnection", path: Path) -> "duckdb.DuckDBPyConnection":
    """Return a connection whose file can be read whole; else close it, and raise LedgerDamaged.

    DuckDB reads blocks when they are asked for: a truncated file opens, and fails in the middle of a build. Reading
    all takes half a second for 100,000 vectors.
    """
    try:
        contents(connection)
    except duckdb.Error as error:
        connection.close()
        raise explained(error, path) from error
    return connection


def contents(connection: "duckdb.DuckDBPyConnection") -> dict[str, tuple[int, int | None]]:
    """Return for each table how many rows it has, and a hash of them in whatever order they are."""
    names = connection.execute(
        "SELECT table_name FROM duckdb_tables() WHERE NOT internal AND database_name = current_database() ORDER BY ALL"
    ).fetchall()
    hashed = 'SELECT count(*), bit_xor(hash(t)) FROM "{}" t'  # a mere count may read no value
    return {name: connection.execute(hashed.format(name)).fetchall()[0] for (name,) in names}


def copy_database(connection: "duckdb.DuckDBPyConnection", target: Path) -> None:
    """Copy the database of a connection to a file: whole, or not at all. Raises OSError or duckdb.Error.

    DuckDB copies, not the file system: POSIX drops all locks of a process on a file once it closes any descriptor of
    that file, so another program could then write into the ledger.
    """
    unfinished = target.with_name(f"{target.name}.unfinished")
    ((own, path),) = connection.execute(
        "SELECT database_name, path FROM duckdb_databases() WHERE database_name = current_database()"
    ).fetchall()
    # A disk that fills up while DuckDB writes would make it refuse the ledger too.
    needed, free = 2 * Path(path).stat().st_size, shutil.disk_usage(target.parent).free
    if free < needed:
        raise OSError(f"{target.parent} has {free / 1e6:,.0f} MB free, and a copy may need {needed / 1e6:,.0f}")
    _remove(unfinished)  # of a process that was killed
    try:
        connection.execute(f"ATTACH {quoted(str(unfinished))} AS copied")
        try:
            keep_private(unfinished)
            connection.execute(f'COPY FROM DATABASE "{own}" TO copied')
            connection.execute("CHECKPOINT copied")  # DETACH says nothing where the disk is full
        finally:
            connection.execute("DETACH copied")
        sync(unfinished)
        unfinished.replace(target)
        sync(target.parent)
    finally:
        _remove(unfinished)


def _remove(path: Path) -> None:
    for file in (path, log_of(path)):
        file.unlink(missing_ok=True)


def log_of(path: Path) -> Path:
    """Return DuckDB's write-ahead log of a file: what was committed and is not in the file yet."""
    return path.with_name(path.name + ".wal")


def keep_private(path: Path) -> None:
    """Let only its owner read and write a ledger, or a copy of one, and its log: it holds whole records and prompts.

    DuckDB makes its files as the umask says, and the log anew after each checkpoint. What is stricter stays.
    """
    for file in (path, log_of(path)):
        with suppress(FileNotFoundError, PermissionError):  # another user's stays as it is
            if (mode := file.stat().st_mode & 0o777) & ~_OWNER:
                file.chmod(mode & _OWNER)


def quoted(text: str) -> str:
    """Return a text as a literal of SQL."""
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


def utc_now() -> datetime:
    """Return the time in UTC, without a time zone: DuckDB reads TIMESTAMPTZ only where pytz is installed."""
    return datetime.now(UTC).replace(tzinfo=None)
