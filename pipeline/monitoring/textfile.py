"""The metrics of a run as a file in Prometheus's text format, which node_exporter reads.

All are gauges of the last run: a build is no process that counts for long.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from pipeline.monitoring.run import MonitoredRun

OUTCOMES = ("published", "unchanged", "held", "failed")


def write_textfile(place: Path, run: MonitoredRun) -> Path:
    """Write the metrics of a run that are known, and return the file: `place`, or one of the catalog's in that folder.

    A reader sees the old file or the new one, never half. Raises OSError where it cannot be written.
    """
    from prometheus_client import CollectorRegistry, Gauge, write_to_textfile

    registry, counts = CollectorRegistry(), run.counts

    def by(name: str, about: str, label: str | None, values: Mapping[str, float | None]) -> None:
        known = {key: value for key, value in values.items() if value is not None}
        if known:
            labels = ["catalog"] if label is None else ["catalog", label]
            gauge = Gauge(f"quartermaster_build_{name}", about, labels, registry=registry)
            for key, value in known.items():
                gauge.labels(run.catalog, *([] if label is None else [key])).set(value)

    def one(name: str, about: str, value: float | datetime | None) -> None:
        by(name, about, None, {"": value.timestamp() if isinstance(value, datetime) else value})

    outcomes = {outcome: float(outcome == run.outcome) for outcome in OUTCOMES}
    by("outcome", "1 for the outcome of the last build, 0 for the others.", "outcome", outcomes)
    one("exit_code", "Exit code of the last build.", run.exit_code)
    one("run", "Number of the last build in the ledger.", run.run)
    one("degraded", "Things that the last build went without.", len(run.degraded))
    one("held", "Reasons against serving that the gates gave in the last build.", len(run.held))
    one("stale_sources", "Sources that the last build could not read anew.", len(run.stale))
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
    by("asked", "Tools that the last build asked a generator about.", "generator", run.asked)
    one("failures", "Tools that the model failed on in the last build.", counts.get("failures"))
    one("cost_usd", "US dollars that the last build spent.", run.cost_usd)
    one("ledger_bytes", "Size of the ledger.", run.ledger_bytes)
    one("snapshot_bytes", "Size of the snapshot that serves.", run.snapshot_bytes)
    path = place / f"quartermaster_{re.sub(r'[^A-Za-z0-9_]', '_', run.catalog)}.prom" if place.is_dir() else place
    write_to_textfile(str(path), registry)
    path.chmod(0o644)  # the collector is another user
    return path
