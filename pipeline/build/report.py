"""The report of a build, for people and programs."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pipeline.build.prerequisites import PrerequisiteCounts
from pipeline.build.state import BuildState, CatalogRead, SnapshotIdentity, SnapshotOutcome
from pipeline.enrichment import GenerationFailure
from pipeline.enrichment.context import StaleExpansion, TextVerdict
from pipeline.enrichment.estimate import Estimate
from pipeline.enrichment.generator import TokenUsage
from pipeline.errors import RecordRejected
from pipeline.inspection.difference import ToolDifference
from pipeline.progress import StageClock
from pipeline.publish.quality_gate import MissingTools
from pipeline.publish.quarantine import QuarantinedTool
from pipeline.records import NOTICES, Notice
from pipeline.sources.coverage import Coverage, by_source
from pipeline.sources.last_reading import StaleSource
from router import Manifest
from router.contract import EncoderManifest

_NAMED_IN_LEDGER = 100  # tools of each kind of change


@dataclass(frozen=True)
class BuildReport:
    """The report of a build.

    Attributes:
        snapshot: The folder of the snapshot.
        outcome: "published", "unchanged" (the current snapshot has the same content) or "held" (written, not serving).
        held: The gates' reasons, also for a build that changed nothing.
        degraded: What the build went without, such as a source that did not answer. It published all the same.
        counts: How many tools there are, how many records were read and rejected, and how many notices there are of a
            kind.
        rejected: Records that could not be used, with place and reason.
        notices: What people should know of single records.
        generators: Tools by the generator that wrote for them.
        stale_expansions: By tool id, why a tool keeps an earlier expansion until a better one is there.
        asked: Tools by the generator that wrote for them in this build.
        reused: How many answers the ledger already had.
        failures: Tools that the generator failed on.
        usage: Tokens and dollars of this build.
        estimate: What the build was expected to ask and pay.
        verdicts: Texts that the checks left out or noted.
        embedded: How many texts were embedded; the ledger had the others.
        prerequisites: How many tools need another to run first; None where the recipe brings no prerequisites.
        coverage: How much of each source was read.
        encoder: The encoder's name; None without vectors.
        snapshot_encoder: The encoder of the snapshot, in full; None without vectors.
        encoder_before: The encoder of the snapshot that served before, where it was another.
        removed: Old snapshots that were deleted.
        written_bytes: Bytes on disk of the new snapshot that no other file shares.
        freed_bytes: Bytes on disk that old snapshots gave back.
        missing: Sources that gave no tool.
        stale_sources: Sources that could not be read and keep their last known records.
        quarantined: Tools that are held back alone, because they would take other tools' requests.
        difference: The tools compared with those of the snapshot that served before.
        evaluation: The figures on judged requests, as in the manifest.
        tuning: What was learned, as in the manifest.
        seconds: Wall-clock seconds by stage.
        cpu_seconds: CPU seconds of all threads by stage.
        peak_mb: By stage, the most memory in MB that the process had held by its end.
    """

    snapshot: Path
    outcome: str
    held: tuple[str, ...]
    counts: Mapping[str, int]
    rejected: tuple[RecordRejected, ...]
    notices: tuple[Notice, ...]
    generators: Mapping[str, int]
    asked: Mapping[str, int]
    reused: int
    failures: tuple[GenerationFailure, ...]
    usage: TokenUsage
    estimate: Estimate
    verdicts: tuple[TextVerdict, ...]
    embedded: int
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
        """Return the tools that are held back alone, and that no build has told of before."""
        return tuple(one for one in self.quarantined if not one.announced)

    @property
    def exit_code(self) -> int:
        """Return the exit code of a build that ended: 1 where something is newly held back.

        A tool that waits in quarantine for a decision ends with 1 once, and not each night.
        """
        return 1 if self.held or self.newly_quarantined else 0

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
            "rejected": [
                {"file": r.origin.file, "pointer": r.origin.pointer, "reason": r.reason} for r in self.rejected
            ],
            "coverage": {source: one.to_json() for source, one in by_source(self.coverage).items()},
            **self.missing.to_json(),
            "stale_sources": [source.to_json() for source in self.stale_sources],
            "generators": dict(self.generators),
            "stale_expansions": [
                {"tool_id": tool_id, **stale.to_json()} for tool_id, stale in self.stale_expansions.items()
            ],
            "asked": dict(self.asked),
            "reused": self.reused,
            "failures": [{"tool_id": f.tool_id, "kind": f.kind, "message": f.message} for f in self.failures],
            "prompt_tokens": self.usage.prompt_tokens,
            "completion_tokens": self.usage.completion_tokens,
            "cached_tokens": self.usage.cached_tokens,
            "cost_usd": self.usage.cost_usd,
            "unconfirmed_usd": self.usage.unconfirmed_usd,
            "estimate": self.estimate.to_json(),
            "dropped": dict(sorted(Counter(v.check for v in self.verdicts if v.dropped).items())),
            "embedded": self.embedded,
            "encoder": self.encoder,
            "snapshot_encoder": asdict(self.snapshot_encoder) if self.snapshot_encoder else None,
            "encoder_before": asdict(self.encoder_before) if self.encoder_before else None,
            "prerequisites": self.prerequisites.to_json() if self.prerequisites else None,
            "removed": list(self.removed),
            "written_bytes": self.written_bytes,
            "freed_bytes": self.freed_bytes,
            "evaluation": self.evaluation,
            "tuning": dict(self.tuning),
            "seconds": {stage: round(spent, 3) for stage, spent in self.seconds.items()},
            "cpu_seconds": {stage: round(spent, 3) for stage, spent in self.cpu_seconds.items()},
            "peak_mb": dict(self.peak_mb),
        }


def catalog_counts(read: CatalogRead) -> dict[str, int]:
    """Return how many definitions were read, and what became of them."""
    catalog, reading = read.catalog, read.reading
    return {
        "tools": len(catalog.records),
        "read": len(reading.tools) + len(reading.rejected),
        "rejected": len(reading.rejected),
        **{kind: catalog.count(kind) for kind in NOTICES},
    }


def run_counts(state: BuildState, difference: ToolDifference | None = None) -> dict[str, object]:
    """Return the figures of a build that the ledger keeps."""
    enrichment = state.expanded.enrichment
    return {
        **catalog_counts(state.read),
        **(difference.to_json(_NAMED_IN_LEDGER) if difference else {}),
        "stale_sources": [source.to_json() for source in state.read.reading.stale],
        "quarantined": [one.tool_id for one in state.quarantined],
        "asked": dict(enrichment.asked),
        "embedded": state.encoder.embedding.embedded if state.encoder else 0,
        "cost_usd": enrichment.usage.cost_usd,
        "unconfirmed_usd": enrichment.usage.unconfirmed_usd,
        "prompt_tokens": enrichment.usage.prompt_tokens,
        "completion_tokens": enrichment.usage.completion_tokens,
        "estimate": state.estimated.to_json(),
    }


def make_report(
    state: BuildState, identity: SnapshotIdentity, outcome: SnapshotOutcome, clock: StageClock
) -> BuildReport:
    """Return the report of the finished build."""
    read, encoder, enrichment = state.read, state.encoder, state.expanded.enrichment
    manifest = Manifest.read(outcome.folder)
    catalog, reading = read.catalog, read.reading
    return BuildReport(
        snapshot=outcome.folder,
        outcome=outcome.outcome,
        held=outcome.held,
        degraded=identity.degraded,
        counts=catalog_counts(read),
        rejected=read.rejected,
        missing=read.missing,
        stale_sources=reading.stale,
        quarantined=state.quarantined,
        notices=catalog.notices,
        generators=enrichment.generators,
        stale_expansions=enrichment.stale,
        asked=dict(enrichment.asked),
        reused=enrichment.reused,
        failures=tuple(enrichment.failures),
        usage=enrichment.usage,
        estimate=state.estimated,
        verdicts=enrichment.verdicts,
        embedded=encoder.embedding.embedded if encoder else 0,
        coverage=reading.coverage,
        prerequisites=PrerequisiteCounts.of(manifest, catalog.records),
        encoder=encoder.embedding.model.name if encoder else None,
        snapshot_encoder=manifest.encoder,
        encoder_before=identity.encoder_before if identity.encoder_before != manifest.encoder else None,
        removed=outcome.removed,
        written_bytes=outcome.written_bytes,
        freed_bytes=outcome.freed_bytes,
        difference=identity.difference,
        evaluation=manifest.evaluation,
        tuning=manifest.tuning,
        seconds=clock.seconds,
        cpu_seconds=clock.cpu_seconds,
        peak_mb=clock.peak_mb,
    )
