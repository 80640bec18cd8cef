"""The stages that write a snapshot, which does not serve yet."""

from functools import partial

from pipeline import vectors
from pipeline.build.context import BuildContext
from pipeline.build.identifying import regression
from pipeline.build.learning import tune
from pipeline.build.report import run_counts
from pipeline.build.state import BuildState, ExpandedCatalog, SnapshotIdentity, SnapshotOutcome
from pipeline.learning import LearnedAdapter
from pipeline.publish import SnapshotContents, WritingContext, write_snapshot
from pipeline.publish.snapshot_learning import CalibrationSource
from pipeline.store import disk_size
from pipeline.vectors import CatalogVectors
from quartermaster.evaluation import judgements_of
from router.tools.prerequisites.matching import Prerequisite, find_prerequisites


def write(context: BuildContext, state: BuildState, identity: SnapshotIdentity) -> SnapshotOutcome:
    """Embed, learn and write the snapshot; it does not serve yet."""
    expanded, encoder = state.expanded, state.encoder
    embedding = encoder.embedding if encoder else None
    collected = (
        vectors.collect_vectors(expanded.documents, encoder.embedding, encoder.exports.of_requests())
        if encoder
        else None
    )
    adapter = tune(
        expanded.training_set,
        state.read.catalog,
        expanded.documents,
        collected,
        embedding,
        context.execution,
        context.clock,
    )
    contents = _contents(context, state, identity, collected, adapter, _edges(context, state))
    put_counts(context, state, identity)  # once more: the texts that were embedded since
    where = WritingContext(context.store, context.ledger, context.run, context.execution, context.clock, context.signer)
    folder, checked = write_snapshot(contents, where, partial(regression, context))
    held = (*identity.held, *checked.held)
    return SnapshotOutcome(folder, "held" if held else "published", held, written_bytes=disk_size(folder).own)


def put_counts(context: BuildContext, state: BuildState, identity: SnapshotIdentity | None = None) -> None:
    """Store the build's figures so far: the snapshot that it writes tells them, and they last if it fails."""
    context.ledger.put_counts(context.run, run_counts(state, identity.difference if identity else None))


def _contents(
    context: BuildContext,
    state: BuildState,
    identity: SnapshotIdentity,
    collected: CatalogVectors | None,
    adapter: LearnedAdapter,
    prerequisites: tuple[Prerequisite, ...] | None,
) -> SnapshotContents:
    settings, read, expanded = context.settings, state.read, state.expanded
    embedding = state.encoder.embedding if state.encoder else None
    return SnapshotContents(
        catalog_name=settings.name,
        languages=settings.enrichment.languages,
        recipe=settings.retrieval.resolve(),
        catalog=read.catalog,
        rejected=(*read.skipped, *read.rejected),
        enrichment=expanded.enrichment,
        documents=expanded.documents,
        vectors=collected,
        adapter=adapter,
        content_hash=identity.content_hash,
        inputs_hash=identity.inputs_hash,
        held=identity.held,
        degraded=identity.degraded,
        stale_sources=tuple(source.to_json() for source in read.reading.stale),
        past=read.past.embedded(embedding) if read.past else None,
        fit_weights=settings.tuning.fit_weights,
        calibration=_calibration_source(context, expanded),
        coverage=read.reading.coverage,
        quarantined=state.quarantined,
        prerequisites=prerequisites,
        preferred_encoder=settings.vectors.preferred_name,
        engine=settings.vectors.engine,
    )


def _edges(context: BuildContext, state: BuildState) -> tuple[Prerequisite, ...] | None:
    """Return which tools must run before which; None where the snapshot's recipe brings none."""
    if not context.settings.retrieval.resolve().prerequisites:
        return None
    context.clock.start("prerequisites", None)
    written = state.expanded.enrichment.written.items()
    stated = {tool_id: w.expansion for tool_id, w in written if w.expansion.requires or w.expansion.provides}
    return context.execution.run("prerequisites", find_prerequisites, state.read.catalog.records, stated)


def _calibration_source(context: BuildContext, expanded: ExpandedCatalog) -> CalibrationSource | None:
    tuning = context.settings.tuning
    if not tuning.calibrate:
        return None
    judgements = judgements_of(context.settings.folder) if tuning.judged else None
    return CalibrationSource(expanded.calibration, judgements, tuning.max_refused_share)
