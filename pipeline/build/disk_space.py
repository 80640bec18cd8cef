"""What a build gives back of the disk: old databases as deltas, caches that nothing uses any more."""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from pipeline.encoders.export import UNUSED_DAYS, cache_folder, remove_unused
from pipeline.progress import Progress
from pipeline.store import SnapshotStore, WritableStore, disk_size
from pipeline.store.bucket.store import BucketStore
from router.errors import EncoderInvalid

_CACHES = ("screened", "compared")  # one file a catalog; builds no longer write the former
_DAY_S = 86_400.0


def save_space(store: WritableStore, note: Callable[[str], object]) -> None:
    """Store the databases of old snapshots on this disk as deltas; tell what could not be done."""
    if (folder := _on_this_disk(store)) is not None:
        for problem in folder.save_space():
            note(problem)


def stored_bytes(store: WritableStore) -> int:
    """Return the bytes on this disk of a catalog's snapshots, each file once; 0 for a store that is elsewhere alone."""
    if (folder := _on_this_disk(store)) is None:
        return 0
    size = disk_size(folder.folder)
    return size.own + size.shared


def _on_this_disk(store: WritableStore) -> SnapshotStore | None:
    """Return a store in a folder, or the cache of one in a bucket; None for any other."""
    if isinstance(store, BucketStore):
        return store.cache
    return store if isinstance(store, SnapshotStore) else None


def remove_unused_caches(workspace: Path, progress: Progress) -> None:
    """Remove exported encoders, and cached checks, that nothing used for 30 days."""
    folders = [workspace / "encoders"]
    with suppress(EncoderInvalid):  # told where an encoder is looked for
        folders.append(cache_folder())
    for folder in folders:
        if removed := remove_unused(folder):
            names = ", ".join(removed)
            progress.note(f"exported encoders that nothing used for {UNUSED_DAYS} days were removed: {names}")
    if removed := _remove_unused_checks(workspace):
        progress.note(f"cached checks that nothing used for {UNUSED_DAYS} days were removed: {', '.join(removed)}")


def _remove_unused_checks(workspace: Path) -> list[str]:
    """Remove the comparisons of catalogs without a snapshot, and all verdicts of the record's checks."""
    known = {folder.name for folder in workspace.glob("*/*/") if folder.parent.name not in _CACHES}
    removed = []
    for file in sorted(file for cache in _CACHES for file in workspace.glob(f"{cache}/*")):
        catalog = file.stem.removeprefix(".").removesuffix(".npz")
        with suppress(OSError):  # a cache that cannot be removed may stay
            is_used = file.parent.name == "compared" and catalog in known
            if not is_used and time.time() - file.stat().st_mtime > UNUSED_DAYS * _DAY_S:
                file.unlink()
                removed.append(f"{file.parent.name}/{file.name}")
    return removed
