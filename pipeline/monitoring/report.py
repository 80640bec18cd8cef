"""The report of a build: its figures are stated here once, for people, programs, metrics and hooks."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from pipeline.build_state import MissingTools, Outcome, ToolDifference
from pipeline.enrichment import GenerationFailure
from pipeline.enrichment.context import StaleExpansion, TextVerdict
from pipeline.enrichment.estimate import Estimate
from pipeline.enrichment.generator import TokenUsage
from pipeline.errors import RecordRejected
from pipeline.ledger import QuarantinedTool
from pipeline.records import Notice
from pipeline.sources.coverage import Coverage, by_source
from pipeline.sources.last_reading import StaleSource
from router.contract import EncoderManifest


@dataclass(frozen=True, slots=True)
class PrerequisiteCounts:
    """On how many tools of a snapshot the prerequisite graph acts.

    Attributes:
        tools: How many tools need another to run first.
        edges: How many pairs of a need and a tool that resolves it there are.
        candidates: How many tools have a provider: no other tool can need one, or be needed.
    """

    tools: int
    edges: int
    candidates: int

    def described(self, total: int) -> str:
        """Return a line about them, in a catalog of `total` tools."""
        if not self.candidates:
            return "none: no tool has a provider"
        if not self.edges:
            return "none: no tool finds what another needs"
        tools = f"{self.tools:,} of {total:,} tools need another first"
        return f"{tools}, {self.edges:,} {'edge' if self.edges == 1 else 'edges'}"


@dataclass(frozen=True)
class BuildReport:
    """The report of a build.

    Attributes:
        outcome: "published", "unchanged" (the current snapshot has the same content) or "held" (written, not serving);
            "failed" only in a `MonitoredRun`.
        held: The gates' reasons, also for a build that changed nothing.
        degraded: What the build went without, such as a source that did not answer. It published anyway.
        counts: How many tools there are, how many records were read and rejected, and how many notices there are of a
            kind.
        generators: Tools by the generator that wrote for them.
        stale_expansions: By tool id, why a tool keeps an earlier expansion until a better one is there.
        asked: Tools by the generator that wrote for them in this build.
        reused: How many answers the ledger already had.
        failures: Tools that the generator failed on.
        estimate: What the build was expected to ask and pay.
        verdicts: Texts that the checks left out or noted.
        embedded: How many texts were embedded; the ledger had the others.
        prerequisites: How many tools need another to run first; None where the recipe brings no prerequisites.
        encoder: The encoder's name, and `snapshot_encoder` all of it; None without vectors.
        encoder_before: The encoder of the snapshot that served before, where it was another.
        removed: Old snapshots that were deleted.
        written_bytes: Bytes on disk of the new snapshot that no other file shares.
        freed_bytes: Bytes on disk that old snapshots gave back.
        missing: Sources that gave no tool.
        stale_sources: Sources that could not be read and keep their last known records.
        quarantined: Tools that are held back, and nothing else, because they would take other tools' requests.
        difference: The tools compared with those of the snapshot that served before.
        evaluation: The figures on judged requests, as in the manifest.
        tuning: What was learned, as in the manifest.
        seconds: Wall-clock seconds by stage.
        cpu_seconds: CPU seconds of all threads by stage.
        peak_mb: By stage, the most memory in MB that the process had held by its end.
    """

    snapshot: Path
    outcome: Outcome
    held: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    rejected: tuple[RecordRejected, ...] = ()
    notices: tuple[Notice, ...] = ()
    generators: Mapping[str, int] = field(default_factory=dict)
    asked: Mapping[str, int] = field(default_factory=dict)
    reused: int = 0
    failures: tuple[GenerationFailure, ...] = ()
    usage: TokenUsage = field(default_factory=TokenUsage)
    estimate: Estimate = field(default_factory=Estimate)
    verdicts: tuple[TextVerdict, ...] = ()
    embedded: int = 0
    degraded: tuple[str, ...] = ()
    stale_expansions: Mapping[str, StaleExpansion] = field(default_factory=dict)
    coverage: tuple[Coverage, ...] = ()
    prerequisites: PrerequisiteCounts | None = None
    encoder: str | None = None
    snapshot_encoder: EncoderManifest | None = None
    encoder_before: EncoderManifest | None = None
    removed: tuple[str, ...] = ()
    written_bytes: int = 0
    freed_bytes: int = 0
    missing: MissingTools = field(default_factory=MissingTools)
    stale_sources: tuple[StaleSource, ...] = ()
    quarantined: tuple[QuarantinedTool, ...] = ()
    difference: ToolDifference = field(default_factory=ToolDifference)
    evaluation: Mapping[str, Any] | None = None
    tuning: Mapping[str, Any] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    cpu_seconds: Mapping[str, float] = field(default_factory=dict)
    peak_mb: Mapping[str, int] = field(default_factory=dict)

    @property
    def added(self) -> tuple[str, ...]:
        """Return the ids of the tools that the snapshot before did not have."""
        return self.difference.added

    @property
    def changed(self) -> tuple[str, ...]:
        """Return the ids of the tools whose record changed."""
        return self.difference.changed

    @property
    def removed_tools(self) -> tuple[str, ...]:
        """Return the ids of the tools that only the snapshot before has."""
        return self.difference.removed

    @property
    def newly_quarantined(self) -> tuple[QuarantinedTool, ...]:
        """Return the tools that are held back, and that no build has announced before."""
        return tuple(one for one in self.quarantined if not one.announced)

    @property
    def not_read(self) -> tuple[str, ...]:
        """Return the names of the sources that this build could not read anew."""
        return (*(stale.source for stale in self.stale_sources), *(gap.source for gap in self.missing.skipped))

    @property
    def exit_code(self) -> int:
        """Return the exit code of a build that ended: 1 where something is newly held back.

        A tool that waits in quarantine for a decision ends with 1 once, and not each night.
        """
        return 1 if self.held or self.newly_quarantined else 0

    @property
    def dropped(self) -> Counter[str]:
        """Return how many texts each check left out."""
        return Counter(verdict.check for verdict in self.verdicts if verdict.dropped)

    @property
    def figures(self) -> dict[str, int]:
        """Return the counts of the catalog, of what changed, and of what failed; nothing of a build that failed."""
        if self.outcome == "failed":
            return {}
        return {
            **self.counts,
            "added": len(self.added),
            "changed": len(self.changed),
            "removed": len(self.removed_tools),
            "quarantined": len(self.quarantined),
            "failures": sum(not failure.postponed for failure in self.failures),
            "postponed": sum(failure.postponed for failure in self.failures),
        }

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict, for programs."""
        return {
            "snapshot": str(self.snapshot),
            "outcome": self.outcome,
            "held": list(self.held),
            "quarantined": [one.to_json() for one in self.quarantined],
            "degraded": list(self.degraded),
            "counts": dict(self.counts),
            "before": self.difference.snapshot,
            "added": list(self.added),
            "changed": list(self.changed),
            "removed_tools": list(self.removed_tools),
            "rejected": [{**msgspec.to_builtins(r.origin), "reason": r.reason} for r in self.rejected],
            "coverage": {source: one.to_json() for source, one in by_source(self.coverage).items()},
            **self.missing.to_json(),
            "stale_sources": [source.to_json() for source in self.stale_sources],
            "generators": dict(self.generators),
            "stale_expansions": [
                {"tool_id": tool_id, **msgspec.to_builtins(stale)} for tool_id, stale in self.stale_expansions.items()
            ],
            "asked": dict(self.asked),
            "reused": self.reused,
            "failures": [{"tool_id": f.tool_id, "kind": f.kind, "message": f.message} for f in self.failures],
            **msgspec.to_builtins(self.usage),
            "estimate": msgspec.to_builtins(self.estimate),
            "dropped": dict(sorted(self.dropped.items())),
            "embedded": self.embedded,
            "encoder": self.encoder,
            "snapshot_encoder": msgspec.to_builtins(self.snapshot_encoder),
            "encoder_before": msgspec.to_builtins(self.encoder_before),
            "prerequisites": msgspec.to_builtins(self.prerequisites),
            "removed": list(self.removed),
            "written_bytes": self.written_bytes,
            "freed_bytes": self.freed_bytes,
            "evaluation": self.evaluation,
            "tuning": dict(self.tuning),
            "seconds": {stage: round(spent, 3) for stage, spent in self.seconds.items()},
            "cpu_seconds": {stage: round(spent, 3) for stage, spent in self.cpu_seconds.items()},
            "peak_mb": dict(self.peak_mb),
        }
