"""What others hear of a build: `announce` logs it, writes metrics, and calls the hook.

`run` holds the figures of one run, `secrets` what nobody may be told of it; `payload` is what `hook` sends, `textfile`
the metrics.
"""

from pipeline.monitoring.announce import announce
from pipeline.monitoring.run import MonitoredRun
from pipeline.monitoring.secrets import hook_secrets, secrets_of

__all__ = ["MonitoredRun", "announce", "hook_secrets", "secrets_of"]
