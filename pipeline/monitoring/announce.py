"""Announce a run to everybody: the log, the file of metrics, the hook."""

import logging
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, get_args

from msgspec.structs import replace

from pipeline.build_state import Outcome
from pipeline.monitoring import hook
from pipeline.monitoring.run import MonitoredRun
from pipeline.monitoring.told import Told, read_told, write_told
from pipeline.settings import MetricsSettings, NotifySettings

_logger = logging.getLogger(__name__)


def announce(
    run: MonitoredRun, notify: NotifySettings, metrics: MetricsSettings, folder: Path, told_file: Path
) -> None:
    """Announce a run. What fails is logged as a warning: it changes nothing of the run.

    A relative path of the settings begins at `folder`, the catalog's; the hook's command runs in it. `told_file` has
    what the hook was told last.
    """
    _log(run)
    if (place := metrics.textfile) is not None:
        _try("the metrics could not be written", lambda: write_textfile(folder / place, run), run)
    if notify.command is not None or notify.url is not None:
        _notify(run, notify, folder, told_file)


def _notify(run: MonitoredRun, notify: NotifySettings, folder: Path, told_file: Path) -> None:
    """Call the hook if it does not know yet, and keep what it knows."""
    known: list[Told | None] = []
    _try("what the hook was told is not known", lambda: known.append(read_told(told_file)), run)
    last = known[0] if known else None
    run.alert_open = last is not None
    events, trouble = tuple(event for event in run.events if event in notify.events), run.lasting
    # A night whose only news is a tool that is held back ends no earlier trouble.
    now = trouble if trouble.events else last if run.events == ("quarantined",) else None
    builds = last.builds + 1 if last and last == replace(trouble, builds=last.builds) else notify.remind_after
    if builds < notify.remind_after and "quarantined" not in events:
        now = replace(trouble, builds=builds)
    elif events:
        content, told = run.payload(events), True
        if notify.command is not None:
            told &= _try("the hook failed", lambda: hook.run_command(notify, content, folder), run)
        if notify.url is not None:
            told &= _try("the hook failed", lambda: hook.post(notify, content), run)
        if not told:
            return  # so the next build tells it
    if now != last and (events or now is None):
        _try("what the hook was told could not be kept", lambda: write_told(told_file, now), run)


def _try(what: str, call: Callable[[], object], run: MonitoredRun) -> bool:
    """Call, and return whether it did as it should. A failure is logged."""
    try:
        call()
        return True
    except Exception as error:  # noqa: BLE001 - whatever happens to a listener, the build is as it is
        foreseen = isinstance(error, hook.HookFailed | OSError)
        why = str(error) if foreseen else f"{type(error).__name__}: {error}"
        _logger.warning("%s: %s", what, run.redact(why), extra={"event": "not_told"})
        return False


def _log(run: MonitoredRun) -> None:
    """Log how a run ended, and each reason why it is not a good one."""
    for event, label, reasons in (
        ("stale", "stale", run.report.not_read),
        ("degraded", "degraded", run.report.degraded),
        ("held", "gate", run.report.held),
        ("quarantined", "quarantined", run.quarantined),
    ):
        for reason in reasons:
            _logger.warning("%s: %s", label, run.redact(reason), extra={"event": event})
    outcome, snapshot = run.report.outcome, run.report.snapshot.name
    fields: dict[str, Any] = {"outcome": outcome, "seconds": round(run.duration_s, 3), "exit_code": run.exit_code}
    if run.failure is not None:
        _logger.error("failed: %s", run.redact(run.failure.message), extra={**fields, "event": "failed"})
    else:
        fields |= {"counts": run.report.figures, "snapshot": snapshot}
        _logger.info("%s: %s", outcome, snapshot, extra={**fields, "event": "finished"})


def write_textfile(place: Path, run: MonitoredRun) -> Path:
    """Write the metrics of a run that are known in Prometheus's text format, which node_exporter reads.

    All are gauges of the last run: no build runs long enough to count. Returns the file: `place`, or one of the
    catalog's in that folder. A reader sees the old file or the new one, never half. Raises OSError where it cannot be
    written.
    """
    from prometheus_client import CollectorRegistry, Gauge, write_to_textfile

    registry, report, counts = CollectorRegistry(), run.report, run.report.figures

    def by(name: str, about: str, label: str | None, values: Mapping[str, float | None]) -> None:
        known = {key: value for key, value in values.items() if value is not None}
        if known:
            labels = ["catalog"] if label is None else ["catalog", label]
            gauge = Gauge(f"quartermaster_build_{name}", about, labels, registry=registry)
            for key, value in known.items():
                gauge.labels(run.catalog, *([] if label is None else [key])).set(value)

    def one(name: str, about: str, value: float | datetime | None) -> None:
        by(name, about, None, {"": value.timestamp() if isinstance(value, datetime) else value})

    outcomes = {outcome: float(outcome == report.outcome) for outcome in get_args(Outcome)}
    by("outcome", "1 for the outcome of the last build, 0 for the others.", "outcome", outcomes)
    one("exit_code", "Exit code of the last build.", run.exit_code)
    one("run", "Number of the last build in the ledger.", run.run)
    one("degraded", "Things that the last build went without.", len(report.degraded))
    one("held", "Reasons against serving that the gates gave in the last build.", len(report.held))
    one("stale_sources", "Sources that the last build could not read anew.", len(report.not_read))
    one("started_timestamp_seconds", "When the last build began.", run.started_at)
    one("finished_timestamp_seconds", "When the last build ended.", run.finished_at)
    success = "When the last build ended that was published or found nothing changed."
    one("last_success_timestamp_seconds", success, run.succeeded_at)
    one("last_published_timestamp_seconds", "When the last build ended that was published.", run.published_at)
    one("duration_seconds", "Duration of the last build.", run.duration_s)
    by("stage_seconds", "Duration of each stage of the last build.", "stage", run.seconds)
    one("tools", "Tools of the catalog in the last build.", counts.get("tools"))
    one("records_rejected", "Records that the last build could not use.", counts.get("rejected"))
    changes = {change: counts.get(change) for change in ("added", "changed", "removed")}
    by("tools_changed", "Tools that differ from the serving snapshot before.", "change", changes)
    one("tools_quarantined", "Tools that are held back alone, and wait for a decision.", counts.get("quarantined"))
    by("asked", "Tools that the last build asked a generator about.", "generator", report.asked)
    one("failures", "Tools that the model failed on in the last build.", counts.get("failures"))
    one("cost_usd", "US dollars that the last build spent.", report.usage.cost_usd)
    one("ledger_bytes", "Size of the ledger.", run.ledger_bytes)
    one("snapshot_bytes", "Size of the snapshot that serves.", run.snapshot_bytes)
    path = place / f"quartermaster_{re.sub(r'[^A-Za-z0-9_]', '_', run.catalog)}.prom" if place.is_dir() else place
    write_to_textfile(str(path), registry)
    path.chmod(0o644)  # the collector is another user
    return path
