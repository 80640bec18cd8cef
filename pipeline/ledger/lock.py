"""The lock of a workspace: one build or command writes at a time, and the others learn who that is."""

import fcntl
import json
import os
import re
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Self

from pipeline.errors import RunAborted, SettingsInvalid

LOCK_FILE = ".lock"
_PAUSE_S = 0.2
_LEAST_WAIT_S = 0.05  # `is_locked` takes the lock for a moment to see whether it is free
# DuckDB's words where another process has the file open.
_HELD = re.compile(r"Conflicting lock is held in (?P<program>.+?) \(PID (?P<pid>\d+)\)")


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds the ledger: a process, and the build that it runs where it is one. `since` is UTC, to the second."""

    pid: int
    program: str
    host: str = ""
    since: str = ""
    catalog: str = ""
    run: int | None = None

    @classmethod
    def this_process(cls, task: str) -> Self:
        """Return the holder that this process is. `task` says what it does: build, ledger compact."""
        now = datetime.now(UTC).replace(tzinfo=None).isoformat(" ", "seconds")
        return cls(os.getpid(), f"{Path(sys.argv[0] or 'python').name} ({task})", socket.gethostname(), now)

    def __str__(self) -> str:
        build = f"run {self.run} of the catalog {self.catalog}, " if self.run is not None else ""
        parts = [f"{self.program}, {build}pid {self.pid}"]
        parts += [f"on {self.host}"] if self.host else []
        parts += [f"since {self.since} UTC"] if self.since else []
        return ", ".join(parts)


@dataclass(slots=True)
class Waiting:
    """How long to wait for the ledger, in seconds; `tell` hears once who is waited for. The time runs from here."""

    wait_s: float = 0.0
    tell: Callable[[str], None] = lambda _: None
    _until: float | None = None
    _told: bool = False

    def pause(self, holder: str) -> bool:
        """Wait a moment; return False where the time is over."""
        now = time.monotonic()
        if self._until is None:
            self._until = now + max(self.wait_s, _LEAST_WAIT_S)
        if now >= self._until:
            return False
        if self.wait_s and not self._told:
            self.tell(f"waiting up to {self.wait_s:,.0f} s for the ledger, which is held by {holder}")
            self._told = True
        time.sleep(min(_PAUSE_S, self._until - now))
        return True


class WorkspaceLock:
    """The lock file, locked. The lock ends with the process, however that ends; the file names the holder."""

    def __init__(self, stream: IO[str], holder: Holder) -> None:
        """Internal: use `acquire`."""
        self._stream = stream
        self._holder = holder
        self._write()

    @classmethod
    def acquire(cls, workspace: Path, task: str, waiting: Waiting) -> Self:
        """Return the lock of a workspace, whose folder is made where it is missing.

        Raises SettingsInvalid where the workspace cannot be written, RunAborted where another process has the lock
        until the waiting is over.
        """
        try:
            workspace.mkdir(parents=True, exist_ok=True)
            # Not emptied by opening: until the lock is ours, the file names whoever has it.
            stream = (workspace / LOCK_FILE).open("a+", encoding="utf-8")
        except OSError as error:
            raise SettingsInvalid(
                f"the workspace {workspace} cannot be written ({error.strerror}): choose another with --workspace"
            ) from error
        try:
            while not _locked(stream):
                other = str(lock_holder(workspace) or "a process that the lock file does not name")
                if not waiting.pause(other):
                    raise in_use(workspace, "build", other)
            return cls(stream, Holder.this_process(task))
        except OSError as error:
            stream.close()
            raise SettingsInvalid(
                f"the file {workspace / LOCK_FILE} cannot be locked ({error.strerror}): "
                "choose a workspace on a file system with file locks"
            ) from error
        except BaseException:
            stream.close()
            raise

    def name_run(self, catalog: str, run: int) -> None:
        """Say in the lock file which build holds it."""
        self._holder = replace(self._holder, catalog=catalog, run=run)
        self._write()

    def release(self) -> None:
        """Empty the file and give the lock back."""
        self._replace(b"")
        self._stream.close()

    def _write(self) -> None:
        self._replace(json.dumps(asdict(self._holder)).encode())

    def _replace(self, content: bytes) -> None:
        """Replace what the file says. On a full disk it says nothing: the lock holds without a name."""
        with suppress(OSError):
            os.ftruncate(self._stream.fileno(), 0)
            os.write(self._stream.fileno(), content)


def lock_holder(workspace: Path) -> Holder | None:
    """Return the holder that the lock file names; None where it names none. It may have ended since."""
    try:
        return Holder(**json.loads((workspace / LOCK_FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def is_locked(workspace: Path) -> bool:
    """Return whether a process has the lock now."""
    try:
        with (workspace / LOCK_FILE).open("r", encoding="utf-8") as stream:
            return not _locked(stream)
    except OSError:
        return False


def reader_of(error: Exception) -> str | None:
    """Return who has the file open that DuckDB could not lock; None where the error is another."""
    message = str(error)
    if found := _HELD.search(message):
        pid = int(found["pid"])
        return str(Holder(pid, Path(found["program"]).name, socket.gethostname(), _started(pid)))
    if "could not set lock" in message.lower():  # "lock" alone is in "block" and in many a path
        return "a process that the system does not name"
    if "different configuration than existing connections" in message:
        return str(Holder(os.getpid(), "another connection of this process"))
    return None


def in_use(workspace: Path, what: str, holder: str) -> RunAborted:
    """Return the error of a ledger that stays in use. `what` uses it: build, program."""
    return RunAborted(
        f"the ledger {workspace / 'ledger.duckdb'} is in use by another {what}: wait for it to end. "
        f"It is held by {holder}"
    )


def _locked(stream: IO[str]) -> bool:
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _started(pid: int) -> str:
    """Return when a process of this machine began, as `Holder.since`; empty where the system does not tell."""
    try:
        ticks = int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19])
        boot = re.search(r"^btime (\d+)$", Path("/proc/stat").read_text(encoding="utf-8"), re.MULTILINE)
    except (OSError, ValueError, IndexError):
        return ""
    if boot is None:
        return ""
    begun = datetime.fromtimestamp(int(boot[1]) + ticks / os.sysconf("SC_CLK_TCK"), UTC)
    return begun.replace(tzinfo=None).isoformat(" ", "seconds")
