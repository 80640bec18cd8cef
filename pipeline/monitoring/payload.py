"""The JSON object that a hook is given. docs/operations.md describes it."""

import socket
from datetime import datetime
from typing import Any

from pipeline.monitoring.run import MonitoredRun
from pipeline.settings import Event

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
