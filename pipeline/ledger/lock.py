"""One build or command writes a workspace at a time; the others wait, or learn who that is."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import duckdb
from filelock import FileLock, Timeout

from pipeline.errors import SettingsInvalid
from pipeline.ledger.database import LedgerInUse, explained

T = TypeVar("T")
Tell = Callable[[str], None]

LEDGER_FILE = "ledger.duckdb"
_PAUSE_S = 0.2


def lock_workspace(workspace: Path) -> FileLock:
    """Return the lock of a workspace, taken; its folder is made where it is missing. A killed process frees it.

    Raises LedgerInUse, and SettingsInvalid where the workspace cannot be written.
    """
    lock = FileLock(workspace / ".lock", thread_local=False)  # a flow may end in another thread than it began in
    try:
        workspace.mkdir(parents=True, exist_ok=True)
        lock.acquire(blocking=False)
    except Timeout:
        raise _held(workspace / LEDGER_FILE) from None
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
    until, announced = time.monotonic() + max(wait_s, _PAUSE_S), False  # others may look at it for a moment
    while True:
        try:
            return attempt()
        except LedgerInUse as error:
            if time.monotonic() >= until:
                raise
            if wait_s and not announced:
                tell(f"waiting up to {wait_s:,.0f} s for the ledger, which is in use by {error.holder}")
                announced = True
        time.sleep(_PAUSE_S)


def _held(path: Path) -> LedgerInUse:
    """Return the error of a locked workspace. DuckDB knows which process has the ledger open."""
    try:
        duckdb.connect(str(path), read_only=True).close()
    except duckdb.Error as error:
        found = explained(error, path)
        if isinstance(found, LedgerInUse) and "pid" in found.holder:
            return LedgerInUse(path, found.holder.replace("another program", "another build"))
    return LedgerInUse(path, "another build or command")
