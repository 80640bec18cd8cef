"""Open the ledger's file, or say in a sentence why it cannot be opened."""

from pathlib import Path

import duckdb

from pipeline.errors import QuartermasterError, RunAborted, SettingsInvalid
from pipeline.ledger.lock import Waiting, in_use, reader_of
from pipeline.ledger.private import keep_private

LEDGER_FILE = "ledger.duckdb"
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


class LedgerDamaged(QuartermasterError):
    """The file is a whole ledger no more. The message is the reason, in DuckDB's words or ours."""


def log_of(path: Path) -> Path:
    """Return DuckDB's write-ahead log of a file: what was committed and is not in the file yet."""
    return path.with_name(path.name + ".wal")


def connect(path: Path, waiting: Waiting | None = None) -> "duckdb.DuckDBPyConnection":
    """Return a connection that writes to a ledger, whose file is made where it is missing.

    Raises RunAborted where another process has it open until the waiting is over, and where disk or memory do not
    suffice; SettingsInvalid where the file may not be written; LedgerDamaged where it is damaged.
    """
    waiting = waiting or Waiting()
    _require_writable(path)
    while True:
        try:
            connection = duckdb.connect(str(path), config=CONNECTION)
            break
        except duckdb.Error as error:
            reader = reader_of(error)
            if reader is None:
                raise explained(error, path) from error
            if not waiting.pause(reader):
                raise in_use(path.parent, "program", reader) from error
    keep_private(path)
    return _whole(connection, path)


def connect_to_read(path: Path) -> "duckdb.DuckDBPyConnection":
    """Return a connection that only reads a ledger or a copy of one. Raises RunAborted or LedgerDamaged."""
    try:
        connection = duckdb.connect(str(path), config=CONNECTION, read_only=True)
    except duckdb.Error as error:
        if reader := reader_of(error):
            raise in_use(path.parent, "build", reader) from error
        raise explained(error, path) from error
    return _whole(connection, path)


def _whole(connection: "duckdb.DuckDBPyConnection", path: Path) -> "duckdb.DuckDBPyConnection":
    """Return a connection whose file can be read whole; close another, and raise as `require_whole`."""
    try:
        require_whole(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


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
            f"the ledger {path} was written by a newer DuckDB: {message}. Install that version, or restore a copy with "
            "`quartermaster ledger restore`"
        )
    if any(mark in words for mark in _MEMORY):
        return RunAborted(f"the memory does not suffice to open the ledger {path}: {message}")
    if "permission denied" in words or "read-only file system" in words:
        return _unwritable(path, message)
    return LedgerDamaged(message)


def as_ours(error: BaseException, path: Path) -> BaseException:
    """Return an error of DuckDB or the system, met on the way to an open ledger, as a sentence; others as they are."""
    if isinstance(error, LedgerDamaged):
        return RunAborted(f"the ledger {path} cannot be opened: {error}")
    if isinstance(error, QuartermasterError) or not isinstance(error, (duckdb.Error, OSError)):
        return error
    ours = explained(error, path)
    if not isinstance(ours, LedgerDamaged):
        return ours
    what = (
        f"the workspace {path.parent} cannot be written" if isinstance(error, OSError) else f"{path} cannot be opened"
    )
    return RunAborted(f"{what}: {ours}")


def require_whole(connection: "duckdb.DuckDBPyConnection", path: Path) -> None:
    """Raise LedgerDamaged where a value cannot be read.

    DuckDB reads blocks when they are asked for: a truncated file opens, and fails in the middle of a build. Its size
    tells nothing, because DuckDB cuts free blocks off. Reading all costs 0.1 s for 100,000 vectors.
    """
    try:
        columns: dict[str, list[str]] = {}
        for table, column, kind in connection.execute(
            "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal "
            "AND database_name = current_database() AND table_name IN "
            "(SELECT table_name FROM duckdb_tables() WHERE NOT internal AND estimated_size > 0)"
        ).fetchall():
            # No count: DuckDB may answer it without reading a value.
            whole = f"sum(array_inner_product({column}, {column}))" if _is_vector(kind) else f"bit_xor(hash({column}))"
            columns.setdefault(table, []).append(whole)
        for table, read in columns.items():  # a statement a table: each costs as much as reading 10,000 values
            connection.execute(f'SELECT {", ".join(read)} FROM "{table}"').fetchall()
    except duckdb.ProgrammingError:
        raise  # a mistake in a statement says nothing about the file
    except duckdb.Error as error:
        raise explained(error, path) from error


def _require_writable(path: Path) -> None:
    """Raise SettingsInvalid where the file is there and cannot be opened for writing. Nothing is written."""
    if path.is_dir():
        raise SettingsInvalid(f"the ledger {path} is a folder: move it away, or choose another --workspace")
    try:
        if path.exists():
            path.open("r+b").close()
    except OSError as error:
        raise _unwritable(path, error.strerror or str(error)) from error


def _is_vector(kind: str) -> bool:
    return kind.startswith("FLOAT[")


def _unwritable(path: Path, reason: str) -> SettingsInvalid:
    return SettingsInvalid(
        f"the ledger {path} cannot be written ({reason}): give this user the right to, or choose another --workspace"
    )
