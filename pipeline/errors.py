"""The errors of a build, by consequence.

QuartermasterError
├── SettingsInvalid    stop before anything starts: a setting is wrong               (exit code 2)
├── RunAborted         stop: a source, a model or the workspace cannot be used       (exit code 3)
│   ├── CommandNotRun  a source's command was not to be run; its source is left out
│   ├── WorkersLost    stop: no worker of the cluster can do a batch; what was done is kept
│   └── Unavailable    stop: what did not answer may answer later; a flow tries again (exit code 3)
├── SnapshotInvalid    stop: what was built, or what is to serve, does not open      (exit code 4)
└── RecordRejected     skip one record, keep its reason and origin, go on
"""

from router.errors import QuartermasterError, RecordRejected, SettingsInvalid, SnapshotInvalid

__all__ = [
    "CommandNotRun",
    "QuartermasterError",
    "RecordRejected",
    "RunAborted",
    "SettingsInvalid",
    "SnapshotInvalid",
    "Unavailable",
    "WorkersLost",
]


class RunAborted(QuartermasterError):
    """The build cannot go on. The message says what failed, where, and what would mend it."""


class CommandNotRun(RunAborted):
    """A source was not read, because whoever builds runs no commands. The build goes on without it."""


class Unavailable(RunAborted):
    """An outside server or program did not answer. The same build may succeed later, and a flow tries again."""


class WorkersLost(RunAborted):
    """The cluster that the build runs on lost a batch, or has no worker. What it had done is kept."""
