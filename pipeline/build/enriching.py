"""The expansions that a snapshot holds: written, screened, assessed against the whole catalog, contrasted."""

from collections.abc import Mapping, Sequence
from functools import partial

from pipeline import enrichment
from pipeline.build.assessing import CHECKS_VERSION, assess, leave_out, only_noted_again
from pipeline.build.misplaced import refuse_misplaced, take_back_misplaced
from pipeline.build_state import BuildContext, BuildState
from pipeline.enrichment import EnrichmentContext, Generator
from pipeline.enrichment.chain import ledger_only
from pipeline.enrichment.context import ScreenedExpansion
from pipeline.enrichment.generator import UNASKED, WAITS
from pipeline.errors import RunAborted
from pipeline.execution import parts
from pipeline.phrase_checks.screen import Screen
from pipeline.phrase_checks.subject import Findings
from pipeline.records import sanitized


def enrich(context: BuildContext, state: BuildState) -> None:
    """Have expansions written, and leave out what does not hold against the rest of the catalog.

    Where phrases fit a sibling as well, the tool is asked about once more beside its siblings, if settings say so.
    Where the model cannot be asked, its earlier answers serve. Raises RunAborted as the generators do, where too many
    tools have none.
    """
    settings, catalog, written = context.settings, state.catalog, state.enrichment
    clean = sanitized(catalog, context.memo)
    screen = context.execution.run("screen", Screen, catalog.records, settings.enrichment.languages, clean)
    limit = settings.enrichment.max_reasked_share
    asking = EnrichmentContext(
        catalog, context.ledger, context.run, context.clock, screen, settings.name, CHECKS_VERSION, limit
    )
    context.clock.start("enrich", len(catalog.records))
    _ask(context, state, asking)
    if state.encoder is not None and settings.assessment.enabled and written.written:
        found = assess(context, state)
        if take_back_misplaced(asking, state, found):
            found = assess(context, state)
        # Siblings found while some answers are still to come would be others tomorrow, and paid for again.
        complete = all(failure.asked or failure.kind in WAITS for failure in written.failures)
        can_contrast = {tool_id: near for tool_id, near in found.siblings.items() if _can_contrast(state, tool_id)}
        if settings.enrichment.contrast and can_contrast:
            before, first = dict(written.written), found
            _contrast(context, state, asking, can_contrast, ask=complete)
            answered = {tool_id for tool_id, one in written.written.items() if one.key != before[tool_id].key}
            found = only_noted_again(first, assess(context, state), answered)
            held_before, held = _held(before, first), _held(written.written, found)
            if worse := sorted(tool_id for tool_id in answered if 2 * held[tool_id] < held_before[tool_id]):
                context.clock.note(f"second answers that hold less than the first, which serves: {', '.join(worse)}")
                written.written |= {tool_id: before[tool_id] for tool_id in worse}
                found = only_noted_again(first, assess(context, state), answered - {*worse})
        if found.blind:
            context.clock.note(
                "the encoder finds errands alike that have nothing in common: phrases that a record asked for are "
                "noted, and not dropped. Choose another in vectors.encoder"
            )
        written.siblings = found.siblings
        wrong = {verdict.tool_id for verdict in found.verdicts if verdict.check == "misplaced" and verdict.dropped}
        refuse_misplaced(asking, written, found, wrong)
        leave_out(written, found)
    state.phrases.add(written, catalog.records, screen)
    for generator in state.chain:
        written.usage = written.usage + generator.unclaimed
    written.suspicious = (*screen.suspicious, *written.suspicious)


def _held(written: Mapping[str, ScreenedExpansion], found: Findings) -> dict[str, int]:
    """Return by tool how many phrases of its answer hold against the rest of the catalog; none of a misplaced one."""
    dropped = {(verdict.tool_id, verdict.text) for verdict in found.verdicts if verdict.dropped}
    return {t: sum((t, text) not in dropped for text in by.expansion.user_phrases) for t, by in written.items()}


def _ask(context: BuildContext, state: BuildState, asking: EnrichmentContext) -> None:
    """Ask part by part; once the model cannot be asked, go on with what the ledger has."""
    records = enrichment.interleaved_by_provider(state.catalog.records)
    chain, aborted = state.chain, None
    for label, batch in parts(records, _stage_size(context)):
        try:
            ask = partial(enrichment.enrich, asking, chain, batch=batch, into=state.enrichment)
            context.execution.run("enrich", ask, label=label)
        except RunAborted as error:
            if aborted is not None:
                raise
            aborted, chain = error, _without_model(state, error)
            go_on = partial(enrichment.enrich, asking, chain, batch=batch, into=state.enrichment)
            context.execution.run("enrich", go_on, label=label)
    if aborted is not None:
        left_over = sum(record.tool_id not in state.enrichment.written for record in records)
        if left_over > context.settings.publish.max_failed_share * len(records):
            raise aborted


def _without_model(state: BuildState, error: RunAborted) -> Sequence[Generator]:
    """Return the generators with the ledger's answers in the place of the model."""
    state.enrichment.unavailable = str(error)
    return ledger_only(state.chain, UNASKED, f"not asked: {error}")


def _stage_size(context: BuildContext) -> int | None:
    # A batch handed in whole is one job at the server; one by one, a part is what a flow may repeat.
    return None if context.settings.enrichment.mode == "batch" else context.execution.batch_size


def _contrast(
    context: BuildContext,
    state: BuildState,
    asking: EnrichmentContext,
    colliding: Mapping[str, tuple[str, ...]],
    *,
    ask: bool,
) -> None:
    """Give tools, by id, the answers beside their siblings: asked for, or only those that the ledger has."""
    context.clock.start("contrast", len(colliding))
    chain = state.chain if ask else ledger_only(state.chain, UNASKED, "some first answers are still to come")
    for label, part in parts(list(colliding.items()), _stage_size(context)):
        try:
            work = partial(enrichment.contrast, asking, chain, dict(part), into=state.enrichment)
            context.execution.run("contrast", work, label=label)
        except RunAborted as error:
            # Every tool has its first answer: a build that needed nothing else goes on without the second.
            context.clock.note(f"similar tools were not asked about a second time: {error}")
            chain = _without_model(state, error)
            enrichment.contrast(asking, chain, dict(part), into=state.enrichment)


def _can_contrast(state: BuildState, tool_id: str) -> bool:
    """Return whether the generator that wrote for a tool can be shown its siblings."""
    by = state.enrichment.written.get(tool_id)
    if by is None or by.stale is not None:
        return False
    return any(generator.accepts_siblings for generator in state.chain if generator.name == by.generator)
