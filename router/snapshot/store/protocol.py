"""What the router reads of a snapshot store, and what a build writes to it.

`Router.open` takes any object with the methods of `ReadableStore`. Its methods raise SnapshotInvalid or OSError where
the store cannot be read: a router that watches it then keeps what it serves, and tries again.
"""

from collections.abc import Hashable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from router.contract import Manifest
from router.errors import SnapshotInvalid

if TYPE_CHECKING:
    from router.snapshot.store.state import StoreState

_LOOKS = 3


class StoreUnavailable(OSError):
    """A store elsewhere does not answer, or refuses. Another try may succeed."""


class StoreChanged(OSError):
    """Somebody else changed a store between a decision's reading and its writing: nothing was written."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A complete snapshot in a store, with its manifest; `problem` says why the manifest is None.

    `sequence` is needed only without a manifest: one of another format version may tell its number all the same.
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
    """A store whose snapshots an operator may go back to under a signature: see docs/signing.md.

    From a store without these methods a router with trusted keys takes newer snapshots only, and must be told the
    catalog's name.
    """

    @property
    def catalog(self) -> str:
        """Return the catalog's name as the reader knows it, not as a snapshot or the place's owner says."""
        ...

    def signed_pointer(self) -> bytes | None:
        """Return the signed statement about the snapshot that an operator went back to; None where there is none."""
        ...


@runtime_checkable
class WritableStore(ReadableStore, Protocol):
    """A store that a build can write to. One build writes at a time.

    A power loss may come at any time. `seal`, `publish` and `write_state` therefore return only when what they wrote
    would outlast one: on a disk after `fsync`, in a bucket after the server's answer. They raise OSError where it
    cannot be written; what served then goes on serving.
    """

    def staging(self, content_hash: str) -> AbstractContextManager[Path]:
        """Return an empty folder on this machine to build in, which is removed at the end of the `with` block."""
        ...

    def seal(self, staged: Path) -> Path:
        """Store a verified staging folder as a snapshot and return its local folder. It is not current yet.

        Every file of it is on disk when this returns, and no reader sees a part of it before.
        """
        ...

    def publish(self, snapshot: str) -> None:
        """Make a snapshot the current one, in one step. Raises SnapshotInvalid for a name that the store lacks.

        After a power loss the current one is this or the one before, whole; after the return it is this.
        """
        ...

    def retain(self, keep: int) -> list[str]:
        """Remove old snapshots and return their names, sorted. The current one and the newest `keep` stay.

        A build calls it at its end, also where it wrote nothing: it removes what killed builds left, too.
        """
        ...

    def rollback(self) -> str:
        """Publish the newest older snapshot that opens and was not held back, and return its name.

        Raises SettingsInvalid where there is none.
        """
        ...


@runtime_checkable
class DecisionStore(WritableStore, Protocol):
    """A store that remembers what an operator decided, so that no build undoes it: see `decisions`.

    A store without these methods works. Its builds publish again what was rolled back from, and it has no pins.
    """

    def state(self) -> "StoreState":
        """Return what the store remembers. Raises SnapshotInvalid where that is damaged."""
        ...

    def write_state(self, state: "StoreState") -> None:
        """Replace what the store remembers, in one step. The caller holds `locked`."""
        ...

    def locked(self) -> AbstractContextManager[None]:
        """Return a context in which no other process changes the state or the current snapshot.

        It may wait for one that does. It is not entered twice by one thread. A store elsewhere that has no lock may
        instead write all that changed at the end of the block, in one step, and raise StoreChanged there where another
        process was first: `conflicts.retried` then runs the decision again.
        """
        ...

    def take_sequence(self) -> int:
        """Return a number that is larger than every one before it, and remember it."""
        ...


@runtime_checkable
class PointerStore(SignedStore, DecisionStore, Protocol):
    """A store that can keep a signed pointer."""

    def write_signed_pointer(self, text: str) -> None:
        """Replace the signed pointer in one step. The caller holds `locked`."""
        ...


@runtime_checkable
class SignatureStore(Protocol):
    """A store elsewhere, whose signatures are read and written without fetching the snapshot."""

    def signature(self, name: str) -> bytes | None:
        """Return a snapshot's signatures; None where it has none."""
        ...

    def store_signature(self, name: str) -> None:
        """Store the signatures that lie in a snapshot's local folder, beside those that the store has."""
        ...


@runtime_checkable
class SharedStore(WritableStore, Protocol):
    """A store that builds on several machines may write to at once.

    Such a build compares its snapshot with what was current when it began, and publishes only while that still is.
    """

    @property
    def base(self) -> str | None:
        """Return the snapshot that was current when the build began; its own once it has published."""
        ...

    def begin_build(self, *, writes: bool = True) -> None:
        """Note what is current. Raises StoreUnavailable, also where `writes` and the store cannot be written to."""
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
