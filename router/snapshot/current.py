"""Open what a store has as its current snapshot; from a store elsewhere, what its cache has where that fails."""

import logging
from collections.abc import Hashable
from dataclasses import dataclass, field
from pathlib import Path

from router.errors import SnapshotInvalid, SnapshotUntrusted
from router.refusals import damage_refused
from router.snapshot.snapshot import Snapshot
from router.snapshot.store.caching import CachingStore
from router.snapshot.store.protocol import ReadableStore, current_folder
from router.snapshot.trust import Trust

_logger = logging.getLogger("router")


@dataclass(frozen=True)
class Unreadable:
    """Stands for the publication of a store that cannot be read. All are equal: a store that is away is one state."""

    reason: str = field(compare=False)


def publication_of(store: ReadableStore) -> Hashable:
    """Return the store's publication, or that it cannot be read."""
    try:
        return store.publication()
    except (OSError, UnicodeDecodeError, SnapshotInvalid) as error:
        reason = str(error)
        return Unreadable(reason if store.label in reason else f"{store.label} cannot be read: {reason}")


def open_current(store: ReadableStore, trust: Trust | None, before: Snapshot | None = None) -> Snapshot | None:
    """Return the store's current snapshot, verified; None where `before` is that one.

    A snapshot in a cache that proves damaged is fetched anew. Raises SnapshotInvalid.
    """
    folder = current_folder(store)
    if before is not None and before.folder is not None and folder == before.folder.resolve():
        opened = None
    else:
        opened = _open_repaired(folder, store, trust, before)
    if isinstance(store, CachingStore):
        store.serves(folder.name)
    return opened


def open_last_served(store: ReadableStore, trust: Trust | None, problem: SnapshotInvalid) -> Snapshot:
    """Return the snapshot that a cache served last, with a warning, for a store that gives none because of `problem`.

    Raises `problem` where there is no such snapshot, or it does not open either.
    """
    folder = store.last_served() if isinstance(store, CachingStore) else None
    if folder is None:
        raise problem
    try:
        opened = _open(folder, trust)
    except SnapshotInvalid as error:
        raise type(problem)(f"{problem}; and the cache cannot serve {folder.name}: {error}") from error
    _logger.warning("%s: %s of the cache serves, because: %s", store.label, folder.name, problem)
    return opened


def _open_repaired(folder: Path, store: ReadableStore, trust: Trust | None, before: Snapshot | None) -> Snapshot:
    try:
        return _open(folder, trust, before)
    except SnapshotUntrusted:
        raise
    except SnapshotInvalid as error:
        if not isinstance(store, CachingStore):
            raise
        try:
            if not store.repair(folder.name):
                raise
        except OSError as failure:
            raise SnapshotInvalid(f"{error}; and it cannot be fetched anew: {failure}") from error
        _logger.warning("%s: %s was damaged in the cache and fetched anew: %s", store.label, folder.name, error)
    return _open(folder, trust, before)


def _open(folder: Path, trust: Trust | None, before: Snapshot | None = None) -> Snapshot:
    with damage_refused(f"{folder} cannot be opened"):  # removed, or cut short, while it was opened
        if trust is None:
            return Snapshot.open(folder, before=before)
        from router.snapshot.trusted_opening import open_trusted  # here: most routers check no signature

        return open_trusted(folder, trust, before)
