"""Remove exported encoders that nothing uses any more, and what killed processes left of unfinished ones.

The cache belongs to a user and serves many workspaces, so no workspace knows who else needs an export. Its last use
tells: each build, and each router of tools in memory, marks the export that it finds. Snapshots have their own link or
copy of an export's files, and lose nothing with it.
"""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from router.encoding.encoder import EXPORT_RECORD

UNUSED_DAYS = 30  # longer than any schedule of builds
_UNFINISHED_DAYS = 1
_DAY_S = 86_400.0


class ExportUse:
    """The use of an export by a build: nothing removes the export while this object lives."""

    def __init__(self, folder: Path) -> None:
        self._descriptor = os.open(folder / EXPORT_RECORD, os.O_RDONLY)
        with suppress(OSError, ImportError):  # without locks, age alone decides
            import fcntl

            fcntl.flock(self._descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)

    def __del__(self) -> None:
        if descriptor := getattr(self, "_descriptor", 0):
            os.close(descriptor)


def remove_unused(cache: Path, days: float = UNUSED_DAYS) -> list[str]:
    """Remove the exports of a cache that nothing used for so many days; return their names, sorted.

    What cannot be removed, such as an export of another user, stays.
    """
    removed = []
    for folder in sorted(path for path in _listed(cache) if path.is_dir()):
        unfinished = folder.name.startswith(".making-")
        used = folder if unfinished else folder / EXPORT_RECORD
        if (not unfinished and not used.is_file()) or not _is_older(used, _UNFINISHED_DAYS if unfinished else days):
            continue
        with suppress(OSError), _alone(used):
            shutil.rmtree(folder)
            if not unfinished:
                removed.append(folder.name)
    return removed


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _is_older(path: Path, days: float) -> bool:
    with suppress(OSError):
        return time.time() - path.stat().st_mtime > days * _DAY_S
    return False


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold a lock that no user of an export has. Raises OSError where one has it, or there are no locks."""
    try:
        import fcntl
    except ImportError:  # Windows: age alone decides
        yield
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)
