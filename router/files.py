"""Read files that somebody else may have put there: only regular files, inside their folder, of a bounded size.

A path may be a pipe that never ends, a device, or a link to another user's file. The functions here look before they
read, and raise OSError with the path.
"""

import errno
import os
import re
import shutil
import stat
import time
from pathlib import Path

MAX_DEPTH = 8  # folders in the name of a file
_MAX_PART = 255  # bytes of one part of a name, the limit of most file systems
_FORBIDDEN = re.compile(r'[\x00-\x1f\x7f-\x9f\\:*?"<>|]')  # control characters, drives, what Windows reads otherwise
_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


def name_problem(name: str) -> str:
    """Return what is wrong with a file's name relative to its folder; empty where it leads nowhere else."""
    parts = name.split("/")
    if not name or name.startswith("/") or any(part in ("", ".", "..") for part in parts):
        return "must be a relative path without '.', '..' and empty parts"
    if _FORBIDDEN.search(name):
        return "has a backslash, a colon, a wildcard or a control character"
    if len(parts) > MAX_DEPTH:
        return f"has {len(parts)} parts, at most {MAX_DEPTH} are read"
    try:
        longest = max(len(part.encode()) for part in parts)
    except UnicodeEncodeError:
        return "is not a text"
    return f"has a part of {longest} bytes, at most {_MAX_PART} are read" if longest > _MAX_PART else ""


def open_in(folder: Path, name: str) -> int:
    """Return a descriptor of a regular file in a folder. A link, also of a folder on the way, must not lead out.

    Raises OSError, and ValueError for a name that `name_problem` refuses.
    """
    if problem := name_problem(name):
        raise ValueError(f"{name!r} {problem}")
    path = os.fspath(folder)
    for part in name.split("/"):
        path = os.path.join(path, part)
        if stat.S_ISLNK(os.lstat(path).st_mode):
            return _open_link(folder, name)
    return open_regular(Path(path), follow=False)


def _open_link(folder: Path, name: str) -> int:
    """Return a descriptor of a file that links lead to, which must lie in the folder."""
    root, target = Path(os.path.realpath(folder)), Path(os.path.realpath(folder / name))
    if root not in target.parents:
        raise OSError(errno.ELOOP, f"is a link that leads out of its folder, to {target}", str(folder / name))
    return open_regular(target, follow=False)


def open_regular(path: Path, *, follow: bool = True) -> int:
    """Return a descriptor of a regular file; the opening never waits. Raises OSError for any other file."""
    if not stat.S_ISREG((os.stat if follow else os.lstat)(path).st_mode):  # some devices act when they are opened
        raise _not_regular(path)
    descriptor = os.open(path, _FLAGS | (0 if follow else _NO_LINK))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _not_regular(path)
    return descriptor


def read_bounded(path: Path, most: int) -> bytes:
    """Return the bytes of a regular file, which has at most `most`. A link is followed. Raises OSError."""
    return _read(open_regular(path), path, most)[0]


def read_in(folder: Path, name: str, most: int) -> tuple[bytes, os.stat_result]:
    """Return the bytes of a file in a folder, at most `most`, and its status. Raises as `open_in` does."""
    return _read(open_in(folder, name), folder / name, most)


def _read(descriptor: int, path: Path, most: int) -> tuple[bytes, os.stat_result]:
    with os.fdopen(descriptor, "rb") as stream:
        data = stream.read(most + 1)
        if len(data) > most:
            raise OSError(errno.EFBIG, f"is larger than {most:,} bytes, the most that is read", str(path))
        return data, os.fstat(stream.fileno())


def _not_regular(path: Path) -> OSError:
    return OSError(errno.EINVAL, "is not a regular file", str(path))


def remove_links(folder: Path) -> None:
    """Remove a folder of links; try again where Tantivy's own thread has just put its lock file there."""
    for _ in range(100):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.001)
