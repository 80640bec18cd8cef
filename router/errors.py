"""The errors that the router raises, by consequence.

    QuartermasterError
    ├── SettingsInvalid    a setting or an argument is wrong: nothing was started      (exit code 2)
    │   └── RequestInvalid the request cannot be routed; the router stays open         (exit code 2)
    ├── NothingSelected    a selection left no tool, and its settings ask for an error  (exit code 3)
    ├── RerankingFailed    a reranker gave no usable scores (`router.answer.reranking`) (exit code 3)
    ├── EncoderInvalid     an encoder cannot be read or exported                       (exit code 3)
    ├── SnapshotInvalid    a snapshot is missing, corrupt or of another version: fail closed (exit code 4)
    │   └── SnapshotUntrusted  no trusted key signed it, or it is older than what served        (exit code 4)
    └── RecordRejected     one record cannot be used: a build reports it and continues

`pipeline.errors` adds the errors that only a build raises.
"""

import reprlib
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from router.record import Origin

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 80


def quoted(value: object) -> str:
    """Return a value as a message quotes it: of any length and depth, in few characters."""
    return _SHORT.repr(value)


class QuartermasterError(Exception):
    """Base of every error that Quartermaster raises on purpose. The command line ends with its `exit_code`."""

    exit_code = 3


class SettingsInvalid(QuartermasterError):
    """A setting or an argument has a wrong value. The message names it and the values that it may have.

    `field` is its name, where it is one of a struct's.
    """

    exit_code = 2

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class RequestInvalid(SettingsInvalid):
    """A request that cannot be routed, such as an empty one or k = 0."""


class NothingSelected(QuartermasterError):
    """No tool is left for a request, and the selection's `fallback_to_empty` is false."""


class EncoderInvalid(QuartermasterError):
    """An encoder's files cannot be read or exported, or give other vectors than expected."""


class SnapshotInvalid(QuartermasterError):
    """A snapshot is missing, incomplete, corrupt, or of another format version."""

    exit_code = 4


class SnapshotUntrusted(SnapshotInvalid):
    """No trusted key signed a snapshot, it is of another catalog, or it is older than one that served."""


class RecordRejected(QuartermasterError):
    """One record cannot be used. It is reported and stored with its origin; the other records are still used.

    `keys` are the keys of a record that has no name.
    """

    def __init__(self, origin: "Origin", reason: str, *, keys: tuple[str, ...] = ()) -> None:
        super().__init__(f"{origin.file} {origin.pointer}: {reason}")
        self.origin = origin
        self.reason = reason
        self.keys = keys

    def __reduce__(self) -> tuple[Callable[..., "RecordRejected"], tuple["Origin", str, tuple[str, ...]]]:
        """Return how to make it again from its parts: an exception is pickled with nothing but its message."""
        return _rejected, (self.origin, self.reason, self.keys)


def _rejected(origin: "Origin", reason: str, keys: tuple[str, ...]) -> RecordRejected:
    return RecordRejected(origin, reason, keys=keys)
