"""The figures of a build, for its report and for the ledger."""

from dataclasses import asdict

from pipeline.build_state import BuildContext, BuildState
from pipeline.monitoring.report import BuildReport, PrerequisiteCounts
from pipeline.records import NOTICES
from router import Manifest

__all__ = ["BuildReport", "make_report", "put_counts"]

_NAMED_IN_LEDGER = 100  # tools of each kind of change


def _catalog_counts(state: BuildState) -> dict[str, int]:
    """Return how many definitions were read, and what became of them."""
    catalog, reading = state.catalog, state.reading
    return {
        "tools": len(catalog.records),
        "read": len(reading.tools) + len(reading.rejected),
        "rejected": len(reading.rejected),
        **{kind: catalog.count(kind) for kind in NOTICES},
    }


def _embedded(state: BuildState) -> int:
    return state.encoder.embedding.embedded if state.encoder else 0


def put_counts(context: BuildContext, state: BuildState) -> None:
    """Store the build's figures so far in the ledger: the snapshot shows them, and they last if the build fails."""
    difference = state.difference
    kinds = {"added": difference.added, "changed": difference.changed, "removed": difference.removed}
    changes = {kind: {"count": len(ids), "tools": list(ids[:_NAMED_IN_LEDGER])} for kind, ids in kinds.items()}
    counts = {
        **_catalog_counts(state),
        **({"changes": changes} if state.content_hash else {}),  # once the build is identified
        "degraded": list(state.degraded),
        "stale_sources": [source.to_json() for source in state.reading.stale],
        "quarantined": [one.tool_id for one in state.quarantined],
        "asked": dict(state.enrichment.asked),
        "reused": state.enrichment.reused,
        "refused": sum(failure.kind == "rejected" for failure in state.enrichment.failures),
        "embedded": _embedded(state),
        "unconfirmed_usd": state.enrichment.usage.unconfirmed_usd,
        "estimate": asdict(state.estimated),
    }
    context.ledger.put_counts(context.run, counts)


def make_report(context: BuildContext, state: BuildState) -> BuildReport:
    """Return the report of a finished build."""
    manifest, enrichment, clock = Manifest.read(state.snapshot), state.enrichment, context.clock
    prerequisites = None
    if "prerequisites" in manifest.counts:
        candidates = sum(bool(record.provider) for record in state.catalog.records)
        edges = manifest.counts.get("prerequisite_edges", 0)
        prerequisites = PrerequisiteCounts(manifest.counts["prerequisites"], edges, candidates)
    return BuildReport(
        snapshot=state.snapshot,
        outcome=state.outcome,
        held=state.held,
        degraded=state.degraded,
        counts=_catalog_counts(state),
        rejected=state.rejected,
        missing=state.missing,
        stale_sources=state.reading.stale,
        quarantined=tuple(state.quarantined),
        notices=state.catalog.notices,
        generators=enrichment.generators,
        stale_expansions=enrichment.stale,
        asked=dict(enrichment.asked),
        reused=enrichment.reused,
        failures=tuple(enrichment.failures),
        usage=enrichment.usage,
        estimate=state.estimated,
        verdicts=enrichment.verdicts,
        embedded=_embedded(state),
        coverage=state.reading.coverage,
        prerequisites=prerequisites,
        encoder=state.encoder.embedding.export.spec.model if state.encoder else None,
        snapshot_encoder=manifest.encoder,
        encoder_before=state.encoder_before if state.encoder_before != manifest.encoder else None,
        removed=state.removed,
        written_bytes=state.written_bytes,
        freed_bytes=state.freed_bytes,
        difference=state.difference,
        evaluation=manifest.evaluation,
        tuning=manifest.tuning,
        seconds=clock.seconds,
        cpu_seconds=clock.cpu_seconds,
        peak_mb=clock.peak_mb,
    )
