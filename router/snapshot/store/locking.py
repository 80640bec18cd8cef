"""Locks between processes that write to one catalog's folder. Readers take none."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_logger = logging.getLogger(__name__)


@contextmanager
def lock_file(path: Path) -> Iterator[None]:
    """Hold the lock of a file inside the block, and wait for the process that holds it. A killed process frees it."""
    import fcntl  # not on Windows, where a router may run all the same

    # A pipe would wait for a reader, and a link would lead to somebody else's file.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW, 0o666)
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
