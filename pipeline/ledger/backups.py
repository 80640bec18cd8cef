"""Backups of the ledger, which builds make in the folder `backups`, and the ledger restored from the last of them."""

from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import duckdb

from pipeline.errors import QuartermasterError, RunAborted
from pipeline.ledger.database import LedgerDamaged, connect, connect_to_read, contents, copy_database, log_of
from pipeline.settings import LedgerSettings
from router.contract import MANIFEST
from router.snapshot.store.durable import sync

_BEFORE_MIGRATION = "ledger-before-migration-{}.duckdb"
# Tables that a run adds to, whatever it finds. What a source gave is in source_contents.
_OF_EACH_RUN = {"runs", "rejections", "notices", "migrations", "source_readings"}


def backups_of(workspace: Path) -> list[Path]:
    """Return the backups of builds, newest first, then those made before migrations.

    The clock may jump, so the number of the run in the name decides.
    """
    by_run = sorted(_folder(workspace).glob("ledger-*.duckdb"), key=run_of, reverse=True)
    return [file for file in by_run if run_of(file) or "migration" in file.name]


def run_of(backup: Path) -> int:
    """Return the run that made a backup; 0 for other files."""
    number = backup.stem.removeprefix("ledger-")
    return int(number) if number.isdecimal() else 0


def newest_backup(workspace: Path) -> Path | None:
    """Return the newest backup that can be read whole; None where there is none."""
    for backup in backups_of(workspace):
        try:
            connect_to_read(backup).close()
        except QuartermasterError:
            continue
        return backup
    return None


def back_up_before_migration(connection: "duckdb.DuckDBPyConnection", path: Path, version: int) -> None:
    """Copy a ledger before its tables are changed; the copy is kept until the next migration.

    Raises OSError or duckdb.Error.
    """
    target = _folder(path.parent) / _BEFORE_MIGRATION.format(version)
    target.parent.mkdir(mode=0o700, exist_ok=True)
    copy_database(connection, target)
    for older in target.parent.glob(_BEFORE_MIGRATION.format("*")):
        if older != target:
            older.unlink()


def back_up(connection: "duckdb.DuckDBPyConnection", path: Path, run: int, settings: LedgerSettings) -> str | None:
    """Copy the ledger under the name of a run, unless the last backup holds the same; remove older backups.

    Return why there is no copy; None where all is well.
    """
    target = _folder(path.parent) / f"ledger-{run:06}.duckdb"
    try:
        if not settings.backups or _is_backed_up(connection, path.parent):
            return None
        size, limit = path.stat().st_size / 1e6, settings.max_backup_mb
        if size > limit:
            return f"there is no backup of the ledger: it has {size:,.0f} MB, and ledger.max_backup_mb allows {limit:,}"
        target.parent.mkdir(mode=0o700, exist_ok=True)
        copy_database(connection, target)
        for old in [backup for backup in backups_of(path.parent) if run_of(backup)][settings.backups :]:
            old.unlink()
    except (OSError, duckdb.Error) as error:
        return f"there is no backup of the ledger: {' '.join(str(error).split())}"
    return None


def _is_backed_up(connection: "duckdb.DuckDBPyConnection", workspace: Path) -> bool:
    """Return whether the last backup of a build holds all that is stored, except what each run adds."""
    last = next((backup for backup in backups_of(workspace) if run_of(backup)), None)
    if last is None:
        return False
    try:
        with connect_to_read(last) as backup:
            stored, copied = (
                {table: of for table, of in contents(each).items() if of[0] and table not in _OF_EACH_RUN}
                for each in (connection, backup)
            )
    except QuartermasterError:
        return False
    return stored == copied


def open_or_restore(path: Path) -> tuple["duckdb.DuckDBPyConnection", str]:
    """Return a connection to a ledger, and a sentence about what was lost of it, empty where nothing was.

    One that is missing or damaged is restored from the last backup, and a damaged file is moved aside; where only its
    log is damaged, that. Raises RunAborted where there is no backup to restore it from, else as `connect`.
    """
    reason = "is missing"
    if path.exists():
        try:
            return connect(path), ""
        except LedgerDamaged as error:
            reason = f"is damaged: {error.reason}"
        if log := _set_aside(log_of(path), "damaged"):
            try:
                return connect(
                    path
                ), f"the ledger {path} {reason}. It opens without its log, whose end is lost; see {log}"
            except LedgerDamaged:
                log.rename(log_of(path))
    if (backup := newest_backup(path.parent)) is not None:
        moved = put_in_place(backup, path, "damaged")
        made_at = datetime.fromtimestamp(backup.stat().st_mtime, UTC)
        kept = f" The file before it is {moved}." if moved else ""
        return connect(path), (
            f"the ledger {path} {reason}. It was restored from {backup} of {made_at:%Y-%m-%d %H:%M:%S} UTC; what was "
            f"stored after that is lost.{kept}"
        )
    if left := [*path.parent.glob(f"{path.name}*"), *backups_of(path.parent)]:
        raise RunAborted(
            f"the ledger {path} {reason}, and there is no backup to restore it from. Restore one from elsewhere with "
            "`quartermaster ledger restore FILE`. To begin a new one, which asks and pays for everything again, move "
            f"these away: {', '.join(map(str, left))}"
        )
    lost = f"the ledger {path} is missing, and a new one was begun: what was asked before is asked and paid for again"
    return connect(path), lost if any(path.parent.glob(f"*/*/*/{MANIFEST}")) else ""


def put_in_place(backup: Path, path: Path, mark: str) -> Path | None:
    """Copy a backup to the place of a ledger; return where the one before went, None without one. Raises OSError."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    with connect_to_read(backup) as connection:
        copy_database(connection, unfinished)
    moved = _set_aside(path, mark)
    _set_aside(log_of(path), mark)
    unfinished.replace(path)
    sync(path.parent)
    return moved


def _set_aside(path: Path, mark: str) -> Path | None:
    """Rename a file to the first free name with `mark` and a number, and return that; None where there is no file."""
    if not path.exists():
        return None
    targets = (path.with_name(f"{path.name}.{mark}-{number}") for number in count(1))
    return path.rename(next(target for target in targets if not target.exists()))


def _folder(workspace: Path) -> Path:
    return workspace / "backups"
