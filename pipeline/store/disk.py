"""The disk that snapshots take, and files that they share by hard links."""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pipeline.store.local import SnapshotStore
from router.contract import CATALOG_DB, Manifest, sequence_in
from router.errors import SnapshotInvalid
from router.fingerprint import file_sha256

_BLOCK = 512  # bytes of st_blocks, whatever the file system's blocks are


@dataclass(frozen=True, slots=True)
class DiskSize:
    """Bytes on disk: `own` are freed when the folder is removed; `shared` files have links elsewhere too."""

    own: int
    shared: int


def disk_size(folder: Path) -> DiskSize:
    """Return the bytes on disk of the files under a folder. Files that vanish meanwhile count as none."""
    links: dict[tuple[int, int], tuple[int, int, int]] = {}  # by inode: links here, links in all, bytes
    for inner, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                status = os.lstat(os.path.join(inner, name))
                blocks = getattr(status, "st_blocks", None)  # not on Windows
                size = status.st_size if blocks is None else blocks * _BLOCK
                inode = status.st_dev, status.st_ino
                links[inode] = links.get(inode, (0, 0, 0))[0] + 1, status.st_nlink, size
    own = sum(size for here, everywhere, size in links.values() if here >= everywhere)
    return DiskSize(own, sum(size for *_, size in links.values()) - own)


def share_unchanged(staged: Path, files: Mapping[str, str], previous: Path | None) -> None:
    """Replace files of a snapshot under construction by hard links to equal files of a stored one.

    `files` are its checksums by path. The stored file is read and compared with the checksum, so that damage does not
    spread. Does nothing where the file system has no links. `catalog.duckdb` is never equal.
    """
    if previous is None:
        return
    with suppress(SnapshotInvalid):
        stored = Manifest.read(previous).files
        for name, checksum in files.items():
            if stored.get(name) == checksum and name != CATALOG_DB:
                _link(previous / name, staged / name, checksum)


def _link(source: Path, target: Path, checksum: str) -> None:
    link = target.with_name(f".{target.name}.link")
    try:
        if source.samefile(target) or file_sha256(source) != checksum:
            return
        os.link(source, link)
    except OSError:  # gone, unreadable, on another disk, or no links here: the file stays as it was written
        return
    link.replace(target)


def catalogs(workspace: Path) -> list[str]:
    """Return the names of a workspace's catalogs, sorted."""
    folder = workspace / "snapshots"
    return sorted(f.name for f in folder.iterdir() if f.is_dir()) if folder.is_dir() else []


def last_built(workspace: Path) -> str | None:
    """Return the catalog whose newest snapshot is the newest of the workspace; None where there is no catalog.

    Catalogs that serve a snapshot go before those that serve none. Snapshots without a number are compared by the time
    in seconds with which their names begin; ties are broken by the catalog's name.
    """

    def age(name: str) -> tuple[bool, int, str]:
        store = SnapshotStore(workspace, name)
        newest = store.newest() or ""
        return store.current() is not None, sequence_in(store.folder / newest), newest.partition("-")[0]

    return max(catalogs(workspace), key=age, default=None)  # sorted by name, and `max` returns the first of equals
