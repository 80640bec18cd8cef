"""The modes of a snapshot's files: nobody writes to them, and whoever the umask of the build lets may read them."""

import os
import stat
from contextlib import suppress
from pathlib import Path

from router.contract import MANIFEST

_WRITE = 0o222
_READ = 0o444


def read_mode(folder: Path) -> int:
    """Return the mode of the files of a snapshot: 0444 without what the umask forbade when its manifest was written."""
    return stat.S_IRUSR | (folder / MANIFEST).stat().st_mode & _READ


def make_read_only(folder: Path) -> None:
    """Give every regular file under a snapshot's folder its mode; folders stay as they are, for the retention.

    A file that has links elsewhere, such as an encoder's, only loses the right to be written; one of another user stays
    as it is.
    """
    mode = read_mode(folder)
    for inner, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(inner, name)
            status = os.lstat(path)
            wanted = mode if status.st_nlink == 1 else stat.S_IMODE(status.st_mode) & ~_WRITE
            if stat.S_ISREG(status.st_mode) and stat.S_IMODE(status.st_mode) != wanted:
                with suppress(PermissionError):
                    os.chmod(path, wanted)
