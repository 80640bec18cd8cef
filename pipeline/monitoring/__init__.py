"""What others hear of a build: its report, the log, a file of metrics, a hook.

`report` holds what a build did, `run` the run that did it, or failed. `announce` logs a run, writes the metrics and
calls the hook; `hook` has the calls, and what they must not show, `told` the trouble that it was told of last.
"""

from pipeline.monitoring.announce import announce
from pipeline.monitoring.hook import hook_secrets, secrets_of
from pipeline.monitoring.report import BuildReport
from pipeline.monitoring.run import MonitoredRun

__all__ = ["BuildReport", "MonitoredRun", "announce", "hook_secrets", "secrets_of"]
