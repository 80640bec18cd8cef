"""Tell everybody of a run: the log, the file of metrics, the hook."""

import logging
import socket
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from pipeline.monitoring import hook
from pipeline.monitoring.run import MonitoredRun
from pipeline.monitoring.textfile import write_textfile
from pipeline.settings import Event, MetricsSettings, NotifySettings

SCHEMA = 1
_MAX_REASONS, _LONGEST_REASON = 20, 500
_LONGEST_TEXT = 1_000


def payload(run: MonitoredRun, events: tuple[Event, ...]) -> dict[str, Any]:
    """Return the object for the events of a run, the gravest first; there is at least one."""
    reasons = [reason[:_LONGEST_REASON] for reason in run.reasons[:_MAX_REASONS]]
    return {
        "schema": SCHEMA,
        "event": events[0],
        "events": list(events),
        "text": _text(run, events[0], reasons),
        "catalog": run.catalog,
        "run": run.run,
        "outcome": run.outcome,
        "exit_code": run.exit_code,
        "snapshot": run.snapshot,
        "reasons": reasons,
        "stale_sources": [run.redact(source) for source in run.stale[:_MAX_REASONS]],
        "previous": run.previous,
        "host": socket.gethostname(),
        "started_at": _utc(run.started_at),
        "time": _utc(run.finished_at),
        "seconds": round(run.duration_s, 3),
        "counts": dict(run.counts),
        "cost_usd": run.cost_usd,
    }


def _text(run: MonitoredRun, event: Event, reasons: list[str]) -> str:
    """Return one line for a person; many chat services show this key of a webhook as it is."""
    what = {
        "failed": "the build failed",
        "held": "the snapshot is held back",
        "quarantined": "a tool is held back",
        "stale": "the catalog is not up to date",
        "degraded": "the build went without something",
        "recovered": "the build is good again",
    }[event]
    why = f": {'; '.join(reasons)}" if reasons else ""
    way_out = f". To serve it all the same: {run.use_command}" if run.use_command else ""
    if run.quarantined and not way_out:
        way_out = f". To see and release tools: quartermaster quarantine {run.catalog}"
    return f"{run.catalog}: {what}{why}"[: _LONGEST_TEXT - len(way_out)] + way_out


def _utc(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")


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
