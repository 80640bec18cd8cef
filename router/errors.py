"""Errors of the whole product that the router can raise, by consequence.

    QuartermasterError
    ├── SettingsInvalid    a setting or an argument is wrong: nothing was started      (exit code 2)
    │   └── RequestInvalid the request cannot be routed; the router stays open         (exit code 2)
    ├── NothingSelected    a selection left no tool, and is to say so by an error      (exit code 3)
    ├── RerankingFailed    a reranker gave no usable scores (`router.answer.reranking`)       (exit code 3)
    ├── EncoderInvalid     an encoder cannot be read or exported                       (exit code 3)
    ├── RecordRejected     one record cannot be used: a build reports it and goes on
    └── SnapshotInvalid    a snapshot is missing, corrupt or foreign: fail closed      (exit code 4)

`pipeline.errors` adds what only a build can meet.
"""

from router.record import Origin


class QuartermasterError(Exception):
    """Base of every error that Quartermaster raises on purpose. `exit_code` is the command line's."""

    exit_code = 3


class SettingsInvalid(QuartermasterError):
    """A setting or an argument has a wrong value; the message names it and what it may be."""

    exit_code = 2


class RequestInvalid(SettingsInvalid):
    """A request that cannot be routed, such as an empty one or k = 0."""


class NothingSelected(QuartermasterError):
    """No tool is left for a request, and the selection's `fallback_to_empty` is false."""


class EncoderInvalid(QuartermasterError):
    """An encoder's files cannot be read, exported, or do not give the vectors that they should."""


class SnapshotInvalid(QuartermasterError):
    """A snapshot is missing, incomplete, corrupt, or made for another version of this code."""

    exit_code = 4


class RecordRejected(QuartermasterError):
    """One record cannot be used. It is reported and stored with its origin; the rest go on.

    `keys` are those that a record without a name has instead.
    """

    def __init__(self, origin: Origin, reason: str, *, keys: tuple[str, ...] = ()) -> None:
        super().__init__(f"{origin.file} {origin.pointer}: {reason}")
        self.origin = origin
        self.reason = reason
        self.keys = keys
