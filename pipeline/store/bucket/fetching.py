"""Fetches a snapshot for whoever writes to a bucket: a build that compares with it, an operator who decides."""

import threading
from pathlib import Path

from router.contract import Manifest
from router.errors import SnapshotInvalid
from router.snapshot.store.bucket.cache import Cache
from router.snapshot.store.bucket.objects import ObjectUnavailable
from router.snapshot.store.bucket.pulling import pull
from router.snapshot.store.bucket.remote import RemoteCatalog
from router.snapshot.store.names import is_snapshot_name

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
