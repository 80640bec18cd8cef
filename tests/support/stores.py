"""Stores of every kind, and how a snapshot gets into one."""

import shutil
from pathlib import Path
from typing import Any, cast

from pipeline.store import SnapshotStore, WritableStore
from pipeline.store.bucket.store import BucketStore
from tests.support.object_storage import Bucket

KINDS = ("folder", "own", "bucket", "bucket in a folder")
_METHODS = (
    *("current", "publication", "local_folder", "snapshots", "staging", "seal", "publish", "retain"),
    *("state", "write_state", "locked", "take_sequence"),
)


class OwnStore:
    """A store as a user writes one: it has the methods of a `WritableStore`, and nothing else of the folder's."""

    label = "own://office"

    def __init__(self, folder: Path) -> None:
        self.kept = SnapshotStore(folder, "office")
        for name in _METHODS:
            setattr(self, name, getattr(self.kept, name))


def empty_store(kind: str, folder: Path, bucket: Bucket) -> WritableStore:
    """Return an empty store of a kind, of the catalog "office". The environment names the bucket's server."""
    if kind == "folder":
        return SnapshotStore(folder, "office")
    if kind == "own":
        return cast(WritableStore, OwnStore(folder / "local"))
    address = f"{bucket.url}/catalogs/office" if kind == "bucket" else f"file://{folder}/bucket/office"
    return BucketStore(address, folder / "cache/snapshots/office")


def put(store: WritableStore, folder: Path) -> None:
    """Put a snapshot's folder into a store of any kind, under its own name."""
    if isinstance(store, BucketStore):
        store.upload(folder)
    else:
        kept: Any = getattr(store, "kept", store)
        shutil.copytree(folder, kept.folder / folder.name)
