"""The stage that holds back single tools: the rest of the build goes on without them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np

from pipeline.build.context import BuildContext
from pipeline.build.encoder import BuildEncoder
from pipeline.build.expanding import with_reuse
from pipeline.build.state import BuildState
from pipeline.build.without_tools import served_as_before
from pipeline.errors import SettingsInvalid, SnapshotInvalid
from pipeline.inspection.served_tools import ServedTexts, served_texts
from pipeline.ledger.quarantine import HELD
from pipeline.publish.quarantine import (
    ChangedTools,
    QuarantinedTool,
    changed_tools,
    exceeds,
    identity_text,
    indexed_tools,
    measure_gains,
    probes_of,
)
from quartermaster.evaluation import Judgement, judgements_of, read_judgements
from router.record import ToolRecord
from router.snapshot.snapshot import Snapshot

# Fewer requests do not tell what is far from a tool; an agent can be given so few tools whole.
_FEWEST_PROBES = 100


@dataclass(frozen=True)
class _Serving:
    """The snapshot that serves, opened, and the encoder of the build, which is also its own."""

    snapshot: Snapshot
    encoder: BuildEncoder


def quarantine(context: BuildContext, state: BuildState) -> BuildState:
    """Return the state without the tools that take other tools' requests.

    A new one is left out; a changed one keeps the record and the expansion that serve. What was held back before, and
    what was released, is not measured again while its content stays.
    """
    if not context.settings.publish.quarantine or context.serving is None:
        return state
    try:
        served = served_texts(context.serving)
    except SnapshotInvalid:
        return state  # the gates say what it means that it cannot be compared
    catalog = state.read.catalog
    tools = changed_tools(catalog.hashes, state.expanded.documents, served)
    if tools.rewritten:
        context.clock.note(
            f"{tools.rewritten:,} tools of {len(served):,} have other texts and the record that serves, as after a "
            "change of model, prompt or checks: they were not tried on other tools' requests"
        )
    held = _held(context, state, tools, served.keys() - catalog.hashes.keys())
    looked_at = {**dict.fromkeys(catalog.hashes, ""), **tools.hashes}
    context.ledger.quarantine.put(context.run, context.settings.name, context.area, held, looked_at)
    return _without(context, state, served, held) if held else state


def _held(
    context: BuildContext, state: BuildState, tools: ChangedTools, gone: Collection[str]
) -> list[QuarantinedTool]:
    """Return the tools to hold back, sorted by id: those that are known, and those that are measured now."""
    if not tools.hashes:
        return []
    settings, hashes = context.settings.publish, tools.hashes
    stored = {
        (one.tool_id, one.content_hash): one
        for one in context.ledger.quarantine.tools(context.settings.name, context.area)
    }
    known = [stored[item] for item in hashes.items() if item in stored]
    held = [one for one in known if one.state == HELD and exceeds(settings, one.requests, one.distance)]
    unknown = {tool_id: content for tool_id, content in hashes.items() if (tool_id, content) not in stored}
    measured = _measure(context, state, unknown, tools.new, gone) if unknown else []
    return sorted([*held, *measured], key=lambda one: one.tool_id)


def _measure(
    context: BuildContext,
    state: BuildState,
    hashes: Mapping[str, str],
    new: Collection[str],
    gone: Collection[str],
) -> list[QuarantinedTool]:
    """Try tools on the requests of those that serve, and return the ones that gain too much."""
    settings, clock = context.settings.publish, context.clock
    serving = _open(context, state)
    if isinstance(serving, str):
        clock.note(f"{len(hashes):,} new or changed tools were not tried on other tools' requests: {serving}")
        return []
    base, embedding = serving.snapshot, serving.encoder.embedding
    probes = probes_of(base, _judgements(context), gone, settings.max_probes)
    if len(probes) < _FEWEST_PROBES:
        return []
    records = [record for record in state.read.catalog.records if record.tool_id in hashes]
    documents = [document for document in state.expanded.documents if document.tool_id in hashes]
    served = _identities(_sample(base, settings.max_probes, gone))
    identities = _identities(records)
    embedding.embed([*identities, *served, *(text for d in documents for text in (d.dense, *d.phrases))])
    clock.start("quarantine", len(probes))
    ordinals = [ordinal for tool_id in gone if (ordinal := base.records.ordinal(tool_id)) is not None]
    gains = measure_gains(
        base,
        indexed_tools(base, records, documents, embedding),
        embedding.matrix(identities),
        embedding.matrix(served),
        probes,
        ordinals,
        clock.advance,
    )
    now = datetime.now(UTC)
    return [
        QuarantinedTool(
            tool_id=record.tool_id,
            content_hash=hashes[record.tool_id],
            kind="new" if record.tool_id in new else "changed",
            state=HELD,
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


def _open(context: BuildContext, state: BuildState) -> _Serving | str:
    """Return the serving snapshot, or why tools cannot be tried on it."""
    if state.encoder is None:
        return "it takes vectors (vectors.encoder)"
    if context.serving is None:
        return "no snapshot serves"
    try:
        snapshot = Snapshot.open(context.serving)
    except SnapshotInvalid as error:
        return str(error)
    spec = state.encoder.exports.of_requests().spec
    if snapshot.encoder is None or snapshot.manifest.encoder != spec:
        return "the snapshot that serves has another encoder"
    return _Serving(snapshot, state.encoder)


def _judgements(context: BuildContext) -> Sequence[Judgement]:
    """Return the catalog's judged requests; none where they cannot be read, which the regression gate tells."""
    file = judgements_of(context.settings.folder)
    try:
        return read_judgements(file) if file else ()
    except SettingsInvalid:
        return ()


def _identities(records: Sequence[ToolRecord]) -> list[str]:
    return [identity_text(record) for record in records]


def _sample(base: Snapshot, most: int, gone: Collection[str]) -> list[ToolRecord]:
    """Return at most so many of the tools that serve, spread evenly over their ids."""
    count = len(base.records)
    ordinals = np.unique(np.linspace(0, count - 1, min(most, count)).astype(int)).tolist()
    records = (base.records.entry(ordinal).record for ordinal in ordinals)
    return [record for record in records if record.tool_id not in gone]


def _without(
    context: BuildContext, state: BuildState, served: Mapping[str, ServedTexts], held: Sequence[QuarantinedTool]
) -> BuildState:
    """Return the state without what is held back, and with what serves in its place."""
    assert context.serving is not None
    catalog, enrichment, documents = served_as_before(
        context.serving,
        served,
        {one.tool_id for one in held},
        state.read.catalog,
        state.expanded.enrichment,
        state.expanded.documents,
        context.settings.enrichment.languages,
    )
    read = replace(state.read, catalog=catalog)
    expanded = with_reuse(context, read, state.encoder, enrichment, documents)
    return replace(state, read=read, expanded=expanded, quarantined=tuple(held))
