"""A store elsewhere that keeps what it fetched on this machine, for a router to start without it and to follow it."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol, runtime_checkable

from router.contract import Manifest
from router.snapshot.store.protocol import ReadableStore

Admit = Callable[[Path, bytes, Manifest], object]


@runtime_checkable
class CachingStore(ReadableStore, Protocol):
    """A store whose `local_folder` fetches into a cache. Its methods may be called from any thread."""

    def admit(self, check: Admit) -> None:
        """Call `check` before files are fetched, with the folder of the signature, the manifest in bytes, and parsed.

        It raises where the snapshot must not serve.
        """
        ...

    def serves(self, name: str) -> None:
        """Remember that a snapshot was verified and serves, and remove from the cache what nobody uses any more."""
        ...

    def last_served(self) -> Path | None:
        """Return the folder of the snapshot in the cache that served last; None without one. Asks nobody else.

        Until the store is read again, its other methods answer from the cache, too.
        """
        ...

    def repair(self, name: str) -> bool:
        """Fetch anew what is damaged of a snapshot in the cache; return False where it was fetched just now."""
        ...

    def close(self) -> None:
        """End what is being fetched, and let go of what serves. Does not wait for a server."""
        ...
