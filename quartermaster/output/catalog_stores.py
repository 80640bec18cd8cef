"""The store that a user names: a catalog of the workspace, or the address of one in a bucket."""

from collections.abc import Mapping
from pathlib import Path

from pipeline.store import DiskSize, SnapshotStore, disk_size
from pipeline.store.bucket.store import BucketStore
from router.errors import SnapshotInvalid
from router.snapshot.store.bucket.cache import origin_of
from router.snapshot.store.bucket.url import catalog_of, is_url
from router.store import cache_place, current_folder, open_store

CatalogStore = SnapshotStore | BucketStore


def listed_store(workspace: Path, catalog: str) -> CatalogStore:
    """Return the store at an address, or of a catalog as it lies in the workspace. Raises SettingsInvalid."""
    if not is_url(catalog):
        return SnapshotStore(workspace, catalog)
    local = SnapshotStore(workspace, catalog_of(catalog))
    is_cached_here = origin_of(local.folder) == catalog.rstrip("/")
    return BucketStore(catalog, local.folder if is_cached_here else cache_place(catalog))


def deciding_store(workspace: Path, catalog: str) -> CatalogStore:
    """Return the store in which a decision for a catalog is made: its bucket where it has one. Raises as above."""
    store = listed_store(workspace, catalog)
    if isinstance(store, SnapshotStore) and (address := address_of_copy(store)):
        return BucketStore(address, store.folder)
    return store


def address_of_copy(store: CatalogStore) -> str | None:
    """Return the address of the bucket whose copy a catalog's folder is; None for any other store."""
    return origin_of(store.folder) if isinstance(store, SnapshotStore) else None


def require_serving(store: CatalogStore) -> None:
    """Raise SnapshotInvalid where a store serves no snapshot that is there."""
    if isinstance(store, SnapshotStore):
        current_folder(open_store(store.folder))
        return
    name = store.current()
    if name is None:
        raise SnapshotInvalid(f"{store.label} serves no snapshot: none was published")
    if name not in {stored.name for stored in store.snapshots()}:
        raise SnapshotInvalid(f"{store.label} serves {name}, whose manifest is not there")


def sizes(store: CatalogStore, names: list[str]) -> Mapping[str, DiskSize]:
    """Return the bytes that each snapshot takes, on the disk or in the bucket."""
    if isinstance(store, BucketStore):
        return store.sizes()
    return {name: disk_size(store.folder / name) for name in names}
