"""Stores of every kind, and how a snapshot gets into one."""

import shutil
from pathlib import Path

from pipeline.store import DecisionStore, SnapshotStore
from pipeline.store.bucket.store import BucketStore
from tests.support.object_storage import Bucket
from tests.support.zip_store import ZipStore

KINDS = ("folder", "zip files", "bucket", "bucket in a folder")


def empty_store(kind: str, folder: Path, bucket: Bucket) -> DecisionStore:
    """Return an empty store of a kind, of the catalog "office". The environment names the bucket's server."""
    if kind == "folder":
        return SnapshotStore(folder, "office")
    if kind == "zip files":
        return ZipStore(folder / "local")
    address = f"{bucket.url}/catalogs/office" if kind == "bucket" else f"file://{folder}/bucket/office"
    return BucketStore(address, folder / "cache/snapshots/office")


def put(store: DecisionStore, folder: Path) -> None:
    """Put a snapshot's folder into a store of any kind, under its own name."""
    if isinstance(store, BucketStore):
        store.upload(folder)
    elif isinstance(store, SnapshotStore):
        shutil.copytree(folder, store.folder / folder.name)
    else:
        with store.staging(folder.name) as staged:
            shutil.copytree(folder, staged, dirs_exist_ok=True)
            store.seal(staged)
