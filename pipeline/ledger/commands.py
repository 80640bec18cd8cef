"""What an operator does with a ledger: back it up, restore it, read it, check it, rewrite it."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from pipeline.errors import RunAborted, SettingsInvalid
from pipeline.ledger.backups import newest_backup, put_in_place
from pipeline.ledger.database import (
    CONNECTION,
    Database,
    LedgerDamaged,
    LedgerInUse,
    connect,
    connect_to_read,
    contents,
    copy_database,
    log_of,
)
from pipeline.ledger.ledger import VERSION, file_version, require_known, update_tables
from pipeline.ledger.lock import LEDGER_FILE, Tell, locked, waited_for
from pipeline.store.deltas.databases import database_file
from router.contract import MANIFEST
from router.errors import SnapshotInvalid
from router.snapshot.store.durable import sync

# What is wrong where the statement counts anything: {0} is the count, {1} a second figure or an example.
_CHECKS = {
    "{0:,} answers belong to no run, such as run {1}": (
        "SELECT count(*), min(run_id) FROM expansions ANTI JOIN runs USING (run_id)"
    ),
    "{0:,} questions have lost their instructions, such as {1}": (
        "SELECT count(*), min(expansion_key) FROM questions ANTI JOIN instructions USING (instructions_hash)"
    ),
    "{0:,} keys have several paid answers: {1} US dollars were paid twice": (
        "SELECT count(*), round(sum(twice), 6) FROM (SELECT sum(cost_usd) - max(cost_usd) AS twice FROM expansions "
        "WHERE cost_usd > 0 AND discarded_at IS NULL GROUP BY expansion_key HAVING count(*) > 1)"
    ),
    "{0:,} answers are no JSON with a phrase, such as that of {1}": (
        "SELECT count(*), min(tool_id) FROM expansions WHERE NOT coalesce(json_valid(expansion) "
        "AND json_array_length(expansion -> 'user_phrases') > 0, false)"
    ),
}


@dataclass(frozen=True)
class ReadableLedger:
    """An open file that cannot be written: the ledger, or its last backup where `holder` has it open for writing.

    `made_at` is UTC.
    """

    connection: "duckdb.DuckDBPyConnection"
    file: Path
    made_at: datetime
    holder: str | None

    @property
    def note(self) -> str | None:
        """Return which backup is read, and why; None where it is the ledger itself."""
        if self.holder is None:
            return None
        return f"the ledger is in use by {self.holder}: this is the backup of {self.made_at:%Y-%m-%d %H:%M:%S} UTC"


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup that was made and read back. `source` is the ledger, or the backup that a running build `made_at`."""

    file: Path
    source: Path
    made_at: datetime
    size: int


@dataclass(frozen=True, slots=True)
class Restored:
    """A ledger in its place: `source` is the backup, `replaced` the file before it."""

    ledger: Path
    source: Path
    replaced: Path | None


@dataclass(frozen=True, slots=True)
class Checked:
    """The findings about a ledger, or about its last backup while a build writes: `problems` are sentences.

    `version` is that of its tables, `rows` counts them by table; None and empty where it does not open. `note` says
    that the next build brings an older ledger up to date; its contents are checked then.
    """

    file: Path
    version: int | None
    rows: dict[str, int]
    problems: tuple[str, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Compacted:
    """A ledger that was rewritten: its bytes before and after, and how many vectors were left out."""

    ledger: Path
    before: int
    after: int
    vectors: int


def open_to_read(workspace: Path, *, wait_s: float = 0.0, tell: Tell = lambda _: None) -> ReadableLedger:
    """Open the ledger of a workspace; where a build writes it and is not waited for, its last backup.

    Raises RunAborted where there is none, where it is damaged, and where it is in use and has no backup.
    """
    path, holder = existing(workspace), None
    try:
        connection = waited_for(lambda: connect_to_read(path), wait_s, tell)
    except LedgerInUse as error:
        backup = None if wait_s else newest_backup(workspace)
        if backup is None:
            raise
        path, holder = backup, error.holder
        connection = connect_to_read(path)
    return ReadableLedger(connection, path, datetime.fromtimestamp(path.stat().st_mtime, UTC), holder)


def back_up(workspace: Path, target: Path, *, wait_s: float = 0.0, tell: Tell = lambda _: None) -> Backup:
    """Copy the ledger to a file, or into a folder under a name with the time, and read the copy back.

    While a build runs, its last backup is copied. Raises RunAborted as `open_to_read`; SettingsInvalid where the target
    cannot be written.
    """
    if target.is_dir():
        target = target / f"ledger-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.duckdb"
    if target.resolve() == (workspace / LEDGER_FILE).resolve():
        raise SettingsInvalid(f"{target} is the ledger itself: name another file")
    readable = open_to_read(workspace, wait_s=wait_s, tell=tell)
    with readable.connection as connection:
        try:
            copy_database(connection, target)
        except (OSError, duckdb.Error) as error:
            raise SettingsInvalid(f"{target} cannot be written ({error}): choose another place") from error
    connect_to_read(target).close()
    return Backup(target, readable.file, readable.made_at, target.stat().st_size)


def restore(workspace: Path, file: Path | None, *, wait_s: float = 0.0, tell: Tell = lambda _: None) -> Restored:
    """Put a backup in the place of the ledger; None takes the last that a build made.

    The file is read whole first, and what it replaces is kept beside it. Raises RunAborted where a build runs, or the
    file is not a whole ledger of a known version.
    """
    path = workspace / LEDGER_FILE
    with locked(workspace, wait_s, tell):
        source = file or newest_backup(workspace)
        if source is None:
            raise RunAborted(f"{workspace} has no backup of the ledger: name one")
        _require_ledger(source)
        if path.exists():  # its reader is named, and what the log has comes into the file
            try:
                waited_for(lambda: connect(path), wait_s, tell).close()
            except RunAborted as error:  # one that is damaged, or of a newer version, is to be replaced
                if isinstance(error, LedgerInUse):
                    raise
        try:
            return Restored(path, source, put_in_place(source, path, "replaced"))
        except (OSError, duckdb.Error) as error:
            raise _unchanged(path, error) from error


def compact(
    workspace: Path, *, drop_vectors: bool = False, wait_s: float = 0.0, tell: Tell = lambda _: None
) -> Compacted:
    """Rewrite the ledger into a new file, which takes its place at once: DuckDB never gives back what it deleted.

    Nothing that was paid for is left out. `drop_vectors` leaves out vectors of texts that no stored snapshot has: they
    are embedded again where they are needed. Raises RunAborted where a build runs or the disk does not suffice.
    """
    path = existing(workspace)
    unfinished = path.with_name(f"{path.name}.unfinished")
    texts = _texts_of_snapshots(workspace) if drop_vectors else []
    if drop_vectors and not texts:
        raise RunAborted(
            f"no snapshot of {workspace} has vectors, so which are in use is not known: leave out --vectors"
        )
    with locked(workspace, wait_s, tell):
        try:
            with waited_for(lambda: connect(path), wait_s, tell) as connection:
                before = path.stat().st_size
                update_tables(Database(connection, path))
                dropped = _drop_vectors(connection, texts) if drop_vectors else 0
                copy_database(connection, unfinished)
            unfinished.replace(path)
            sync(path.parent)
            log_of(path).unlink(missing_ok=True)
        except (OSError, duckdb.Error) as error:
            raise _unchanged(path, error) from error
        return Compacted(path, before, path.stat().st_size, dropped)


def check(workspace: Path, file: Path | None = None) -> Checked:
    """Check the ledger of a workspace, or its last backup while a build writes, or a `file` that may be a backup.

    Raises RunAborted where there is no ledger, or no backup yet; SettingsInvalid where there is no such file.
    """
    path = file or workspace / LEDGER_FILE
    try:
        if file is None:
            readable = open_to_read(workspace)
            connection, path = readable.connection, readable.file
        else:
            connection = connect_to_read(_file(file))
    except LedgerDamaged as error:
        return Checked(path, None, {}, (f"it cannot be read: {error.reason}",))
    with connection:
        rows = {table: count for table, (count, _) in contents(connection).items()}
        version = file_version(connection)
        try:
            require_known(version, path)
        except RunAborted as error:
            return Checked(path, version, rows, (str(error),))
        if version < VERSION:
            note = f"its tables have version {version}: the next build brings them to {VERSION}"
            return Checked(path, version, rows, (), note)
        found = [(sentence, *connection.execute(query).fetchall()[0]) for sentence, query in _CHECKS.items()]
        return Checked(path, version, rows, tuple(sentence.format(*of) for sentence, *of in found if of[0]))


def _unchanged(path: Path, error: Exception) -> RunAborted:
    return RunAborted(f"the ledger {path} stays as it is: {' '.join(str(error).split())}")


def existing(workspace: Path) -> Path:
    """Return the path of a workspace's ledger. Raises RunAborted where there is none."""
    path = workspace / LEDGER_FILE
    if not path.is_file():
        raise RunAborted(f"the workspace {workspace} has no ledger: a build makes one")
    return path


def _file(file: Path) -> Path:
    if not file.is_file():
        raise SettingsInvalid(f"{file} is not a file: name a backup of a ledger")
    return file


def _require_ledger(file: Path) -> None:
    """Raise RunAborted where a file is not a whole ledger of a known version."""
    try:
        with connect_to_read(_file(file)) as connection:
            tables = contents(connection).keys()
            require_known(file_version(connection), file)
    except LedgerDamaged as error:
        raise RunAborted(f"{file} is not a whole ledger: {error.reason}. Nothing was changed") from error
    if not {"runs", "expansions"} <= tables:
        raise RunAborted(f"{file} is not a ledger: it has no tables of runs and expansions. Nothing was changed")


def _drop_vectors(connection: "duckdb.DuckDBPyConnection", texts: list[str]) -> int:
    """Delete the vectors of all other texts, and return how many they were."""
    delete = "DELETE FROM {} WHERE text_hash NOT IN (SELECT unnest(?::VARCHAR[]))"
    tables = [table for table in contents(connection) if table.startswith("vectors_")]
    return sum(connection.execute(delete.format(table), [texts]).fetchall()[0][0] for table in tables)


def _texts_of_snapshots(workspace: Path) -> list[str]:
    """Return the hashes of the texts whose vectors the snapshots have; those that cannot be read have none."""
    texts = set[str]()
    for manifest in workspace.glob(f"*/*/*/{MANIFEST}"):
        with suppress(duckdb.Error, SnapshotInvalid):
            database = str(database_file(manifest.parent))
            with duckdb.connect(database, config=CONNECTION, read_only=True) as connection:
                texts.update(digest for (digest,) in connection.execute("SELECT text_hash FROM vectors").fetchall())
    return list(texts)
