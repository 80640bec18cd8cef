"""The metrics of a run: one list, for the file and for OpenTelemetry.

All are gauges of the last run. A build is no process that counts for long, and only gauges, plain counters, histograms
and summaries are read by node_exporter.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from pipeline.monitoring.run import MonitoredRun

OUTCOMES = ("published", "unchanged", "held", "failed")


@dataclass(frozen=True, slots=True)
class Figure:
    """One metric: its name, what it is, its unit in UCUM ("" for none), and its value by labels.

    Each sample has the label `catalog` beside these.
    """

    name: str
    about: str
    unit: str
    samples: tuple[tuple[Mapping[str, str], float], ...]


def figures(run: MonitoredRun) -> list[Figure]:
    """Return the metrics of a run that are known."""
    return [figure for figure in _all(run) if figure.samples]


def _all(run: MonitoredRun) -> Iterator[Figure]:
    outcomes = {outcome: float(outcome == run.outcome) for outcome in OUTCOMES}
    counts = run.counts
    yield _by("outcome", "1 for the outcome of the last build, 0 for the others.", "", "outcome", outcomes)
    yield _one("exit_code", "Exit code of the last build.", "", run.exit_code)
    yield _one("run", "Number of the last build in the ledger.", "", run.run)
    yield _one("degraded", "Things that the last build went without.", "{reason}", len(run.degraded))
    yield _one("held", "Reasons against serving that the gates gave in the last build.", "{reason}", len(run.held))
    yield _one("stale_sources", "Sources that the last build could not read anew.", "{source}", len(run.stale))
    yield _one("started_timestamp_seconds", "When the last build began.", "s", _unix(run.started_at))
    yield _one("finished_timestamp_seconds", "When the last build ended.", "s", _unix(run.finished_at))
    success = "When the last build ended that was published or found nothing changed."
    yield _one("last_success_timestamp_seconds", success, "s", _unix(run.succeeded_at))
    published = "When the last build ended that was published."
    yield _one("last_published_timestamp_seconds", published, "s", _unix(run.published_at))
    yield _one("duration_seconds", "Duration of the last build.", "s", run.duration_s)
    yield _by("stage_seconds", "Duration of each stage of the last build.", "s", "stage", run.seconds)
    yield _one("tools", "Tools of the catalog in the last build.", "{tool}", counts.get("tools"))
    yield _one("records_rejected", "Records that the last build could not use.", "{record}", counts.get("rejected"))
    changes = {change: counts[change] for change in ("added", "changed", "removed") if change in counts}
    yield _by("tools_changed", "Tools that differ from the serving snapshot before.", "{tool}", "change", changes)
    quarantined = "Tools that are held back alone, and wait for a decision."
    yield _one("tools_quarantined", quarantined, "{tool}", counts.get("quarantined"))
    yield _by("asked", "Tools that the last build asked a generator about.", "{tool}", "generator", run.asked)
    yield _one("failures", "Tools that the model failed on in the last build.", "{tool}", counts.get("failures"))
    yield _one("cost_usd", "US dollars that the last build spent.", "USD", run.cost_usd)
    yield _one("ledger_bytes", "Size of the ledger.", "By", run.ledger_bytes)
    yield _one("snapshot_bytes", "Size of the snapshot that serves.", "By", run.snapshot_bytes)


def _one(name: str, about: str, unit: str, value: float | None) -> Figure:
    return Figure(f"quartermaster_build_{name}", about, unit, () if value is None else (({}, float(value)),))


def _by(name: str, about: str, unit: str, label: str, values: Mapping[str, float]) -> Figure:
    samples = tuple(({label: key}, float(value)) for key, value in values.items())
    return Figure(f"quartermaster_build_{name}", about, unit, samples)


def _unix(moment: datetime | None) -> float | None:
    return None if moment is None else moment.timestamp()
