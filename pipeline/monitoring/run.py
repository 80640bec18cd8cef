"""One run of a build, as others hear of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pipeline.current_run import CurrentRun
from pipeline.failure import Failure
from pipeline.settings import Event


@dataclass(frozen=True)
class MonitoredRun:
    """One run of a build, finished.

    Attributes:
        catalog: The catalog's name.
        outcome: "published", "unchanged", "held" or "failed".
        started_at: When the build began, in UTC.
        finished_at: When it ended, in UTC.
        run: Its number in the ledger; None where the ledger was not opened.
        snapshot: The id of the snapshot that it ended with; None where it failed.
        failure: Why it failed; None where it did not.
        held: The gates' reasons.
        quarantined: The tools that are held back alone since this run, each as a sentence.
        use_command: The command that lets a held snapshot serve; empty where none is held.
        degraded: What the build went without.
        stale: The sources whose last known records were used, or none.
        previous: How the run before ended: its outcome, "degraded", or "killed" where it was. None before the
            first run.
        counts: Figures of the catalog and of what changed; empty where the build failed.
        asked: Tools by the generator that wrote for them in this run.
        cost_usd: Dollars that this run spent; None where that is unknown.
        seconds: Wall-clock seconds by stage, as far as it came.
        succeeded_at: When the last run ended that was published or unchanged, this one included; in UTC.
        published_at: When the last run ended that was published, this one included; in UTC.
        ledger_bytes: The size of the ledger.
        snapshot_bytes: The size of the snapshot that serves.
        secrets: Texts that nobody may be told.
    """

    catalog: str
    outcome: str
    started_at: datetime
    finished_at: datetime
    run: int | None = None
    snapshot: str | None = None
    failure: Failure | None = None
    held: tuple[str, ...] = ()
    quarantined: tuple[str, ...] = ()
    use_command: str = ""
    degraded: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    previous: str | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    asked: Mapping[str, int] = field(default_factory=dict)
    cost_usd: float | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    succeeded_at: datetime | None = None
    published_at: datetime | None = None
    ledger_bytes: int | None = None
    snapshot_bytes: int | None = None
    secrets: frozenset[str] = field(default=frozenset(), repr=False)

    @property
    def exit_code(self) -> int:
        """Return the exit code that the command line ends with."""
        if self.failure is not None:
            return self.failure.exit_code
        return 1 if self.held or self.quarantined else 0

    @property
    def duration_s(self) -> float:
        """Return the seconds from begin to end."""
        return (self.finished_at - self.started_at).total_seconds()

    @property
    def events(self) -> tuple[Event, ...]:
        """Return what happened, the gravest first; empty for a good run after a good one."""
        happened: dict[Event, bool] = {
            "failed": self.failure is not None,
            "held": bool(self.held),
            "quarantined": bool(self.quarantined),
            "stale": bool(self.stale),
            "degraded": bool(self.degraded),
        }
        events = tuple(event for event, is_so in happened.items() if is_so)
        if events or self.previous in (None, "published", "unchanged"):
            return events
        return ("recovered",)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Return why the run is not a good one, without secrets."""
        failed = () if self.failure is None else (self.failure.message,)
        return tuple(self.redact(reason) for reason in (*failed, *self.held, *self.quarantined, *self.degraded))

    def redact(self, text: str) -> str:
        """Return a text with "…" in place of each secret."""
        return CurrentRun(self.catalog, self.run, self.secrets).redact(text)

    def identity(self) -> dict[str, Any]:
        """Return the catalog and the number of the run, for JSON."""
        return {"catalog": self.catalog, "run": self.run}
