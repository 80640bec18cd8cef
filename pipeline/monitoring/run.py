"""One run of a build, as others hear of it."""

import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from pipeline.current_run import CurrentRun
from pipeline.enrichment.generator import TokenUsage
from pipeline.failure import Failure
from pipeline.monitoring.report import BuildReport
from pipeline.monitoring.told import Told, without_figures
from pipeline.publish import use_command
from pipeline.settings.catalog import Event

SCHEMA = 1
_MAX_REASONS, _LONGEST_REASON = 20, 500
_LONGEST_TEXT = 1_000
_HAPPENED: dict[Event, str] = {
    "failed": "the build failed",
    "held": "the snapshot is held back",
    "quarantined": "a tool is held back",
    "stale": "the catalog is not up to date",
    "degraded": "the build went without something",
    "recovered": "the build is good again",
}


def failed_report(problems: tuple[str, ...] = (), cost_usd: float | None = None) -> BuildReport:
    """Return the report of a build that failed. `problems` say what was wrong with the ledger."""
    return BuildReport(Path(), "failed", degraded=problems, usage=TokenUsage(cost_usd=cost_usd))


@dataclass
class MonitoredRun(CurrentRun):
    """One run of a build. It is filled in while the build goes on, and announced at the end. Times are UTC.

    Attributes:
        report: What it did; of a run that failed, what was wrong with the ledger at most.
        failure: Why it failed; None where it did not.
        alert_open: Whether trouble was told last, and not its end.
        previous: How the run before ended: its outcome, "degraded", or "killed" where it was. None before the
            first run.
        seconds: Wall-clock seconds by stage, as far as it came.
        succeeded_at: When the last run ended that was published or unchanged, this one included.
        published_at: When the last run ended that was published, this one included.
        snapshot_bytes: The size of the snapshot that serves.
    """

    started_at: datetime = field(default_factory=partial(datetime.now, UTC))
    finished_at: datetime = field(default_factory=partial(datetime.now, UTC))
    report: BuildReport = field(default_factory=failed_report)
    failure: Failure | None = None
    alert_open: bool = False
    previous: str | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    succeeded_at: datetime | None = None
    published_at: datetime | None = None
    ledger_bytes: int | None = None
    snapshot_bytes: int | None = None

    @property
    def quarantined(self) -> tuple[str, ...]:
        """Return a sentence for each tool that is held back since this run."""
        return tuple(map(str, self.report.newly_quarantined))

    @property
    def exit_code(self) -> int:
        """Return the exit code that the command line ends with."""
        if self.failure is not None:
            return self.failure.exit_code
        return self.report.exit_code

    @property
    def duration_s(self) -> float:
        """Return the seconds from begin to end."""
        return (self.finished_at - self.started_at).total_seconds()

    @property
    def events(self) -> tuple[Event, ...]:
        """Return what happened, the gravest first; empty for a good run after a good one."""
        happened: dict[Event, bool] = {
            "failed": self.failure is not None,
            "held": bool(self.report.held),
            "quarantined": bool(self.quarantined),
            "stale": bool(self.report.not_read),
            "degraded": bool(self.report.degraded),
        }
        events = tuple(event for event, is_so in happened.items() if is_so)
        if events or (self.previous in (None, "published", "unchanged") and not self.alert_open):
            return events
        return ("recovered",)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Return why the run is not a good one, without secrets."""
        return self._redacted(self.report.held, self.quarantined, self.report.degraded)

    @property
    def lasting(self) -> Told:
        """Return the trouble that may last; a tool is held back for the first time only once."""
        events = [event for event in self.events if event not in ("quarantined", "recovered")]
        reasons = self._redacted(self.report.held, self.report.degraded)
        return Told(tuple(events), without_figures(reasons))

    def _redacted(self, *reasons: tuple[str, ...]) -> tuple[str, ...]:
        failed = () if self.failure is None else (self.failure.message,)
        return tuple(map(self.redact, chain(failed, *reasons)))

    def payload(self, events: tuple[Event, ...]) -> dict[str, Any]:
        """Return the object that a hook is sent for some events, the gravest first; there is at least one."""
        reasons = [reason[:_LONGEST_REASON] for reason in self.reasons[:_MAX_REASONS]]
        return {
            "schema": SCHEMA,
            "event": events[0],
            "events": list(events),
            "text": self._text(events[0], reasons),
            "catalog": self.catalog,
            "run": self.run,
            "outcome": self.report.outcome,
            "exit_code": self.exit_code,
            "snapshot": self.report.snapshot.name or None,
            "reasons": reasons,
            "stale_sources": list(map(self.redact, self.report.not_read[:_MAX_REASONS])),
            "previous": self.previous,
            "host": socket.gethostname(),
            "started_at": self.started_at.isoformat(timespec="seconds"),
            "time": self.finished_at.isoformat(timespec="seconds"),
            "seconds": round(self.duration_s, 3),
            "counts": self.report.figures,
            "cost_usd": self.report.usage.cost_usd,
        }

    def _text(self, event: Event, reasons: list[str]) -> str:
        """Return one line for a person; many chat services show this key of a webhook as it is."""
        why = f": {'; '.join(reasons)}" if reasons else ""
        way_out = ""
        if self.report.held:
            way_out = f". To serve it all the same: {use_command(self.report.snapshot)}"
        elif self.quarantined:
            way_out = f". To see and release tools: quartermaster quarantine {self.catalog}"
        return f"{self.catalog}: {_HAPPENED[event]}{why}"[: _LONGEST_TEXT - len(way_out)] + way_out
