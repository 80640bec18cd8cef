"""Copies of the ledger that builds make by themselves: one before each build, made anew while it stores answers.

They hold no vectors, which are most of a ledger: snapshots have those that serve, and others can be embedded again.
"""

import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

from pipeline.errors import QuartermasterError
from pipeline.ledger.file_copy import replace_file
from pipeline.ledger.opening import connect_to_read, log_of
from pipeline.ledger.rewriting import copy_tables
from pipeline.settings import LedgerSettings
from router.snapshot.store.durable import sync

BACKUPS = "backups"
_NAME = re.compile(r"ledger-(\d{6,})\.duckdb")
_BEFORE_MIGRATION = "ledger-before-migration-{}.duckdb"
_MB = 1_000_000
_MOST_OF_THE_TIME = 20  # a copy that takes a second is made every 20 s at most
# Tables that each run adds to, whatever it finds.
_OF_EACH_RUN = ("runs", "rejections", "notices", "migrations")


def copies(workspace: Path) -> list[Path]:
    """Return the copies that builds made, newest first, then those made before migrations.

    The clock may jump, so the number of the run in the name decides.
    """
    folder = workspace / BACKUPS
    files = sorted(folder.iterdir(), reverse=True) if folder.is_dir() else []
    by_run = [file for file in files if _NAME.fullmatch(file.name)]
    by_run.sort(key=run_of, reverse=True)
    return [*by_run, *(file for file in files if re.fullmatch(_BEFORE_MIGRATION.format(r"\d+"), file.name))]


def run_of(copy: Path) -> int:
    """Return the run that made a copy; 0 for other files."""
    found = _NAME.fullmatch(copy.name)
    return int(found[1]) if found else 0


def newest_copy(workspace: Path) -> Path | None:
    """Return the newest copy that opens; None where there is none."""
    for copy in copies(workspace):
        try:
            connect_to_read(copy).close()
        except (QuartermasterError, duckdb.Error):
            continue
        return copy
    return None


def copy_before_migration(connection: "duckdb.DuckDBPyConnection", path: Path, number: int) -> None:
    """Copy a ledger before its tables are changed. Raises OSError or duckdb.Error.

    The copy is kept until the next migration, whatever the settings say.
    """
    target = path.parent / BACKUPS / _BEFORE_MIGRATION.format(number)
    _copy(connection, path, target)
    for older in target.parent.glob(_BEFORE_MIGRATION.format("*")):
        if older != target:
            older.unlink()


class AutomaticCopies:
    """The copies of one build. What could not be copied is told in `problems`, and stops nothing."""

    def __init__(self, path: Path, settings: LedgerSettings, run: int, tell: Callable[[str], None]) -> None:
        self.problems: list[str] = []
        self._path = path
        self._settings = settings
        self._target = path.parent / BACKUPS / f"ledger-{run:06}.duckdb"
        self._tell = tell
        self._due_at = 0.0

    def make_first(self, connection: "duckdb.DuckDBPyConnection") -> None:
        """Copy the ledger unless the newest copy holds the same, and remove copies beyond those that stay."""
        if self._settings.backups and not self._is_copied(connection):
            self._make(connection)
        self._due_at = time.monotonic() + self._settings.backup_minutes * 60

    def make_if_due(self, connection: "duckdb.DuckDBPyConnection") -> None:
        """Copy the ledger again where the last copy is old enough. Called after something was stored."""
        if not self._settings.backups or not self._settings.backup_minutes or time.monotonic() < self._due_at:
            return
        begun = time.monotonic()
        self._make(connection)
        took = time.monotonic() - begun
        self._due_at = time.monotonic() + max(self._settings.backup_minutes * 60, took * _MOST_OF_THE_TIME)

    def _make(self, connection: "duckdb.DuckDBPyConnection") -> None:
        limit = self._settings.max_backup_mb * _MB
        try:
            size = _size_without_vectors(connection, self._path)
            if size > limit:
                self._fail(
                    f"it has {size / _MB:,.0f} MB without vectors, and ledger.max_backup_mb allows {limit / _MB:,.0f}"
                )
            else:
                _copy(connection, self._path, self._target)
                for old in [copy for copy in copies(self._path.parent) if run_of(copy)][self._settings.backups :]:
                    old.unlink()
        except (OSError, duckdb.Error, QuartermasterError) as error:
            self._fail(" ".join(str(error).split()))

    def _fail(self, reason: str) -> None:
        problem = f"the ledger could not be copied: {reason}"
        if problem not in self.problems:
            self.problems.append(problem)
            self._tell(problem)

    def _is_copied(self, connection: "duckdb.DuckDBPyConnection") -> bool:
        newest = next(iter(copies(self._path.parent)), None)
        if newest is None or not run_of(newest):
            return False
        try:
            with connect_to_read(newest) as copied:
                return stored_rows(copied) == stored_rows(connection)
        except (duckdb.Error, QuartermasterError):
            return False


def stored_rows(connection: "duckdb.DuckDBPyConnection") -> dict[str, int]:
    """Return how many rows each table has that is not empty, but for vectors and those that every run adds to.

    Rows that are changed or replaced do not show in a count: settled batches count apart, and what the sources gave
    stands as a hash.
    """
    tables = connection.execute(
        "SELECT table_name FROM duckdb_tables() WHERE NOT internal AND database_name = current_database() "
        "AND estimated_size > 0 ORDER BY table_name"  # the size counts deleted rows too
    ).fetchall()
    counts = {
        table: int(connection.execute(f'SELECT count(*) FROM "{table}"').fetchall()[0][0])
        for (table,) in tables
        if table not in _OF_EACH_RUN and not table.startswith("vectors_")
    }
    if "batches" in counts:
        counts["settled batches"] = int(connection.execute("SELECT count(outcome) FROM batches").fetchall()[0][0])
    if "source_contents" in counts:
        ((given,),) = connection.execute(
            "SELECT coalesce(bit_xor(hash(content_hash)), 0) FROM source_contents"
        ).fetchall()
        counts["source_contents"] = int(given)
    return {table: count for table, count in counts.items() if count}


def _size_without_vectors(connection: "duckdb.DuckDBPyConnection", path: Path) -> int:
    """Return about how many bytes a ledger has beside its vectors, which are not compressed."""
    vectors = 0
    for (table,) in connection.execute(
        "SELECT table_name FROM duckdb_tables() WHERE starts_with(table_name, 'vectors_')"
    ).fetchall():
        ((rows,),) = connection.execute(f'SELECT count(*) FROM "{table}"').fetchall()
        vectors += rows * int(table.removeprefix("vectors_")) * 4
    return max(0, path.stat().st_size - vectors)


def _copy(connection: "duckdb.DuckDBPyConnection", path: Path, target: Path) -> None:
    """Copy an open ledger without its vectors, and open the copy. Raises OSError, duckdb.Error, QuartermasterError.

    DuckDB copies, not the file system: POSIX drops all locks of a process on a file once it closes any descriptor of
    that file, so another program could then write into the ledger.
    """
    target.parent.mkdir(mode=0o700, exist_ok=True)
    unfinished = target.with_name(f"{target.name}.unfinished")
    try:
        for leftover in (unfinished, log_of(unfinished)):
            leftover.unlink(missing_ok=True)  # of a build that was killed
        # A disk that fills up while DuckDB writes would make it refuse the ledger too.
        needed, free = _size_without_vectors(connection, path), shutil.disk_usage(target.parent).free
        if free < 2 * needed:
            raise OSError(f"{target.parent} has {free / _MB:,.0f} MB free, and it needs up to {2 * needed / _MB:,.0f}")
        copy_tables(connection, unfinished, texts=set())
        connect_to_read(unfinished).close()
        sync(unfinished)
        replace_file(unfinished, target)
    finally:
        for leftover in (unfinished, log_of(unfinished)):
            leftover.unlink(missing_ok=True)
