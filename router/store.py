"""Snapshot stores: what the router reads of one, what a build writes to it, and the one in a folder.

`SnapshotStore` keeps the snapshots of a catalog in a folder. An object with the methods of `ReadableStore` stands for
one that is elsewhere, and `Router.open` takes it in the place of a path. `decisions` are what an operator may do: pin,
roll back, release.
"""

from router.snapshot.store import decisions
from router.snapshot.store.bucket.place import CACHE_DIR_VARIABLE, cache_place
from router.snapshot.store.bucket.url import catalog_of, checked_url, is_url
from router.snapshot.store.caching import CachingStore
from router.snapshot.store.disk import DiskSize, disk_size, share_unchanged
from router.snapshot.store.local import SnapshotStore
from router.snapshot.store.path import SnapshotPath, open_store
from router.snapshot.store.protocol import (
    DecisionStore,
    PointerStore,
    ReadableStore,
    SharedStore,
    SignedStore,
    StoreChanged,
    Stored,
    StoreUnavailable,
    WritableStore,
    current_folder,
)
from router.snapshot.store.retention import removable
from router.snapshot.store.serviceable import is_held, is_rolled_back
from router.snapshot.store.signing import (
    UNSIGNED,
    Signing,
    sign_in,
    sign_manifest,
    sign_snapshot,
    signing_keys,
    signing_keys_in,
)
from router.snapshot.store.state import RolledBack, StoreState
from router.snapshot.store.workspace import catalogs, last_built

__all__ = [
    "CACHE_DIR_VARIABLE",
    "UNSIGNED",
    "CachingStore",
    "DecisionStore",
    "DiskSize",
    "PointerStore",
    "ReadableStore",
    "RolledBack",
    "SharedStore",
    "SignedStore",
    "Signing",
    "SnapshotPath",
    "SnapshotStore",
    "StoreChanged",
    "StoreState",
    "StoreUnavailable",
    "Stored",
    "WritableStore",
    "cache_place",
    "catalog_of",
    "catalogs",
    "checked_url",
    "current_folder",
    "decisions",
    "disk_size",
    "is_held",
    "is_rolled_back",
    "is_url",
    "last_built",
    "open_store",
    "removable",
    "share_unchanged",
    "sign_in",
    "sign_manifest",
    "sign_snapshot",
    "signing_keys",
    "signing_keys_in",
]
