"""What `BucketStore` reads: of the bucket, and inside a transaction of what it would write."""

import threading
from collections.abc import Hashable
from pathlib import Path

from pipeline.store.bucket.sweeping import sizes
from pipeline.store.bucket.transactions import Transactions
from pipeline.store.disk import DiskSize
from pipeline.store.local import SnapshotStore
from router.contract import Manifest
from router.errors import SnapshotInvalid
from router.snapshot.store.bucket.cache import Cache, mirror
from router.snapshot.store.bucket.head import Head
from router.snapshot.store.bucket.objects import Objects, ObjectUnavailable
from router.snapshot.store.bucket.pulling import pull
from router.snapshot.store.bucket.remote import RemoteCatalog
from router.snapshot.store.bucket.url import catalog_of
from router.snapshot.store.pointer import is_snapshot_name
from router.snapshot.store.protocol import Stored
from router.snapshot.store.state import StoreState


class CachedCatalog:
    """The reading side of `BucketStore`. It asks the bucket at each call, and fetches snapshots into its cache.

    A router that follows a bucket reads through `BucketReader`, which bounds how long it waits.
    """

    def __init__(self, url: str, cache: Path, patience_s: float) -> None:
        """Connect to nothing yet. The parameters are those of `BucketStore`."""
        self.objects = Objects(url, patience_s)
        self.cache = SnapshotStore.at(cache.absolute())
        self._remote = RemoteCatalog(self.objects)
        self._transactions = Transactions(self._remote, self._written)
        self._sealed: set[str] = set()  # a listing may show them late

    @property
    def label(self) -> str:
        """Return the address."""
        return self.objects.url

    @property
    def catalog(self) -> str:
        """Return the catalog's name: the last part of the address."""
        return catalog_of(self.objects.url)

    def current(self) -> str | None:
        """Return the name of the current snapshot; None where none was published."""
        return self._transactions.head().snapshot

    def publication(self) -> Hashable:
        """Return what serves, and the signed pointer to it."""
        head = self._transactions.head()
        return head.snapshot, head.pointer

    def signed_pointer(self) -> bytes | None:
        """Return the signed statement about the current snapshot; None where there is none."""
        return self._transactions.head().pointer.encode() or None

    def state(self) -> StoreState:
        """Return what CURRENT holds of decisions and numbers. Raises SnapshotInvalid where it is damaged."""
        return self._transactions.head().state

    def snapshots(self) -> list[Stored]:
        """Return the snapshots in the bucket, newest first, apart from those that retention has removed."""
        return self._remote.stored(self._transactions.head(), self._sealed)

    def sizes(self) -> dict[str, DiskSize]:
        """Return the bytes in the bucket of each listed snapshot; what several of them have is shared."""
        return sizes(self._remote, {stored.name for stored in self.snapshots()})

    def local_folder(self, name: str) -> Path:
        """Return the folder of a snapshot in the cache, fetched where it is not there. Raises SnapshotInvalid."""
        was_there = is_cached(self.cache.folder, name)
        folder = fetch(self._remote, self.cache.folder, name)
        if not was_there:
            mirror(self.cache, self._transactions.head())
        return folder

    def signature(self, name: str) -> bytes | None:
        """Return a snapshot's signatures; None where it has none."""
        return self._remote.signature(name)

    def _written(self, head: Head) -> None:
        """Take over what CURRENT says since this store has written it."""
        mirror(self.cache, head)


_WAIT_S = 300.0  # for another process that fetches into the same cache


def is_cached(cache: Path, name: str) -> bool:
    """Return whether a cache has a snapshot, with a manifest that can be read."""
    try:
        Manifest.read(cache / name)
    except SnapshotInvalid:
        return False
    return True


def fetch(remote: RemoteCatalog, folder: Path, name: str) -> Path:
    """Return the folder of a snapshot in the cache's folder, fetched if it is not there.

    Raises SnapshotInvalid where the bucket has none of the name, or a damaged one, and OSError.
    """
    if not is_snapshot_name(name):
        raise SnapshotInvalid(f"{remote.url} has no snapshot {name!r:.100}")
    if not is_cached(folder, name):
        cache = Cache(folder)
        try:
            with cache.locked(_WAIT_S, threading.Event()):
                if not is_cached(folder, name):
                    pull(remote, cache, name, threading.Event())
        except BlockingIOError as error:
            raise ObjectUnavailable(f"another process fetches into {folder} for a long time: {error}") from error
    return folder / name
