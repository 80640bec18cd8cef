"""One build or command writes a workspace at a time; the others wait, or learn who that is."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import duckdb
from filelock import FileLock, Timeout

from pipeline.errors import RunAborted, SettingsInvalid

T = TypeVar("T")
Tell = Callable[[str], None]

LEDGER_FILE = "ledger.duckdb"
LOCK_FILE = ".lock"
_PAUSE_S = 0.2
# DuckDB's words where another process has the file open, and where this one has it open in another way.
_HELD = re.compile(r"Conflicting lock is held in (?P<program>.+?) \(PID (?P<pid>\d+)\)")
_HELD_HERE = ("different configuration than existing connections", "already attached", "Unique file handle conflict")


class LedgerInUse(RunAborted):
    """Another process has the ledger. `holder` says which, as far as that is known."""

    def __init__(self, path: Path, holder: str) -> None:
        super().__init__(f"the ledger {path} is in use by {holder}: wait for it to end, or give --wait SECONDS")
        self.holder = holder


def in_use(path: Path, error: Exception) -> LedgerInUse | None:
    """Return an error of DuckDB as one that names who has the file open; None where the error is another."""
    message = str(error)
    if found := _HELD.search(message):
        return LedgerInUse(path, f"another program ({Path(found['program']).name}, pid {found['pid']})")
    if "could not set lock" in message.lower():  # "lock" alone is in "block" and in many a path
        return LedgerInUse(path, "another program")
    if any(mark in message for mark in _HELD_HERE):
        return LedgerInUse(path, "another connection of this process")
    return None


def lock_workspace(workspace: Path) -> FileLock:
    """Return the lock of a workspace, taken; its folder is made where it is missing. A killed process frees it.

    Raises LedgerInUse, and SettingsInvalid where the workspace cannot be written.
    """
    lock = FileLock(workspace / LOCK_FILE, thread_local=False)  # a flow may end in another thread than it began in
    try:
        workspace.mkdir(parents=True, exist_ok=True)
        lock.acquire(blocking=False)
    except Timeout:
        raise _held(workspace) from None
    except OSError as error:
        raise SettingsInvalid(
            f"the workspace {workspace} cannot be written or locked ({error.strerror}): choose another with --workspace"
        ) from error
    return lock


@contextmanager
def locked(workspace: Path, wait_s: float, tell: Tell) -> Iterator[None]:
    """Hold the lock of an existing workspace inside the block. Raises LedgerInUse or SettingsInvalid."""
    if not workspace.is_dir():
        raise SettingsInvalid(f"there is no workspace {workspace}: name it with --workspace")
    with waited_for(lambda: lock_workspace(workspace), wait_s, tell):
        yield


def waited_for(attempt: Callable[[], T], wait_s: float, tell: Tell) -> T:
    """Return the result of an attempt, which is repeated for `wait_s` seconds while somebody else has the ledger.

    `tell` hears once who is waited for. Raises what the last attempt raised.
    """
    until, told = time.monotonic() + max(wait_s, _PAUSE_S), False  # others may hold it for a moment, to look at it
    while True:
        try:
            return attempt()
        except LedgerInUse as error:
            if time.monotonic() >= until:
                raise
            if wait_s and not told:
                tell(f"waiting up to {wait_s:,.0f} s for the ledger, which is in use by {error.holder}")
                told = True
        time.sleep(_PAUSE_S)


def _held(workspace: Path) -> LedgerInUse:
    """Return the error of a locked workspace. DuckDB knows which process has the ledger open."""
    path = workspace / LEDGER_FILE
    try:
        duckdb.connect(str(path), read_only=True).close()
    except duckdb.Error as error:
        if (found := in_use(path, error)) and "pid" in found.holder:
            return LedgerInUse(path, found.holder.replace("another program", "another build"))
    return LedgerInUse(path, "another build or command")
