"""Writes that outlast a power loss: what these functions wrote is on disk when they return.

They raise OSError with the path of what could not be written. Windows cannot sync a folder, so none is synced there.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path

from router.contract import MANIFEST


def sync(path: Path) -> None:
    """Wait until a file's content, or the entries of a folder, are on disk."""
    if os.name == "nt" and path.is_dir():
        return
    try:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:  # that of `fsync` names no file
        raise OSError(error.errno, error.strerror, str(path)) from error


def sync_tree(folder: Path) -> None:
    """Wait until every file under a folder is on disk, then every folder, and last the folder itself."""
    for inner, _, files in os.walk(folder, topdown=False, onerror=_raise):
        for name in files:
            if (path := Path(inner, name)).is_file() and not path.is_symlink():  # a pipe cannot be synced
                sync(path)
        sync(Path(inner))


def make_folder(folder: Path) -> None:
    """Make a folder and the missing ones above it."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    sync(folder.parent)


def replace_text(path: Path, text: str) -> None:
    """Write a file in one step: readers see the old text or the new one, whole, and an error leaves the old one."""
    before = path.read_bytes() if path.is_file() else None
    staged = path.with_name(f".{path.name}")
    try:
        staged.write_text(text, encoding="utf-8")
        sync(staged)
        staged.replace(path)
    except OSError:
        staged.unlink(missing_ok=True)
        raise
    try:
        sync(path.parent)
    except OSError:
        _put_back(path, before)
        raise


def _put_back(path: Path, before: bytes | None) -> None:
    """Undo a replacement that may not be on disk: a build that fails must not change what is read."""
    if before is None:
        path.unlink()
        return
    staged = path.with_name(f".{path.name}")
    staged.write_bytes(before)
    staged.replace(path)


def _raise(error: OSError) -> None:
    raise error


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
