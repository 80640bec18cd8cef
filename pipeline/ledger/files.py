"""Open a ledger's file, copy it whole, or say in a sentence why that cannot be done."""

import shutil
from contextlib import suppress
from pathlib import Path

import duckdb

from pipeline.errors import QuartermasterError, RunAborted, SettingsInvalid
from pipeline.ledger.lock import in_use
from router.snapshot.store.durable import sync

# Nothing is fetched at run time, and SQL never picks up a Python variable by accident. By default DuckDB keeps what it
# reads in up to 80 % of the machine's memory; what does not fit is read again, or spilled.
CONNECTION: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "memory_limit": "2GB",
}
# Errors that say nothing about the file itself: words of the system or of DuckDB, in lower case.
_FULL = ("no space left", "file too large", "quota exceeded", "not enough space")
_NEWER = ("trying to read a database file with version number", "storage version")
_MEMORY = ("out of memory", "failed to allocate", "could not allocate")
_OWNER = 0o600


class LedgerDamaged(RunAborted):
    """The file is no longer a whole ledger. `reason` says why, in DuckDB's words."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"the ledger {path} is damaged: {reason.rstrip('.!')}. The next build restores it from its last backup, or "
            "`quartermaster ledger restore` does; `quartermaster ledger check` tells whether it is whole"
        )
        self.reason = reason.rstrip(".!")


def log_of(path: Path) -> Path:
    """Return DuckDB's write-ahead log of a file: what was committed and is not in the file yet."""
    return path.with_name(path.name + ".wal")


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
        raise in_use(path, error) or explained(error, path) from error
    keep_private(path)
    return _whole(connection, path)


def connect_to_read(path: Path) -> "duckdb.DuckDBPyConnection":
    """Return a connection that only reads a ledger or a backup. Raises LedgerInUse, RunAborted or LedgerDamaged."""
    connection = duckdb.connect(config=CONNECTION)  # in memory: it may write beside the ledger, a copy for example
    try:
        connection.execute(f"ATTACH {quoted(str(path))} AS ledger (READ_ONLY); USE ledger")
    except duckdb.Error as error:
        connection.close()
        raise in_use(path, error) or explained(error, path) from error
    return _whole(connection, path)


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
    remove(unfinished)  # of a process that was killed
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
        remove(unfinished)


def row_counts(connection: "duckdb.DuckDBPyConnection") -> dict[str, int]:
    """Return how many rows each table has, by name."""
    names = connection.execute(
        "SELECT table_name FROM duckdb_tables() WHERE NOT internal AND database_name = current_database() ORDER BY ALL"
    ).fetchall()
    counts = " UNION ALL ".join(f"SELECT '{name}', count(*) FROM \"{name}\"" for (name,) in names)
    return dict(connection.execute(counts).fetchall()) if names else {}


def remove(path: Path) -> None:
    """Remove a database and its log, where they are there."""
    for file in (path, log_of(path)):
        file.unlink(missing_ok=True)


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


def explained(error: Exception, path: Path) -> QuartermasterError:
    """Return an error of DuckDB about a ledger as one of ours: of the disk, the memory, the version, or the file."""
    message = " ".join(str(error).partition("\n\n")[0].split())
    words = message.lower()
    if any(mark in words for mark in _FULL):
        return RunAborted(
            f"the workspace {path.parent} cannot be written, because the disk is full or files are limited: {message}. "
            "Make room and build again; what was stored before is kept"
        )
    if any(mark in words for mark in _NEWER):
        return RunAborted(
            f"the ledger {path} was written by a newer DuckDB: {message}. Install that version, or restore a backup "
            "with `quartermaster ledger restore`"
        )
    if any(mark in words for mark in _MEMORY):
        return RunAborted(f"the memory does not suffice to open the ledger {path}: {message}")
    if "permission denied" in words or "read-only file system" in words:
        return SettingsInvalid(
            f"the ledger {path} cannot be written ({message}): give this user the right to, or choose another "
            "--workspace"
        )
    return LedgerDamaged(path, message)


def as_ours(error: BaseException, path: Path) -> BaseException:
    """Return an error of DuckDB or the system, met on the way to an open ledger, as a sentence; others as they are."""
    if not isinstance(error, duckdb.Error | OSError):
        return error
    ours = explained(error, path)
    if isinstance(ours, LedgerDamaged):
        return RunAborted(f"the ledger {path} cannot be opened: {ours.reason}")
    return ours


def _whole(connection: "duckdb.DuckDBPyConnection", path: Path) -> "duckdb.DuckDBPyConnection":
    """Return a connection whose file can be read whole; else close it, and raise LedgerDamaged.

    DuckDB reads blocks when they are asked for: a truncated file opens, and fails in the middle of a build. Reading
    all takes half a second for 100,000 vectors.
    """
    try:
        tables = connection.execute(
            "SELECT table_name FROM duckdb_tables() WHERE NOT internal AND database_name = current_database()"
        ).fetchall()
        for (table,) in tables:  # no count: DuckDB may answer it without reading a value
            connection.execute(f'SELECT bit_xor(hash(t)) FROM "{table}" t').fetchall()
    except BaseException as error:
        connection.close()
        raise (explained(error, path) if isinstance(error, duckdb.Error) else error) from error
    return connection
