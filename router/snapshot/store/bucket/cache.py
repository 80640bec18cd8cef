"""The cache of a bucket's catalog: a local catalog folder that several processes share.

<snapshot>/           a whole snapshot; a process that serves it holds a shared lock of the folder
CURRENT               the snapshot that was verified and served last, with its signed pointer beside it
.pulling/<sha256>     files that a pull has fetched and verified; `.part` while they come
.pulling.lock         held by the process that pulls
"""

import logging
import os
import shutil
import threading
import weakref
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from router.contract import MANIFEST, POINTER_SIGNATURE, Manifest
from router.errors import SettingsInvalid, SnapshotInvalid
from router.files import read_in
from router.snapshot.store.bucket.head import Head
from router.snapshot.store.bucket.url import CACHE_DIR_VARIABLE
from router.snapshot.store.durable import make_folder, replace_text
from router.snapshot.store.folder import CatalogFolder
from router.snapshot.store.locking import hold_folder, lock_file_within, lock_folder
from router.snapshot.store.pointer import ORIGIN, is_snapshot_name, stored_folders

_logger = logging.getLogger("router")
_REMOVED = ".building-removed-"  # which local commands remove as well


class Cache:
    """The cache in a catalog's folder. Its methods may be called from any thread."""

    def __init__(self, folder: Path) -> None:
        """Make the folder. Raises SettingsInvalid where that cannot be done."""
        try:
            make_folder(folder)
        except OSError as error:
            raise SettingsInvalid(
                f"the cache {folder} cannot be made: {error}. Name another folder: cache_dir, --cache-dir or "
                f"{CACHE_DIR_VARIABLE}"
            ) from error
        self.folder = folder
        self.store = CatalogFolder(folder)
        self._held: dict[str, int] = {}
        weakref.finalize(self, _let_go, self._held)

    @property
    def pulling(self) -> Path:
        """Return the folder in which a pull keeps files until it is done."""
        return self.folder / ".pulling"

    @contextmanager
    def locked(self, seconds: float, stop: threading.Event) -> Iterator[None]:
        """Keep other processes from pulling inside the block. Raises BlockingIOError as `lock_file_within` does."""
        make_folder(self.folder)  # it may have been removed while this process serves
        with lock_file_within(self.folder / ".pulling.lock", seconds, stop):
            yield

    def current(self) -> str | None:
        """Return the name of the snapshot that served last; None where CURRENT holds none."""
        try:
            name = self.store.current()
        except (OSError, SnapshotInvalid):  # it is written anew with the next snapshot that serves
            return None
        return name if name and is_snapshot_name(name) else None

    def hold(self, name: str) -> Path | None:
        """Return the folder of a snapshot that is in the cache, and keep it there; None where it is not, or unreadable.

        It stays until `hold_only` lets go of it, or the process ends.
        """
        folder = self.folder / name
        if not self._holds(folder):
            self._let_go_of(name)
            descriptor = hold_folder(folder)
            if descriptor is None:
                return None
            self._held[name] = descriptor
        try:
            Manifest.read(folder)
        except SnapshotInvalid:
            self._let_go_of(name)
            return None
        return folder

    def hold_only(self, names: Collection[str]) -> None:
        """Let go of all other snapshots."""
        for name in set(self._held) - set(names):
            self._let_go_of(name)

    def remember(self, name: str, pointer: bytes | None) -> None:
        """Make a snapshot the one that `CatalogFolder.current` and the start without the bucket find."""
        with self.store.locked():
            if pointer is not None:
                if pointer != self.store.signed_pointer():
                    self.store.write_signed_pointer(pointer.decode())
            else:
                (self.folder / POINTER_SIGNATURE).unlink(missing_ok=True)
            if self.current() != name:
                self.store.publish(name)

    def remove_all_but(self, kept: Collection[str]) -> list[str]:
        """Remove the snapshots that are not kept and that no process holds; return their names.

        The newest of the others stays: it is the one to go back to. Raises BlockingIOError where another process pulls.
        """
        removed = []
        with self.locked(0, threading.Event()):
            others = [folder for folder in stored_folders(self.folder) if folder.name not in kept]
            for folder in others[len(kept) == 1 :]:
                with suppress(BlockingIOError), lock_folder(folder):
                    self.remove(folder)
                    removed.append(folder.name)
        return removed

    def remove(self, folder: Path) -> None:
        """Remove a folder: first its name, in one step, then its files. The caller holds `locked`."""
        if folder.is_symlink() or not folder.is_dir():  # never one of ours, and a pipe would wait for a writer
            folder.unlink()
            return
        leftover = self.folder / f"{_REMOVED}{folder.name}"
        shutil.rmtree(leftover, ignore_errors=True)
        folder.rename(leftover)
        shutil.rmtree(leftover, ignore_errors=True)

    def manifests(self) -> Iterator[tuple[Path, Manifest]]:
        """Yield the folders of the cached snapshots with their manifests, the newest first."""
        for folder in stored_folders(self.folder):
            with suppress(SnapshotInvalid):
                yield folder, Manifest.read(folder)

    def _holds(self, folder: Path) -> bool:
        """Return whether the lock of a folder is held, and not that of one which was replaced."""
        if (descriptor := self._held.get(folder.name)) is None:
            return False
        with suppress(FileNotFoundError):
            return os.path.samestat(os.fstat(descriptor), os.stat(folder))
        return False

    def _let_go_of(self, name: str) -> None:
        descriptor = self._held.pop(name, None)
        if descriptor is not None:
            os.close(descriptor)

    def close(self) -> None:
        """Let go of every snapshot."""
        self.hold_only(())


def _let_go(held: dict[str, int]) -> None:
    for descriptor in held.values():
        os.close(descriptor)
    held.clear()


_MOST_BYTES = 4096


def origin_of(folder: Path) -> str | None:
    """Return the address of the bucket whose cache a catalog's folder is; None where it is none.

    Raises SnapshotInvalid where the file that tells cannot be read.
    """
    try:
        return read_in(folder, ORIGIN, _MOST_BYTES)[0].decode().strip() or None
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise SnapshotInvalid(f"{folder / ORIGIN} cannot be read: {error}") from error


def mark(cache: CatalogFolder, url: str) -> None:
    """Write into a cache's folder which bucket it is of. Raises OSError."""
    if origin_of(cache.folder) != url:
        make_folder(cache.folder)
        replace_text(cache.folder / ORIGIN, url + "\n")


def mirror(cache: CatalogFolder, head: Head) -> None:
    """Let a cache say what its bucket says: the decisions, the signed pointer, and what serves, if it lies there.

    A failure is logged: the bucket has the truth.
    """
    try:
        with cache.locked():
            if cache.state() != head.state:
                cache.write_state(head.state)
            if (cache.signed_pointer() or b"").decode() != head.pointer:
                replace_text(cache.folder / POINTER_SIGNATURE, head.pointer)
            name = head.snapshot
            if name and cache.current() != name and (cache.folder / name / MANIFEST).is_file():
                cache.publish(name)
    except (OSError, SnapshotInvalid) as error:
        _logger.warning("%s cannot say what its bucket serves: %s", cache.folder, error)
