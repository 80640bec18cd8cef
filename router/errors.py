"""Errors of the whole product that the router can raise, by consequence.

    QuartermasterError
    ├── SettingsInvalid    a setting or an argument is wrong: nothing was started      (exit code 2)
    │   └── RequestInvalid the request cannot be routed; the router stays open         (exit code 2)
    └── SnapshotInvalid    a snapshot is missing, corrupt or foreign: fail closed      (exit code 4)

`pipeline.errors` adds what only a build can meet.
"""


class QuartermasterError(Exception):
    """Base of every error that Quartermaster raises on purpose. `exit_code` is the command line's."""

    exit_code = 3


class SettingsInvalid(QuartermasterError):
    """A setting or an argument has a wrong value; the message names it and what it may be."""

    exit_code = 2


class RequestInvalid(SettingsInvalid):
    """A request that cannot be routed, such as an empty one or k = 0."""


class SnapshotInvalid(QuartermasterError):
    """A snapshot is missing, incomplete, corrupt, or made for another version of this code."""

    exit_code = 4
