"""Locks between processes that write to one catalog's folder. Readers take none.

Only the routers that share a cache of a bucket hold the folder that they serve: see `hold_folder`.
"""

import errno
import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_logger = logging.getLogger(__name__)
_PAUSE_S = 0.05  # between two attempts to take a lock
# A pipe would wait for a reader, and a link would lead to somebody else's file.
_SAFELY = sum(getattr(os, name, 0) for name in ("O_CLOEXEC", "O_NONBLOCK", "O_NOFOLLOW"))


@contextmanager
def lock_file(path: Path) -> Iterator[None]:
    """Hold the lock of a file inside the block, and wait for the process that holds it. A killed process frees it."""
    import fcntl  # not on Windows, where a router may still run

    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _SAFELY, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder inside the block. Raises BlockingIOError where another process holds it.

    A file system without locks of folders, such as NFS, gives none: there the ledger's lock keeps builds apart.
    """
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise
        except OSError as error:
            _logger.debug("%s cannot be locked: %s", folder, error)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def lock_file_within(path: Path, seconds: float, stop: threading.Event) -> Iterator[None]:
    """Hold the lock of a file inside the block, and wait at most `seconds` for the process that holds it.

    Raises BlockingIOError where that process still holds it then, or `stop` was set meanwhile. Where the system has no
    locks, the block runs without one.
    """
    end = time.monotonic() + seconds
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _SAFELY, 0o666)
    try:
        while not _locks(descriptor, shared=False):
            if time.monotonic() > end or stop.wait(_PAUSE_S):
                raise BlockingIOError(errno.EAGAIN, f"another process still holds it after {seconds:.0f} s", str(path))
        yield
    finally:
        os.close(descriptor)


def hold_folder(folder: Path) -> int | None:
    """Return a descriptor that holds a shared lock of a folder until it is closed; None where there is none.

    Whoever removes the folder takes `lock_folder` first, which then fails.
    """
    while True:
        try:
            descriptor = os.open(folder, os.O_RDONLY | _SAFELY | getattr(os, "O_DIRECTORY", 0))
        except (FileNotFoundError, NotADirectoryError):
            return None
        if _locks(descriptor, shared=True):
            try:
                if os.path.samestat(os.fstat(descriptor), os.stat(folder)):
                    return descriptor
            except FileNotFoundError:  # it was removed before the lock was held
                pass
        os.close(descriptor)
        time.sleep(_PAUSE_S)


def _locks(descriptor: int, *, shared: bool) -> bool:
    """Take a lock without waiting; return False where another process holds it."""
    try:
        import fcntl

        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError) as error:
        _logger.debug("no lock: %s", error)
    return True
