"""What a build did, for people and programs."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.enrichment import GenerationFailure
from pipeline.enrichment.estimate import Estimate
from pipeline.enrichment.generator import TokenUsage
from pipeline.enrichment.verdict import TextVerdict
from pipeline.errors import RecordRejected
from pipeline.inspection.difference import ToolDifference
from pipeline.publish.missing import Missing
from pipeline.records import Notice
from pipeline.sources.coverage import Coverage, by_source


@dataclass(frozen=True)
class BuildReport:
    """What a build did. `outcome` is "published", "unchanged" (the current snapshot says the same already) or "held"
    (written, not serving). `held` says what the gate found, also of a build that changed nothing. `difference` compares
    its tools with those of the snapshot that served before; `removed` are the old snapshots that were deleted.
    `evaluation` is the manifest's: how judged requests are answered; so is `tuning`: what was learned. `coverage` says
    how much of each source was read; `missing` names the sources that gave no tool. By stage: `seconds`, `cpu_seconds`
    of all threads, and `peak_mb`, the most memory that the process had held by its end."""

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
    coverage: tuple[Coverage, ...] = ()
    encoder: str | None = None
    removed: tuple[str, ...] = ()
    missing: Missing = field(default_factory=Missing)
    difference: ToolDifference = field(default_factory=ToolDifference)
    evaluation: Mapping[str, Any] | None = None
    tuning: Mapping[str, Any] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    cpu_seconds: Mapping[str, float] = field(default_factory=dict)
    peak_mb: Mapping[str, int] = field(default_factory=dict)

    @property
    def added(self) -> tuple[str, ...]:
        """The ids of the tools that the snapshot before did not have."""
        return self.difference.added

    @property
    def changed(self) -> tuple[str, ...]:
        """The ids of the tools whose record changed."""
        return self.difference.changed

    @property
    def removed_tools(self) -> tuple[str, ...]:
        """The ids of the tools that only the snapshot before has."""
        return self.difference.removed

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready dict, for programs."""
        return {
            "snapshot": str(self.snapshot),
            "outcome": self.outcome,
            "held": list(self.held),
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
            "generators": dict(self.generators),
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
            "removed": list(self.removed),
            "evaluation": self.evaluation,
            "tuning": dict(self.tuning),
            "seconds": {stage: round(spent, 3) for stage, spent in self.seconds.items()},
            "cpu_seconds": {stage: round(spent, 3) for stage, spent in self.cpu_seconds.items()},
            "peak_mb": dict(self.peak_mb),
        }
