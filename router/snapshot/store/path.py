"""What a user names, read as a store: a snapshot's folder, a catalog's folder, a link to either, or an address."""

import os
from collections.abc import Hashable
from pathlib import Path

from router.contract import MANIFEST
from router.errors import SettingsInvalid
from router.snapshot.store.bucket.url import is_url
from router.snapshot.store.folder import CatalogFolder
from router.snapshot.store.pointer import read_current, snapshot_folder
from router.snapshot.store.protocol import ReadableStore, Stored


class SnapshotPath:
    """The reading side of a path. The path may be a link that changes, so it is followed at each call.

    A path to a snapshot's own folder always has that snapshot as the current one, whatever its catalog publishes.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()  # the process may change its working directory

    @property
    def label(self) -> str:
        """Return the absolute path."""
        return str(self._path)

    @property
    def catalog(self) -> str:
        """Return the name of the path's catalog, by the folders in the path as it was given.

        A link is not followed: who may set the link would choose the catalog.
        """
        return (self._path.parent if (self._path / MANIFEST).is_file() else self._path).name

    def signed_pointer(self) -> bytes | None:
        """Return the signed statement beside the catalog's CURRENT. Raises as `CatalogFolder.signed_pointer` does."""
        return self._catalog().signed_pointer()

    def current(self) -> str:
        """Return the name of the snapshot that the path leads to. Raises SnapshotInvalid where there is none."""
        folder = snapshot_folder(self._path)
        return self._path.resolve().name if folder == self._path else folder.name

    def publication(self) -> Hashable:
        """Return where the path leads, and the text and time of CURRENT, or why it cannot be read."""
        try:
            return str(self._path.resolve()), *read_current(self._path)
        except (OSError, UnicodeDecodeError) as error:
            return str(self._path.resolve()), str(error), 0

    def local_folder(self, name: str) -> Path:
        """Return the folder of a snapshot in the path's catalog. Raises SnapshotInvalid where there is none."""
        folder = self._path.resolve()
        if folder.name == name and (folder / MANIFEST).is_file():
            return folder  # which may still be in staging
        return self._catalog().local_folder(name)

    def snapshots(self) -> list[Stored]:
        """Return every complete snapshot of the path's catalog, newest first."""
        return self._catalog().snapshots()

    def _catalog(self) -> CatalogFolder:
        folder = self._path.resolve()
        return CatalogFolder(folder.parent if (folder / MANIFEST).is_file() else folder)


def open_store(
    source: str | os.PathLike[str] | ReadableStore, cache_dir: str | os.PathLike[str] | None = None
) -> ReadableStore:
    """Return a store as it is, a path as the store that it leads to, and an address as the bucket's, cached here.

    `cache_dir` is the folder of the caches of all addresses; by default the user's. Raises SettingsInvalid for a wrong
    address, where obstore is not installed, and for a `cache_dir` without an address.
    """
    if is_url(source):
        from router.snapshot.store.bucket.reader import BucketReader
        from router.snapshot.store.bucket.url import cache_place

        return BucketReader(str(source), cache_place(str(source), cache_dir))
    if cache_dir is not None:
        raise SettingsInvalid(f"cache_dir is for an address such as s3://bucket/catalogs/demo, not for {source!r:.200}")
    return source if isinstance(source, ReadableStore) else SnapshotPath(Path(source))
