"""What others hear of a build: its log, a file of metrics, and a hook.

`run` holds the figures of one run, `secrets` what none of them may show. `announce` tells them: `log` to the log,
`textfile` as the metrics of `figures`, `hook` (with `payload`) to whoever the settings name.
"""

from pipeline.monitoring.announce import announce
from pipeline.monitoring.run import MonitoredRun
from pipeline.monitoring.secrets import hook_secrets, secrets_of

__all__ = ["MonitoredRun", "announce", "hook_secrets", "secrets_of"]
