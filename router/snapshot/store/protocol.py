"""What the router reads of a snapshot store. What a build writes to one: `pipeline.store.protocol`.

`Router.open` takes any object with the methods of `ReadableStore`. Its methods raise SnapshotInvalid or OSError where
the store cannot be read: a router that watches it then keeps what it serves, and tries again.
"""

from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Protocol, runtime_checkable

import msgspec

from router.contract import Manifest
from router.errors import SnapshotInvalid

_LOOKS = 3


class StoreUnavailable(OSError):
    """A store elsewhere does not answer, or refuses. Another try may succeed."""


class StoreChanged(OSError):
    """Somebody else changed a store between a decision's reading and its writing: nothing was written."""


class Stored(msgspec.Struct, frozen=True):
    """A complete snapshot in a store, with its manifest; `problem` says why the manifest is None.

    `sequence` is needed only without a manifest: one of another format version may still have its number.
    """

    name: str
    manifest: Manifest | None
    current: bool
    problem: str = ""
    sequence: int = 0

    @property
    def held(self) -> bool:
        """Return True where the gate held the snapshot back, and it does not serve."""
        return not self.current and self.manifest is not None and bool(self.manifest.held)

    @property
    def order(self) -> tuple[int, str]:
        """Return what snapshots are sorted by: the number, then the name for old ones, which have none.

        Names begin with a time, but a clock may have been wrong.
        """
        return (self.manifest.sequence if self.manifest else self.sequence), self.name


@runtime_checkable
class ReadableStore(Protocol):
    """The snapshots of one catalog, as the router reads them. Its methods may be called from any thread."""

    @property
    def label(self) -> str:
        """Return what messages call the store, such as its folder or its address."""
        ...

    def current(self) -> str | None:
        """Return the name of the current snapshot; None where none was published."""
        ...

    def publication(self) -> Hashable:
        """Return a value that differs after each publication, such as an ETag or the result of `current`.

        A watching router polls it every few seconds, and reads nothing else until it changes.
        """
        ...

    def local_folder(self, name: str) -> Path:
        """Return the folder on this machine that holds a complete snapshot, fetched if the store is elsewhere.

        The same name gives the same folder, which stays as it is while the process may read it. Raises SnapshotInvalid
        where the store has no snapshot of that name.
        """
        ...

    def snapshots(self) -> list[Stored]:
        """Return every complete snapshot, newest first: by `Stored.order`, the largest first."""
        ...


@runtime_checkable
class SignedStore(ReadableStore, Protocol):
    """A store whose snapshots an operator may go back to under a signature: see docs/operations.md.

    From a store without these methods a router with trusted keys takes newer snapshots only, and needs the
    catalog's name.
    """

    @property
    def catalog(self) -> str:
        """Return the catalog's name as the reader knows it, not as a snapshot or the place's owner says."""
        ...

    def signed_pointer(self) -> bytes | None:
        """Return the signed statement about the snapshot that an operator went back to; None where there is none."""
        ...


def current_folder(store: ReadableStore) -> Path:
    """Return the real local folder of a store's current snapshot.

    Raises SnapshotInvalid where none was published, or the store cannot be read.
    """
    try:
        for left in reversed(range(_LOOKS)):
            name = store.current()
            if name is None:
                raise SnapshotInvalid(f"{store.label} serves no snapshot: none was published")
            try:
                # A link that is set anew while the folder is read would give files of two snapshots.
                return store.local_folder(name).resolve()
            except SnapshotInvalid:  # removed since, perhaps, because another was published
                if not left or store.current() == name:
                    raise
    except (OSError, UnicodeDecodeError) as error:
        raise SnapshotInvalid(f"{store.label} cannot be read: {error}") from error
    raise AssertionError  # the last look returns or raises


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
