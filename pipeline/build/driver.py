"""The stages of a build in order, each from the state that the one before it left."""

from pipeline.build.context import BuildContext
from pipeline.build.expanding import estimate_cost, expand, resolve_encoder
from pipeline.build.identifying import find_unchanged, identify
from pipeline.build.publishing import accept_readings, note_missing_signature, publish, tidy_up
from pipeline.build.quarantining import quarantine
from pipeline.build.reading import read_catalog
from pipeline.build.report import BuildReport, make_report
from pipeline.build.state import BuildState
from pipeline.build.writing import put_counts, write


def run_stages(context: BuildContext, force: bool) -> BuildReport:
    """Run all stages; `force` writes a snapshot though nothing changed. Raises as `build` does."""
    read = read_catalog(context)
    # Before anything is paid for: an encoder that cannot be had would waste it.
    encoder = resolve_encoder(context)
    estimated = estimate_cost(context, read)
    state = BuildState(read, encoder, estimated, expand(context, read, encoder))
    state = quarantine(context, state)
    put_counts(context, state)  # what was paid lasts, whatever the gates meet
    identity = identify(context, state)
    put_counts(context, state, identity)
    unchanged = None if force else find_unchanged(context, identity)
    outcome = unchanged or write(context, state, identity)
    # Before it serves, so that a build that is killed between the two has not forgotten what the sources gave.
    context.last_readings.store(
        context.run, read.reading.by_source, outcome.folder.name, held=outcome.outcome == "held"
    )
    if unchanged is None:
        outcome = publish(context, outcome)
    else:
        note_missing_signature(context, unchanged)
    accept_readings(context, read, outcome)
    outcome = tidy_up(context, outcome)
    if any(not one.announced for one in state.quarantined):
        context.ledger.quarantine.mark_announced(context.settings.name, context.area)
    context.clock.stop()
    return make_report(state, identity, outcome, context.clock)
