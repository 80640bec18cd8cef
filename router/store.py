"""Snapshot stores as routers read them. What builds and operators write: `pipeline.store`.

An object with the methods of `ReadableStore` stands for a store that is elsewhere: `Router.open` takes it in the place
of a path.
"""

from router.snapshot.store.bucket.url import CACHE_DIR_VARIABLE, cache_place, catalog_of, checked_url, is_url
from router.snapshot.store.folder import CatalogFolder
from router.snapshot.store.path import SnapshotPath, open_store
from router.snapshot.store.protocol import (
    CachingStore,
    ReadableStore,
    SignedStore,
    StoreChanged,
    Stored,
    StoreUnavailable,
    current_folder,
)

__all__ = [
    "CACHE_DIR_VARIABLE",
    "CachingStore",
    "CatalogFolder",
    "ReadableStore",
    "SignedStore",
    "SnapshotPath",
    "StoreChanged",
    "StoreUnavailable",
    "Stored",
    "cache_place",
    "catalog_of",
    "checked_url",
    "current_folder",
    "is_url",
    "open_store",
]
