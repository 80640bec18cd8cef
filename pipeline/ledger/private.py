"""The ledger's files are their owner's alone: they hold whole records, prompts and answers."""

import os
import stat
from contextlib import suppress
from pathlib import Path

import duckdb

_OWNER = stat.S_IRUSR | stat.S_IWUSR


def keep_private(path: Path) -> None:
    """Let only its owner read and write a ledger, or a copy of one, and its log. What is stricter stays.

    DuckDB makes its files as the umask says, and the log anew after each checkpoint.
    """
    for file in (path, path.with_name(path.name + ".wal")):
        with suppress(FileNotFoundError, PermissionError):  # another user's stays as it is
            mode = stat.S_IMODE(file.stat().st_mode)
            if mode & ~_OWNER:
                file.chmod(mode & _OWNER)


def keep_connection_private(connection: "duckdb.DuckDBPyConnection") -> None:
    """Do the same for the file that a connection writes to."""
    rows = connection.execute("SELECT path FROM duckdb_databases() WHERE database_name = current_database()").fetchall()
    for (path,) in rows:
        if path:  # None in memory
            keep_private(Path(path))


def open_private(path: Path) -> int:
    """Return a descriptor of a new or emptied file that only its owner may read and write."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, _OWNER)
    os.fchmod(descriptor, _OWNER)  # it may have been there
    return descriptor
