"""Copy a file whole: to a name beside the target first, on the disk before it is renamed."""

import os
import shutil
import sys
from pathlib import Path

from pipeline.ledger.private import keep_private, open_private
from router.snapshot.store.durable import sync

_FICLONE = 0x40049409  # of linux/fs.h: share the blocks of another file, on Btrfs, XFS, bcachefs
_UNFINISHED = ".unfinished"


def copy_file(source: Path, target: Path) -> None:
    """Copy a file and its times, replacing the target at once. Raises OSError, and leaves no half of a file."""
    unfinished = target.with_name(target.name + _UNFINISHED)
    try:
        with source.open("rb") as reading, os.fdopen(open_private(unfinished), "wb") as writing:
            if not _cloned(reading.fileno(), writing.fileno()):
                shutil.copyfileobj(reading, writing, 1 << 20)
        sync(unfinished)
        shutil.copystat(source, unfinished)
        keep_private(unfinished)  # the source may be older than this rule
        replace_file(unfinished, target)
    finally:
        unfinished.unlink(missing_ok=True)


def replace_file(new: Path, target: Path) -> None:
    """Move a file that is on the disk over another, and put the folder's entry on the disk too. Raises OSError."""
    new.replace(target)
    sync(target.parent)


def _cloned(source: int, target: int) -> bool:
    if not sys.platform.startswith("linux"):
        return False
    import fcntl

    try:
        fcntl.ioctl(target, _FICLONE, source)
    except OSError:
        return False
    return True
