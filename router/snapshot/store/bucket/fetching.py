"""Fetches a snapshot of a bucket into the cache's folder."""

import hashlib
import os
import shutil
from pathlib import Path

from router.contract import MANIFEST, SIGNATURE
from router.errors import SnapshotInvalid
from router.snapshot.store.bucket.layout import file_object
from router.snapshot.store.bucket.remote import RemoteCatalog
from router.snapshot.store.durable import sync_tree
from router.snapshot.store.local import SnapshotStore
from router.snapshot.store.modes import make_read_only


def fetch(remote: RemoteCatalog, cache: SnapshotStore, name: str) -> Path:
    """Return the folder of a snapshot in the cache, fetched if it is not there. Raises SnapshotInvalid and OSError."""
    folder = cache.folder / name
    if (folder / MANIFEST).is_file():
        return folder
    manifest, data = remote.manifest(name), remote.manifest_bytes(name)
    staged = cache.folder / f".pulling-{name}-{os.getpid()}"
    shutil.rmtree(staged, ignore_errors=True)
    try:
        for path, sha256 in manifest.files.items():
            target = staged / path
            target.parent.mkdir(parents=True, exist_ok=True)
            digest = hashlib.sha256()
            with target.open("wb") as stream:
                for piece in remote.objects.stream(file_object(sha256)):
                    digest.update(piece)
                    stream.write(piece)
            if digest.hexdigest() != sha256:
                raise SnapshotInvalid(f"{remote.url}/{file_object(sha256)} is not what its name says")
        if signature := remote.signature(name):
            (staged / SIGNATURE).write_bytes(signature)
        (staged / MANIFEST).write_bytes(data)
        make_read_only(staged)
        sync_tree(staged)
        staged.rename(folder)
    except FileNotFoundError as error:
        raise SnapshotInvalid(f"{remote.url} lacks a file of {name}: {error}") from error
    finally:
        shutil.rmtree(staged, ignore_errors=True)
    return folder
