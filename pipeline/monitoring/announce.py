"""Tell everybody of a run: the log, the file of metrics, the hook."""

import logging
from collections.abc import Callable
from pathlib import Path

from pipeline.monitoring import hook
from pipeline.monitoring.payload import payload
from pipeline.monitoring.run import MonitoredRun
from pipeline.monitoring.textfile import write_textfile
from pipeline.settings import MetricsSettings, NotifySettings

_logger = logging.getLogger(__name__)


def announce(run: MonitoredRun, notify: NotifySettings, metrics: MetricsSettings, folder: Path) -> None:
    """Tell of a run. What cannot be told is logged as a warning: it changes nothing of the run.

    A relative path of the settings begins at `folder`, the catalog's; the hook's command runs in it.
    """
    _log(run)
    if (place := metrics.textfile) is not None:
        target = place if place.is_absolute() else folder / place
        _try("the metrics could not be written", lambda: write_textfile(target, run), run)
    events = tuple(event for event in run.events if event in notify.events)
    if not events:
        return
    content = payload(run, events)
    if notify.command is not None:
        _try("the hook failed", lambda: hook.run_command(notify, content, folder), run)
    if notify.url is not None:
        _try("the hook failed", lambda: hook.post(notify, content), run)


def _try(what: str, tell: Callable[[], object], run: MonitoredRun) -> None:
    try:
        tell()
    except Exception as error:  # noqa: BLE001 - whatever happens to a listener, the build is as it is
        told = isinstance(error, hook.HookFailed | OSError)
        why = str(error) if told else f"{type(error).__name__}: {error}"
        _logger.warning("%s: %s", what, run.redact(why), extra={"event": "not_told"})


def _log(run: MonitoredRun) -> None:
    """Log how a run ended, and each reason why it is not a good one."""
    for source in run.stale:
        _logger.warning("stale: %s", run.redact(source), extra={"event": "stale"})
    for reason in run.degraded:
        _logger.warning("degraded: %s", run.redact(reason), extra={"event": "degraded"})
    for reason in run.held:
        _logger.warning("gate: %s", run.redact(reason), extra={"event": "held"})
    for reason in run.quarantined:
        _logger.warning("quarantined: %s", run.redact(reason), extra={"event": "quarantined"})
    fields = {"outcome": run.outcome, "seconds": round(run.duration_s, 3), "exit_code": run.exit_code}
    if run.failure is not None:
        _logger.error("failed: %s", run.redact(run.failure.message), extra={**fields, "event": "failed"})
    else:
        fields |= {"counts": dict(run.counts), "snapshot": run.snapshot}
        _logger.info("%s: %s", run.outcome, run.snapshot, extra={**fields, "event": "finished"})
