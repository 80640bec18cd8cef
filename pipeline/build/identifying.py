"""What the new snapshot would be, whether it may serve, and whether it is there already."""

from pipeline.build.context import BuildContext
from pipeline.build.degradation import degradations
from pipeline.build.encoder import encoder_serving
from pipeline.build.state import BuildState, SnapshotIdentity, SnapshotOutcome, hashes_of
from pipeline.errors import SnapshotInvalid
from pipeline.inspection.difference import ToolDifference
from pipeline.inspection.served_tools import ServedTools
from pipeline.publish import NOT_MEASURED, RegressionCheck, check_regression
from pipeline.publish.quality_gate import hold_reasons, lost_phrases_reasons
from pipeline.publish.removal_gate import removal_reasons, served_sources
from pipeline.store import decisions
from quartermaster.evaluation import judgements_of
from router import Router


def identify(context: BuildContext, state: BuildState) -> SnapshotIdentity:
    """Return what the new snapshot would be, and whether it may serve."""
    served = ServedTools.read(context.serving)
    held = _reasons_to_hold(context, state, served)
    hashes = hashes_of(context.settings, state)
    decided = decisions.reasons_against(context.store, context.settings.name, *hashes)
    difference = ToolDifference.since(served, state.read.catalog.hashes)
    degraded = (*context.ledger.problems, *degradations(state.read, state.expanded))
    before = encoder_serving(context.serving)
    return SnapshotIdentity(*hashes, (*held, *decided), decided, degraded, difference, before)


def _reasons_to_hold(context: BuildContext, state: BuildState, served: ServedTools) -> tuple[str, ...]:
    """Return the reasons of all gates that need no snapshot."""
    settings, read, enrichment = context.settings, state.read, state.expanded.enrichment
    reading, catalog = read.reading, read.catalog
    held = hold_reasons(settings.publish, catalog, len(reading.tools), len(reading.rejected), enrichment, read.missing)
    by_source = served_sources(served.origins, context.last_readings.known_sources(), settings.source, reading.gaps)
    tool_ids = [record.tool_id for record in catalog.records]
    return (
        *held,
        *served.reasons_against_replacing,
        *removal_reasons(settings.publish, by_source, catalog.hashes),
        *lost_phrases_reasons(settings, tool_ids, enrichment, served.generators),
    )


def find_unchanged(context: BuildContext, identity: SnapshotIdentity) -> SnapshotOutcome | None:
    """Return the stored snapshot of the same content that serves, or that is held again.

    One that a gate held is checked anew: what serves, or the judgements, may have changed since. Where an operator
    decided against the content, any snapshot of it will do.
    """
    for stored in sorted(context.store.snapshots(), key=lambda stored: not stored.current):
        same = stored.manifest is not None and stored.manifest.content_hash == identity.content_hash
        if not same or not (stored.current or stored.held or identity.decided):
            continue
        folder = context.store.local_folder(stored.name)
        try:
            router = Router.open(folder)
        except SnapshotInvalid:
            continue
        if stored.current:
            return SnapshotOutcome(folder, "unchanged", identity.held)
        if held := identity.held or regression(context, router).held:
            return SnapshotOutcome(folder, "held", held)
    return None


def regression(context: BuildContext, new: Router) -> RegressionCheck:
    """Measure a snapshot on the catalog's judged requests, unless it has learned from them."""
    settings = context.settings
    if settings.publish.judged and settings.taught_by_judgements:
        context.clock.note(
            "the new snapshot was not measured: it learned from its judged requests, see tuning.judged and tuning.usage"
        )
        return NOT_MEASURED
    judgements = judgements_of(settings.folder)
    return check_regression(new, context.serving, judgements, settings.publish, context.clock)
