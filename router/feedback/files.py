"""The files of a feedback log: lines of JSON, of which each process appends to one of its own.

A process holds the lock of the file that it writes, so that others see which are complete; a killed one frees it.
Only the log's user may read the files.
"""

import errno
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from router.feedback.events import Removed, decode_event, encode_events
from router.files import open_regular

SUFFIX = ".jsonl"
_FILE_MODE = 0o600
_OPEN_S = 3_600.0  # a file is complete after so long: until then no build removes or forgets what it has
_PARTS = 16  # files that a full log of one process has: removing one removes so small a share
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)


def event_files(folder: Path) -> list[Path]:
    """Return the files of events in a log's folder, the oldest first. Raises OSError."""
    return sorted(
        path for path in folder.iterdir() if path.suffix == SUFFIX and not path.is_symlink() and path.is_file()
    )


@contextmanager
def complete_file(path: Path) -> Iterator[int | None]:
    """Yield a descriptor of a file that no process writes, held so while the block runs; None of any other.

    Raises OSError where the file is there and cannot be read.
    """
    try:
        descriptor = open_regular(path, follow=False)
    except FileNotFoundError:  # somebody else has removed it
        yield None
        return
    try:
        yield descriptor if _locked(descriptor) else None
    finally:
        os.close(descriptor)


class EventFiles:
    """Appends lines to a file of this process, and begins another when it is full or was removed.

    Together, the files of a folder have about `max_bytes` at most: the oldest complete ones are removed, and a line
    says how many events they had.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self.folder = folder
        self._max_bytes = max_bytes
        self._most = max(max_bytes // _PARTS, 1)
        self._file: int | None = None
        self._begun = 0.0
        self._torn = False
        self._removed = 0  # events that were removed, and of which no line tells yet

    def append(self, lines: bytes) -> None:
        """Append whole lines. Raises OSError; lines that were cut off count as one that nobody can read."""
        file = self._opened()
        begun = b"\n" if self._torn else b""
        if self._removed:
            begun += encode_events([Removed(time.time(), self._removed)])
        begun += lines
        written = os.write(file, begun)
        self._torn = written < len(begun)
        if self._torn:
            raise OSError(errno.ENOSPC, "no space is left on the disk, or in the user's quota", str(self.folder))
        self._removed = 0

    def close(self) -> None:
        """Close the file, which is complete then; the next line begins another."""
        if self._file is not None:
            os.close(self._file)
            self._file, self._torn = None, False

    def close_old(self) -> None:
        """Close the file if it has been open for an hour."""
        if time.monotonic() - self._begun > _OPEN_S:
            self.close()

    def _opened(self) -> int:
        self.close_old()
        if self._file is not None:
            status = os.fstat(self._file)
            if status.st_size < self._most and status.st_nlink:
                return self._file
            self.close()
        self._remove_oldest()
        while True:
            second, rest = divmod(time.time_ns(), 10**9)
            stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(second))
            path = self.folder / f"{stamp}-{rest:09}-{os.getpid()}-{secrets.token_hex(4)}{SUFFIX}"
            file = os.open(path, _FLAGS, _FILE_MODE)
            # Before it is locked, a build may take the file for complete, and remove it.
            if _locked(file) and os.fstat(file).st_nlink:
                self._file, self._begun = file, time.monotonic()
                return file
            os.close(file)

    def _remove_oldest(self) -> None:
        """Remove the oldest complete files until another fits, and count their events."""
        sizes: dict[Path, int] = {}
        for path in event_files(self.folder):
            with suppress(FileNotFoundError):  # a build has removed it meanwhile
                sizes[path] = path.stat().st_size
        excess = sum(sizes.values()) + self._most - self._max_bytes
        for path, size in sizes.items():
            if excess <= 0:
                break
            with complete_file(path) as descriptor:
                if descriptor is not None:
                    with os.fdopen(os.dup(descriptor), "rb") as stream:
                        self._removed += sum(_events_of(line) for line in stream)
                    path.unlink(missing_ok=True)
                    excess -= size


def _events_of(line: bytes) -> int:
    """Return how many events are lost with a line: those that it tells were removed, or itself."""
    event = decode_event(line)
    return event.events if isinstance(event, Removed) else 1


def _locked(descriptor: int) -> bool:
    """Lock a file until its descriptor is closed; return False where another process holds it.

    Where the system has no locks, nothing is known of other processes, and every file counts as complete.
    """
    try:
        import fcntl  # not on Windows
    except ImportError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # such as NFS without locks
        return True
    return True
