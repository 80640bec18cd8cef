"""What an operator does with a ledger: back it up, restore it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from pipeline.errors import RunAborted, SettingsInvalid
from pipeline.ledger.backups import newest_copy
from pipeline.ledger.file_copy import copy_file
from pipeline.ledger.from_snapshots import FromSnapshots
from pipeline.ledger.lock import Waiting, WorkspaceLock, is_locked
from pipeline.ledger.migrations import pending
from pipeline.ledger.opening import LEDGER_FILE, LedgerDamaged, as_ours, connect, connect_to_read, log_of
from pipeline.ledger.recovery import complete, put_in_place

_UNFINISHED = "ledger.duckdb.unfinished"
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup that was made and opened: `source` is the ledger, or the copy that a running build made at `made_at`."""

    file: Path
    source: Path
    made_at: datetime
    size: int


@dataclass(frozen=True, slots=True)
class Restored:
    """A ledger in its place. `source` is None where snapshots alone gave it; `replaced` is the file before it."""

    ledger: Path
    source: Path | None
    replaced: Path | None
    from_snapshots: FromSnapshots | None


def back_up(workspace: Path, target: Path, *, wait_s: float = 0.0, tell: Tell = lambda _: None) -> Backup:
    """Copy the ledger to a file, or into a folder under a name with the time, and open the copy.

    While a build runs, the copy is of the newest copy that it made. Raises RunAborted where there is none, and where
    the ledger is missing or damaged; SettingsInvalid where the target cannot be written.
    """
    path = existing(workspace)
    if target.is_dir():
        target = target / f"ledger-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.duckdb"
    if target.resolve() in (path.resolve(), log_of(path).resolve()):
        raise SettingsInvalid(f"{target} is the ledger itself: name another file")
    source = newest_copy(workspace) if not wait_s and is_locked(workspace) else None
    if source is not None:
        _copy_out(source, target)
    else:
        with locked(workspace, "ledger backup", wait_s, tell):
            _settle(path)
            _copy_out(path, target)
    try:
        connect_to_read(target).close()
    except LedgerDamaged as error:
        raise RunAborted(f"the backup {target} is not whole: {error}. Make another") from error
    made_at = datetime.fromtimestamp(target.stat().st_mtime, UTC)
    return Backup(target, source or path, made_at, target.stat().st_size)


def restore(workspace: Path, file: Path | None, *, wait_s: float = 0.0, tell: Tell = lambda _: None) -> Restored:
    """Put a backup in the place of the ledger; None takes the newest copy that a build made.

    The file is checked first, and what it replaces is kept beside it. Raises RunAborted where a build runs, or the file
    is no whole ledger of a version that is known.
    """
    path = workspace / LEDGER_FILE
    with locked(workspace, "ledger restore", wait_s, tell):
        source = file or newest_copy(workspace)
        if source is None:
            raise RunAborted(f"{workspace} has no copy of the ledger: name a backup, or use --from-snapshots")
        _require_ledger(source)
        unfinished = fresh(workspace)
        copy_file(source, unfinished)
        complete(unfinished, workspace, with_snapshots=False)
        return Restored(path, source, put_in_place(unfinished, path, "replaced"), None)


def restore_from_snapshots(workspace: Path, *, wait_s: float = 0.0, tell: Tell = lambda _: None) -> Restored:
    """Add what the snapshots have to the ledger, or make one of them where it is missing or damaged.

    What was there is kept beside it. Raises RunAborted where a build runs, or no snapshot can be read.
    """
    path = workspace / LEDGER_FILE
    with locked(workspace, "ledger restore", wait_s, tell):
        unfinished, source = fresh(workspace), None
        if path.is_file():
            try:
                _settle(path)
                copy_file(path, unfinished)
                source = path
            except RunAborted as error:
                tell(str(error))
        merged = complete(unfinished, workspace)
        if not merged.snapshots:
            unfinished.unlink()
            raise RunAborted(f"{workspace} has no snapshot that a ledger can be restored from; nothing was changed")
        return Restored(path, source, put_in_place(unfinished, path, "replaced"), merged)


def _copy_out(source: Path, target: Path) -> None:
    try:
        copy_file(source, target)
    except OSError as error:
        raise SettingsInvalid(f"{target} cannot be written ({error}): choose another place") from error


def existing(workspace: Path) -> Path:
    """Return the path of a workspace's ledger. Raises RunAborted where there is none."""
    path = workspace / LEDGER_FILE
    if not path.is_file():
        raise RunAborted(f"the workspace {workspace} has no ledger: a build makes one")
    return path


def fresh(workspace: Path) -> Path:
    """Return the path where a new ledger is written, without leftovers of a command that was killed."""
    unfinished = workspace / _UNFINISHED
    for leftover in (unfinished, log_of(unfinished)):
        leftover.unlink(missing_ok=True)
    return unfinished


def _settle(path: Path) -> None:
    """Bring what a killed build left in the log into the file, and check it. Raises RunAborted."""
    try:
        connection = connect(path) if log_of(path).exists() else connect_to_read(path)
        connection.close()
    except LedgerDamaged as error:
        raise RunAborted(
            f"the ledger {path} is damaged: {error}. A build restores it, or `quartermaster ledger restore`"
        ) from error


def _require_ledger(file: Path) -> None:
    """Raise RunAborted where a file is no whole ledger of a known version."""
    if not file.is_file():
        raise SettingsInvalid(f"{file} is no file: name a backup of a ledger")
    try:
        with connect_to_read(file) as connection:
            tables = {name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
            pending(connection, file)
    except LedgerDamaged as error:
        raise RunAborted(f"{file} is no whole ledger: {error}. Nothing was changed") from error
    if not {"runs", "expansions"} <= tables:
        raise RunAborted(f"{file} is no ledger: it has no tables of runs and expansions. Nothing was changed")


@contextmanager
def locked(workspace: Path, task: str, wait_s: float, tell: Tell) -> Iterator[Waiting]:
    """Hold the lock of an existing workspace. Raises RunAborted where a build has it."""
    if not workspace.is_dir():
        raise SettingsInvalid(f"there is no workspace {workspace}: name it with --workspace")
    waiting = Waiting(wait_s, tell)
    lock = WorkspaceLock.acquire(workspace, task, waiting)
    try:
        yield waiting
    except (OSError, duckdb.Error) as error:
        raise as_ours(error, workspace / LEDGER_FILE) from error
    finally:
        fresh(workspace)
        lock.release()
