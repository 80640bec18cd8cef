"""What `BucketStore` reads: of the bucket, and inside a transaction of what it would write."""

from collections.abc import Hashable
from pathlib import Path

from pipeline.store.bucket.fetching import fetch, is_cached
from pipeline.store.bucket.sizes import sizes
from pipeline.store.bucket.transactions import Transactions
from pipeline.store.disk import DiskSize
from pipeline.store.local import SnapshotStore
from router.snapshot.store.bucket.head import Head
from router.snapshot.store.bucket.objects import Objects
from router.snapshot.store.bucket.origin import mirror
from router.snapshot.store.bucket.remote import RemoteCatalog
from router.snapshot.store.bucket.url import catalog_of
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
