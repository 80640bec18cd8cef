"""Files that stay open, for a library that opens them by their paths again and again.

A snapshot's files are verified through a folder of links that goes when the snapshot is open. A database engine reads
its table's files later, by path. Here each file keeps its descriptor, and every process that reads gets a folder of
links to the descriptors: what was hashed is what is read, also where the snapshot's folder was removed meanwhile.
"""

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable
from pathlib import Path

_DESCRIPTORS = Path("/proc/self/fd")  # a link there opens the same file again, wherever its path leads by now


class HeldFiles:
    """Files of a folder, by name, each open until this is freed. A forked child may use its parent's."""

    def __init__(self, folder: Path, names: Iterable[str]) -> None:
        """Open the files. Raises OSError where one cannot be opened.

        Without /proc only their paths are kept.
        """
        self._targets: dict[str, Path] = {}
        descriptors: list[int] = []
        weakref.finalize(self, _close, descriptors)
        for name in names:
            if _DESCRIPTORS.is_dir():
                descriptors.append(os.open(folder / name, os.O_RDONLY | os.O_CLOEXEC))
                self._targets[name] = _DESCRIPTORS / str(descriptors[-1])
            else:
                self._targets[name] = (folder / name).resolve()

    def folder(self) -> Path:
        """Make a folder with a link to each file, by its name, and return it.

        It is removed with these files, and by the process that made it. A child must make its own.
        """
        links = Path(tempfile.mkdtemp(prefix="quartermaster-"))
        weakref.finalize(self, _remove, links, os.getpid())
        for name, target in self._targets.items():
            link = links / name
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(target)
        return links


def _close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _remove(links: Path, maker: int) -> None:
    if os.getpid() == maker:  # a child ends with its parent's finalizers
        shutil.rmtree(links, ignore_errors=True)
