"""The stages from records to field text: the encoder, the estimate, and expansions that passed all checks."""

from collections.abc import Iterator, Sequence

from pipeline import vectors
from pipeline.build.context import BuildContext
from pipeline.build.encoder import BuildEncoder, encoder_change, exported_encoder
from pipeline.build.enriching import Enriching
from pipeline.build.learning import reusable_calibration, training_set_of
from pipeline.build.stages import ProjectedPart, make_screen, project_documents
from pipeline.build.state import CatalogRead, ExpandedCatalog
from pipeline.enrichment import Enrichment, EnrichmentContext
from pipeline.enrichment.estimate import Estimate, estimate
from pipeline.execution import parts
from pipeline.phrase_checks.subject import reduced
from router.record import ToolRecord
from router.tools.field_text import FieldDocuments

_TOOLS_A_PART = 4_096  # projected at once


def resolve_encoder(context: BuildContext) -> BuildEncoder | None:
    """Return the encoder, exported; None where no vectors are wanted. Raises RunAborted where it cannot be had."""
    settings, clock, execution = context.settings.vectors, context.clock, context.execution
    if settings.encoder != "none":
        clock.start("resolve", None)
    model = execution.run("resolve", vectors.resolve_encoder, settings, clock)
    if (change := encoder_change(context.serving, model)) is not None:
        clock.note(change)
    return None if model is None else exported_encoder(context, model)


def estimate_cost(context: BuildContext, read: CatalogRead) -> Estimate:
    """Return what the model's part of the build would take."""
    context.clock.start("estimate", None)
    settings = context.settings
    return estimate(read.catalog, read.chain, settings.enrichment, context.ledger, assessed=settings.assesses)


def expand(context: BuildContext, read: CatalogRead, encoder: BuildEncoder | None) -> ExpandedCatalog:
    """Have expansions written and checked, project documents, and see what can be reused of what was learned."""
    enrichment = _enrich(context, read, encoder)
    context.clock.start("project", None)
    return with_reuse(context, read, encoder, enrichment, _project(context, read.catalog.records, enrichment))


def _project(context: BuildContext, records: Sequence[ToolRecord], enrichment: Enrichment) -> list[FieldDocuments]:
    """Return the documents of records, in their order."""
    batches = _parts_to_project(records, enrichment)
    projected = context.execution.map("project", project_documents, batches, context.settings.enrichment.languages)
    in_order = sorted(projected, key=lambda ended: ended[0].first)
    return [document for _, documents in in_order for document in documents]


def _parts_to_project(records: Sequence[ToolRecord], enrichment: Enrichment) -> Iterator[tuple[str, ProjectedPart]]:
    """Yield the records of each part with what was written for them, without the remarks that steered."""
    for number, (label, part) in enumerate(parts(records, _TOOLS_A_PART)):
        written = ((record.tool_id, enrichment.written.get(record.tool_id)) for record in part)
        expansions = {tool_id: one.expansion for tool_id, one in written if one is not None}
        kept = [reduced(r, enrichment.steering[r.tool_id]) if r.tool_id in enrichment.steering else r for r in part]
        yield label, ProjectedPart(number * _TOOLS_A_PART, kept, expansions)


def with_reuse(
    context: BuildContext,
    read: CatalogRead,
    encoder: BuildEncoder | None,
    enrichment: Enrichment,
    documents: Sequence[FieldDocuments],
) -> ExpandedCatalog:
    """Return an expanded catalog, after seeing what can be reused of what was learned."""
    settings = context.settings
    exports, serving = encoder.exports if encoder else None, context.serving
    training_set = training_set_of(settings.tuning, read.catalog, enrichment, documents, exports, serving)
    calibration = reusable_calibration(
        settings.tuning,
        training_set,
        read.past,
        exports,
        serving,
        settings.enrichment.languages,
        settings.retrieval.resolve(),
    )
    return ExpandedCatalog(enrichment, documents, training_set, calibration)


def _enrich(context: BuildContext, read: CatalogRead, encoder: BuildEncoder | None) -> Enrichment:
    """Ask for expansions, screen them and assess them."""
    settings, catalog, execution = context.settings, read.catalog, context.execution
    screen = execution.run("screen", make_screen, catalog.records, settings.enrichment.languages)
    enrichment = Enriching(
        EnrichmentContext(catalog, context.ledger, context.run, context.clock, screen, settings.name),
        read.chain,
        settings.enrichment,
        settings.assessment,
        execution,
        encoder.embedding if encoder else None,
        context.workspace / "compared" / f"{settings.name}.npz",
        settings.publish.max_failed_share,
    ).run()
    enrichment.suspicious = (*screen.suspicious, *enrichment.suspicious)
    return enrichment
