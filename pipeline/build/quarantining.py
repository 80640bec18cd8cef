"""The stage that holds back single tools: the rest of the build goes on without them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from pipeline.build.expanding import reuse
from pipeline.build_state import BuildContext, BuildState
from pipeline.enrichment import ScreenedExpansion
from pipeline.errors import SettingsInvalid, SnapshotInvalid
from pipeline.inspection.served_tools import ServedTexts, served_expansions, served_texts
from pipeline.ledger import QuarantinedTool
from pipeline.ledger.quarantine import HELD
from pipeline.publish.quarantine import ChangedTools, changed_tools, exceeds, measure_gains, probes_of
from pipeline.records import Catalog, record_hash, unread_notices
from quartermaster.evaluation import Judgement, judgements_of, read_judgements
from router.record import ToolRecord
from router.snapshot.snapshot import Snapshot
from router.tools.field_text import project_record

# Fewer requests do not show what is far from a tool; an agent can be given so few tools whole.
_FEWEST_PROBES = 100


def quarantine(context: BuildContext, state: BuildState) -> None:
    """Take out the tools that take other tools' requests.

    A new one is left out; a changed one keeps the record and the expansion that serve. What was held back before, and
    what was released, is not measured again while its content stays.
    """
    if not context.settings.publish.quarantine or (serving := context.serving) is None:
        return
    try:
        served = served_texts(serving)
    except SnapshotInvalid:
        return  # the gates say what it means that it cannot be compared
    tools = changed_tools(state.catalog.hashes, state.documents, served)
    if tools.rewritten:
        context.clock.note(
            f"{tools.rewritten:,} tools of {len(served):,} have other texts and the record that serves, as after a "
            "change of model, prompt or checks: they were not tried on other tools' requests"
        )
    held = _held(context, state, serving, tools, served.keys() - state.catalog.hashes.keys())
    looked_at = {**dict.fromkeys(state.catalog.hashes, ""), **tools.hashes}
    context.ledger.quarantine.put(context.run, context.settings.name, context.area, held, looked_at)
    if held:
        _take_out(context, state, serving, served, {one.tool_id for one in held})
        state.quarantined = tuple(held)
        reuse(context, state)


def _held(
    context: BuildContext, state: BuildState, serving: Path, tools: ChangedTools, gone: Collection[str]
) -> list[QuarantinedTool]:
    """Return the tools to hold back, sorted by id: those that are known, and those that are measured now."""
    if not (hashes := tools.hashes):
        return []
    settings = context.settings.publish
    known = context.ledger.quarantine.tools(context.settings.name, context.area)
    stored = {(one.tool_id, one.content_hash): one for one in known}
    known = [stored[item] for item in hashes.items() if item in stored]
    held = [one for one in known if one.state == HELD and exceeds(settings, one.requests, one.distance)]
    unknown = {tool_id: content for tool_id, content in hashes.items() if (tool_id, content) not in stored}
    if unknown:
        held += _measure(context, state, serving, unknown, tools.new, gone)
    return sorted(held, key=lambda one: one.tool_id)


def _measure(
    context: BuildContext,
    state: BuildState,
    serving: Path,
    hashes: Mapping[str, str],
    new: Collection[str],
    gone: Collection[str],
) -> list[QuarantinedTool]:
    """Try tools on the requests of those that serve, and return the ones that gain too much."""
    settings = context.settings.publish
    base = _open(state, serving)
    if isinstance(base, str) or state.encoder is None:
        context.clock.note(f"{len(hashes):,} new or changed tools were not tried on other tools' requests: {base}")
        return []
    probes = probes_of(base, _judgements(context), gone, settings.max_probes)
    if len(probes) < _FEWEST_PROBES:
        return []
    records = [record for record in state.catalog.records if record.tool_id in hashes]
    documents = [document for document in state.documents if document.tool_id in hashes]
    embedding = state.encoder.embedding
    gains = measure_gains(base, records, documents, probes, gone, settings.max_probes, embedding, context.clock)
    now = datetime.now(UTC)
    return [
        QuarantinedTool(
            tool_id=record.tool_id,
            content_hash=hashes[record.tool_id],
            kind="new" if record.tool_id in new else "changed",
            since=now,
            run_id=context.run,
            requests=gain.requests,
            probes=len(probes),
            distance=gain.distance,
            examples=gain.examples,
        )
        for record, gain in zip(records, gains, strict=True)
        if exceeds(settings, gain.requests, gain.distance)
    ]


def _open(state: BuildState, serving: Path) -> Snapshot | str:
    """Return the serving snapshot, which has the build's encoder, or why tools cannot be tried on it."""
    if state.encoder is None:
        return "it takes vectors (vectors.encoder)"
    try:
        snapshot = Snapshot.open(serving)
    except SnapshotInvalid as error:
        return str(error)
    if snapshot.encoder is None or snapshot.manifest.encoder != state.encoder.exports.of_requests().spec:
        return "the snapshot that serves has another encoder"
    return snapshot


def _judgements(context: BuildContext) -> Sequence[Judgement]:
    """Return the catalog's judged requests; none where they cannot be read, which the regression gate reports."""
    file = judgements_of(context.settings.folder)
    try:
        return read_judgements(file) if file else ()
    except SettingsInvalid:
        return ()


def _take_out(
    context: BuildContext, state: BuildState, serving: Path, served: Mapping[str, ServedTexts], held: Collection[str]
) -> None:
    """Leave out the new tools that are held back, and put what serves in the place of the changed ones.

    Raises SnapshotInvalid where that cannot be read.
    """
    records = _served_records(serving, held)
    written = {
        tool_id: ScreenedExpansion(expansion, generator, model, key, expansion)
        for tool_id, (generator, model, key, expansion) in served_expansions(serving, sorted(records)).items()
    }
    documents = {document.tool_id: document for document in state.documents if document.tool_id not in held}
    for tool_id, record in records.items():
        expansion = written[tool_id].expansion if tool_id in written else None
        document = project_record(record, expansion, context.settings.enrichment.languages)
        # The texts that serve are not the record's own where its remarks steered a model.
        name, description, expanded, dense = served[tool_id].texts
        documents[tool_id] = replace(document, name=name, description=description, expansion=expanded, dense=dense)
    kept = {record.tool_id: record for record in state.catalog.records if record.tool_id not in held} | records
    hashes = {tool_id: content for tool_id, content in state.catalog.hashes.items() if tool_id not in held}
    notices = [notice for notice in state.catalog.notices if notice.tool_id not in held]
    state.documents = [documents[tool_id] for tool_id in sorted(documents)]
    state.catalog = Catalog(
        tuple(kept[tool_id] for tool_id in sorted(kept)),
        hashes | {tool_id: record_hash(record) for tool_id, record in records.items()},
        (*notices, *unread_notices(records.values())),
    )
    enrichment = state.enrichment
    state.enrichment = replace(
        enrichment,
        written={tool_id: one for tool_id, one in enrichment.written.items() if tool_id not in held} | written,
        siblings={
            tool_id: tuple(sibling for sibling in siblings if sibling not in held)
            for tool_id, siblings in enrichment.siblings.items()
            if tool_id not in held
        },
        suspicious=tuple(verdict for verdict in enrichment.suspicious if verdict.tool_id not in held),
        steering={tool_id: parts for tool_id, parts in enrichment.steering.items() if tool_id not in held},
        refused={tool_id: verdicts for tool_id, verdicts in enrichment.refused.items() if tool_id not in held},
        failures=[failure for failure in enrichment.failures if failure.tool_id not in held],
    )


def _served_records(serving: Path, held: Collection[str]) -> dict[str, ToolRecord]:
    """Return the serving records of the tools that are held back, by id: those that only changed."""
    records = Snapshot.open(serving, check=False).records
    ordinals = {tool_id: records.ordinal(tool_id) for tool_id in held}
    return {tool_id: records.complete_record(ordinal) for tool_id, ordinal in ordinals.items() if ordinal is not None}
