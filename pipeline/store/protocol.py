"""What a build and an operator need of a store that they write to. `SnapshotStore` and `BucketStore` are two."""

import functools
import random
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import ParamSpec, Protocol, TypeVar, runtime_checkable

from router.snapshot.store.protocol import ReadableStore, SignedStore, StoreChanged
from router.snapshot.store.state import StoreState


@runtime_checkable
class WritableStore(ReadableStore, Protocol):
    """A store that a build can write to, one at a time, and that remembers what an operator decided: see `decisions`.

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

    def state(self) -> StoreState:
        """Return what the store remembers. Raises SnapshotInvalid where that is damaged."""
        ...

    def write_state(self, state: StoreState) -> None:
        """Replace what the store remembers, in one step. The caller holds `locked`."""
        ...

    def locked(self) -> AbstractContextManager[None]:
        """Return a context in which no other process changes the state or the current snapshot.

        It may wait for one that does. It is not entered twice by one thread. A store elsewhere that has no lock may
        instead write all that changed at the end of the block, in one step, and raise StoreChanged there where another
        process was first: `retried` then runs the decision again.
        """
        ...

    def take_sequence(self) -> int:
        """Return a number that is larger than every one before it, and remember it."""
        ...


@runtime_checkable
class PointerStore(SignedStore, WritableStore, Protocol):
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


_TRIES = 30
_LONGEST_PAUSE_S = 1.0

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def retried(decide: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Return the function that runs again, from what the store then holds, where it raises StoreChanged.

    For functions whose only effect is what one `locked` block writes. They pause between two tries, at random, so that
    writers that met once do not meet again. StoreChanged is raised in the end where all tries met another writer.
    """

    @functools.wraps(decide)
    def run(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        for attempt in range(_TRIES):
            try:
                return decide(*args, **kwargs)
            except StoreChanged:
                if attempt == _TRIES - 1:
                    raise
                time.sleep(random.uniform(0, min(_LONGEST_PAUSE_S, 0.02 * 2**attempt)))  # noqa: S311 - no secret
        raise AssertionError  # the last try returns or raises

    return run
