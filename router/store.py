"""Snapshot stores: what the router reads of one, what a build writes to it, and the one in a folder.

`SnapshotStore` keeps the snapshots of a catalog in a folder. An object with the methods of `ReadableStore` stands for
one that is elsewhere, and `Router.open` takes it in the place of a path.
"""

from router.snapshot.store.disk import DiskSize, disk_size, share_unchanged
from router.snapshot.store.local import SnapshotStore, catalogs, last_built
from router.snapshot.store.path import SnapshotPath, open_store
from router.snapshot.store.protocol import ReadableStore, Stored, WritableStore, current_folder

__all__ = [
    "DiskSize",
    "ReadableStore",
    "SnapshotPath",
    "SnapshotStore",
    "Stored",
    "WritableStore",
    "catalogs",
    "current_folder",
    "disk_size",
    "last_built",
    "open_store",
    "share_unchanged",
]
