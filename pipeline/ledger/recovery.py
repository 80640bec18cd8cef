"""Open a workspace's ledger, restored from its copies and the snapshots where it is missing or damaged."""

from dataclasses import dataclass
from pathlib import Path

import duckdb

from pipeline.errors import RunAborted
from pipeline.ledger.backups import BACKUPS, copies, newest_copy, run_of
from pipeline.ledger.file_copy import copy_file, replace_file
from pipeline.ledger.from_snapshots import FromSnapshots, restore_from_snapshots
from pipeline.ledger.lock import Waiting
from pipeline.ledger.opening import LEDGER_FILE, LedgerDamaged, connect, log_of
from pipeline.ledger.run_numbers import close_killed_runs, skip_run_numbers
from pipeline.ledger.schema import update_tables
from pipeline.ledger.stored_snapshots import known_runs, stored_snapshots
from router.snapshot.store.durable import sync

_UNFINISHED = "ledger.duckdb.restoring"


@dataclass(frozen=True, slots=True)
class Recovery:
    """What was done to have a ledger, in sentences: `notes` for people, `losses` for the report of the build."""

    notes: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()


def open_or_recover(workspace: Path, waiting: Waiting) -> "tuple[duckdb.DuckDBPyConnection, Recovery]":
    """Return a connection to the ledger of a workspace, and what was done where it was missing or damaged.

    A damaged file is moved aside and never deleted. The newest copy that opens takes its place; what snapshots have
    beyond it is added. Raises RunAborted where a damaged ledger can be restored from nothing, else as `connect`.
    """
    path = workspace / LEDGER_FILE
    if path.exists():
        try:
            return connect(path, waiting), Recovery()
        except LedgerDamaged as damage:
            reason = str(damage)
        if log_of(path).exists() and (opened := _open_without_log(path, reason)):
            return opened
    else:
        reason = ""
    if not copies(workspace) and not stored_snapshots(workspace):
        if reason:
            raise _hopeless(path, reason)
        set_aside(log_of(path))  # of another file: a new one must not read it
        return connect(path, waiting), Recovery()
    copy, restored = _restore(workspace)
    if copy is None and not restored.snapshots:
        path.with_name(_UNFINISHED).unlink()
        raise _hopeless(path, reason or "it is missing")
    moved = put_in_place(path.with_name(_UNFINISHED), path)
    return connect(path, waiting), _told(path, reason, moved, copy, restored)


def put_in_place(new: Path, path: Path, mark: str = "damaged") -> Path | None:
    """Move a ledger that is closed and whole to its place; return where the one before went, None without one.

    Raises OSError.
    """
    sync(new)
    moved = set_aside(path, mark)
    set_aside(log_of(path), mark)
    replace_file(new, path)
    return moved


def set_aside(path: Path, mark: str = "damaged") -> Path | None:
    """Rename a file to the first free name with `mark` and a number, and return that; None where there is no file."""
    if not path.exists():
        return None
    number = 1
    while (target := path.with_name(f"{path.name}.{mark}-{number}")).exists():
        number += 1
    return path.rename(target)


def complete(path: Path, workspace: Path, *, with_snapshots: bool = True) -> FromSnapshots:
    """Bring a restored ledger up to date, add what the snapshots have, and let run numbers go on after theirs.

    The file is made where it is missing, and is closed and whole at the end. Raises as `connect`.
    """
    connection = connect(path)
    try:
        update_tables(connection, path)
        restored = restore_from_snapshots(connection, workspace) if with_snapshots else FromSnapshots()
        close_killed_runs(connection)
        skip_run_numbers(connection, max([known_runs(workspace), *map(run_of, copies(workspace))]))
        connection.execute("CHECKPOINT")
    finally:
        connection.close()
    return restored


def _restore(workspace: Path) -> tuple[Path | None, FromSnapshots]:
    """Write a ledger from the newest copy that opens and from the snapshots, beside its place. Return its sources."""
    unfinished = workspace / _UNFINISHED
    for leftover in (unfinished, log_of(unfinished)):
        leftover.unlink(missing_ok=True)  # of a build that was killed
    copy = newest_copy(workspace)
    try:
        if copy is not None:
            copy_file(copy, unfinished)
        return copy, complete(unfinished, workspace)
    except BaseException:  # a disk that is full needs the room
        for half in (unfinished, log_of(unfinished)):
            half.unlink(missing_ok=True)
        raise


def _open_without_log(path: Path, reason: str) -> "tuple[duckdb.DuckDBPyConnection, Recovery] | None":
    """Open a ledger without its write-ahead log; None where the log was not what is damaged, and is left."""
    log = log_of(path)
    moved = set_aside(log)
    try:
        connection = connect(path)
    except LedgerDamaged:
        if moved is not None:
            moved.rename(log)
        return None
    sentence = (
        f"the log of the ledger {path} could not be read ({reason}) and was moved to {moved}: "
        "what the last build stored at its end may be missing"
    )
    return connection, Recovery((sentence,), (sentence,))


def _hopeless(path: Path, reason: str) -> RunAborted:
    return RunAborted(
        f"the ledger {path} cannot be opened: {reason.rstrip('.!')}. There is no copy and no snapshot to restore it "
        f"from. To begin a new one, which asks and pays for everything again, move it and the folders {BACKUPS} and "
        "snapshots away"
    )


def _told(path: Path, reason: str, moved: Path | None, copy: Path | None, restored: FromSnapshots) -> Recovery:
    happened = f"was damaged ({reason}) and was moved to {moved}" if reason else "was missing"
    origins = [f"the copy {copy}"] if copy else []
    origins += [str(restored)] if restored.snapshots else []
    note = f"the ledger {path} {happened}; it was restored from {' and '.join(origins)}"
    if copy:
        loss = f"{note}. What was stored after that copy is lost, unless a snapshot has it"
    else:
        loss = f"{note}. Questions, the models' own texts and open batches are lost"
    if restored.screened:
        loss += f"; {restored.screened:,} answers are there only as the checks left them"
    if restored.unreadable:
        loss += f"; {len(restored.unreadable):,} snapshots could not be read"
    return Recovery((note,), (loss,))
