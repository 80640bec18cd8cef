"""Open what a store has as its current snapshot; from a store elsewhere, what its cache has where that fails."""

import logging
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from router.errors import SnapshotInvalid, SnapshotUntrusted
from router.refusals import damage_refused
from router.snapshot.overlay import Overlay
from router.snapshot.snapshot import Snapshot
from router.snapshot.store.protocol import CachingStore, ReadableStore, current_folder

if TYPE_CHECKING:
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


def open_current(store: ReadableStore, trust: "Trust | None", before: Snapshot | None = None) -> Snapshot | None:
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


def open_last_served(store: ReadableStore, trust: "Trust | None", problem: SnapshotInvalid) -> Snapshot:
    """Return the snapshot that a cache served last, with a warning, for a store that gives none because of `problem`.

    Raises `problem` where there is none, or it does not open either.
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


def _open_repaired(folder: Path, store: ReadableStore, trust: "Trust | None", before: Snapshot | None) -> Snapshot:
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


def _open(folder: Path, trust: "Trust | None", before: Snapshot | None = None) -> Snapshot:
    with damage_refused(f"{folder} cannot be opened"):  # removed, or cut short, while it was opened
        if trust is None:
            return Snapshot.open(folder, before=before)
        from router.snapshot.trust import open_trusted  # here: most routers check no signature

        return open_trusted(folder, trust, before)


class Freshness(msgspec.Struct, frozen=True):
    """The moments of the last looks at the source, in seconds of `time.monotonic`; None where there was none yet.

    A snapshot in use may be old and fresh: a catalog may not change for months. It is stale where nobody can say
    that it is still the newest: the source cannot be read, or what it publishes is refused.

    Attributes:
        watch_s: Seconds between two looks; None where nothing looks, and nothing is known.
        read_at: When the source last said what is newest.
        current_at: When the newest was last found to be what serves.
    """

    watch_s: float | None = None
    read_at: float | None = None
    current_at: float | None = None


class LiveSnapshot(Protocol):
    """A snapshot that may be replaced while a router serves: see `router.snapshot.reloading`."""

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot that serves now."""
        ...

    @property
    def overlay(self) -> Overlay:
        """The overlay on it."""
        ...

    @property
    def refusal(self) -> str:
        """Why the newest publication was refused; empty where it serves."""
        ...

    @property
    def freshness(self) -> Freshness:
        """When what serves was last found to be the newest."""
        ...

    @property
    def trust(self) -> "Trust | None":
        """What it trusts; None where no signature is checked."""
        ...

    def reload(self) -> bool:
        """Serve the store's current snapshot; return whether it is another one."""
        ...

    def change(self, change: Callable[[Overlay], Overlay]) -> Overlay:
        """Replace the overlay by `change` of it, and return the new one."""
        ...

    def save(self, path: Path) -> None:
        """Write the overlay to a file."""
        ...

    def close(self) -> None:
        """End its threads."""
        ...
