"""The stage that holds back single tools: the rest of the build goes on without them."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from pipeline.build.expanding import reuse
from pipeline.build.reading import judged_requests
from pipeline.build_state import BuildContext, BuildState
from pipeline.enrichment import ScreenedExpansion
from pipeline.errors import SnapshotInvalid
from pipeline.inspection.served_tools import ServedTexts, served_expansions, served_texts
from pipeline.ledger import QuarantinedTool
from pipeline.ledger.quarantine import HELD, RELEASED
from pipeline.publish.quarantine import ChangedTools, Served, changed_tools, exceeds, measure_gains, probes_of
from pipeline.records import Catalog, record_hash, unread_notices
from router.fingerprint import canonical_json
from router.snapshot.snapshot import Snapshot
from router.tools.field_text import project_record

# Fewer requests do not show what is far from a tool; an agent can be given so few tools whole.
_FEWEST_PROBES = 100
_FEWEST_STEERED = 3  # tools: one or two are a large share of a small source


def quarantine(context: BuildContext, state: BuildState) -> None:
    """Take out the tools that take other tools' requests, and those of sources that steer the model.

    A new one is left out; a changed one keeps the record that serves, and is found by what it was when it was last
    reviewed. What was held back before, and what was released, is not measured again while its content stays. Where no
    tool would be left, the whole snapshot is held.
    """
    if not context.settings.publish.quarantine:
        return
    serving = context.serving
    try:
        served = served_texts(serving) if serving is not None else {}
    except SnapshotInvalid:
        return  # the gates say what it means that it cannot be compared
    tools = changed_tools(state.catalog.hashes, state.documents, served)
    if tools.many_rewritten:
        context.clock.note(
            f"{len(tools.rewritten):,} tools of {len(served):,} have other texts and the record that serves, as after "
            "a change of model, prompt or checks: they were not tried on other tools' requests"
        )
    known = context.ledger.quarantine.tools(context.settings.name, context.area)
    released = {(one.tool_id, one.content_hash) for one in known if one.state == RELEASED}
    reviewed = {tool_id for tool_id, content in tools.all_hashes.items() if (tool_id, content) in released}
    steering = _steering(context, state, tools, len(served)) - reviewed
    if not served and steering >= state.catalog.hashes.keys():
        state.distrusted = sorted(state.enrichment.steering)
        return
    now = datetime.now(UTC)
    earlier = {(one.tool_id, one.content_hash): one for one in known if one.state == HELD}
    held = [
        earlier.get((tool_id, content))
        or QuarantinedTool(tool_id, "new" if tool_id in tools.new else "changed", content, now, 0, 0, distance=0.0)
        for tool_id, content in tools.all_hashes.items()
        if tool_id in steering
    ]
    baselines: dict[str, Served] = {}
    if serving is not None:
        gone = served.keys() - state.catalog.hashes.keys()
        baselines = _baselines(context, serving, served, tools, reviewed)
        unheld = {tool_id: content for tool_id, content in tools.hashes.items() if tool_id not in steering | reviewed}
        held += _held(context, state, serving, unheld, earlier, baselines, gone)
    held.sort(key=lambda one: one.tool_id)
    looked_at = {**dict.fromkeys(state.catalog.hashes, ""), **tools.all_hashes}
    context.ledger.quarantine.put(context.run, context.settings.name, context.area, held, looked_at)
    if held:
        ids = {one.tool_id for one in held}
        kept = _served_tools(context, serving, served, ids & served.keys()) if serving is not None else {}
        _take_out(
            state,
            {tool_id: replace(baselines.get(tool_id, one), record=one.record) for tool_id, one in kept.items()},
            ids,
        )
        state.quarantined = tuple(held)
        reuse(context, state)


def _steering(context: BuildContext, state: BuildState, tools: ChangedTools, serving: int) -> set[str]:
    """Return the ids of the tools to hold back because too many records of their kind steered the model.

    Where many new or changed records of a source steered, these are all of them: what is hidden better came with them.
    Where many steered that serve already, the encoder or the model is at fault, and they keep the texts that serve.
    """
    steered, share = state.enrichment.steering.keys(), context.settings.assessment.max_share
    by_source: dict[str, set[str]] = {}
    for record in state.catalog.records:
        if record.tool_id in tools.new or record.tool_id in tools.changed:
            by_source.setdefault(record.origin.file, set()).add(record.tool_id)
    groups = [(of_source, len(of_source)) for of_source in by_source.values()]
    groups.append((steered & tools.rewritten.keys(), serving - len(tools.changed)))
    return {
        tool_id
        for group, count in groups
        if (found := len(steered & group)) >= _FEWEST_STEERED and found > share * count
        for tool_id in group
    }


def _baselines(
    context: BuildContext,
    serving: Path,
    served: Mapping[str, ServedTexts],
    tools: ChangedTools,
    reviewed: Collection[str],
) -> dict[str, Served]:
    """Return what the changed tools are measured against: what each was when it was last reviewed, or first served.

    Many small changes are together as large as one. A tool that a person has released starts anew.
    """
    ledger, where = context.ledger.quarantine, (context.settings.name, context.area)
    changed = {tool_id for tool_id in tools.hashes if tool_id not in tools.new}
    try:
        now = _served_tools(context, serving, served, changed - set(reviewed))
    except SnapshotInvalid:
        return {}  # where tools are tried it is told why they cannot be
    texts = {tool_id: canonical_json(msgspec.to_builtins(one)) for tool_id, one in now.items()}
    ledger.put_baselines(context.run, *where, texts, [*tools.new, *reviewed])
    stored = ledger.baselines(*where)
    return {tool_id: msgspec.json.decode(stored[tool_id], type=Served) for tool_id in sorted(now)}


def _held(
    context: BuildContext,
    state: BuildState,
    serving: Path,
    hashes: Mapping[str, str],
    earlier: Mapping[tuple[str, str], QuarantinedTool],
    baselines: Mapping[str, Served],
    gone: Collection[str],
) -> list[QuarantinedTool]:
    """Return which tools of these content hashes gain too much: those that are known, and those measured now."""
    settings = context.settings.publish
    measured = {item: one for item in hashes.items() if (one := earlier.get(item)) is not None and one.probes}
    held = [one for one in measured.values() if exceeds(settings, one.requests, one.distance)]
    unknown = dict(item for item in hashes.items() if item not in measured)
    return held + _measure(context, state, serving, unknown, baselines, gone) if unknown else held


def _measure(
    context: BuildContext,
    state: BuildState,
    serving: Path,
    hashes: Mapping[str, str],
    baselines: Mapping[str, Served],
    gone: Collection[str],
) -> list[QuarantinedTool]:
    """Try tools on the requests of those that serve, and return the ones that gain too much."""
    settings = context.settings.publish
    base = _open(state, serving)
    if isinstance(base, str) or state.encoder is None:
        context.clock.note(f"{len(hashes):,} new or changed tools were not tried on other tools' requests: {base}")
        return []
    probes = probes_of(base, judged_requests(context), gone, settings.max_probes)
    if len(probes) < _FEWEST_PROBES:
        return []
    tried = [
        Served(record, document)
        for record, document in zip(state.catalog.records, state.documents, strict=True)
        if record.tool_id in hashes
    ]
    before = [one for tool_id, one in sorted(baselines.items()) if tool_id in hashes]
    embedding = state.encoder.embedding
    gains = measure_gains(base, tried, before, probes, gone, settings.max_probes, embedding, context.clock)
    now = datetime.now(UTC)
    return [
        QuarantinedTool(
            tool_id=tool_id,
            content_hash=hashes[tool_id],
            kind="changed" if tool_id in baselines else "new",
            since=now,
            requests=gain.requests,
            probes=len(probes),
            distance=gain.distance,
            examples=gain.examples,
        )
        for tool_id, gain in zip((one.record.tool_id for one in tried), gains, strict=True)
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
    if snapshot.encoder is None or snapshot.manifest.encoder != state.encoder.embedding.export.spec:
        return "the snapshot that serves has another encoder"
    return snapshot


def _served_tools(
    context: BuildContext, serving: Path, served: Mapping[str, ServedTexts], tool_ids: Iterable[str]
) -> dict[str, Served]:
    """Return tools as they serve, by id. Raises SnapshotInvalid where that cannot be read."""
    ids = sorted(tool_ids)
    records = Snapshot.open(serving, check=False).records
    expansions = served_expansions(serving, ids)
    found = {}
    for tool_id in ids:
        ordinal = records.ordinal(tool_id)
        assert ordinal is not None
        record, written, expansion = records.complete_record(ordinal), None, None
        if tool_id in expansions:
            generator, model, key, expansion = expansions[tool_id]
            written = ScreenedExpansion(expansion, generator, model, key, expansion)
        document = project_record(record, expansion, context.settings.enrichment.languages)
        # The texts that serve are not the record's own where its remarks steered a model.
        name, description, expanded, dense = served[tool_id].texts
        document = replace(document, name=name, description=description, expansion=expanded, dense=dense)
        found[tool_id] = Served(record, document, written)
    return found


def _take_out(state: BuildState, kept: Mapping[str, Served], held: Collection[str]) -> None:
    """Leave out the tools that are held back, but for what is `kept` of the changed ones."""
    records = {tool_id: one.record for tool_id, one in kept.items()}
    written = {tool_id: one.written for tool_id, one in kept.items() if one.written is not None}
    documents = {document.tool_id: document for document in state.documents if document.tool_id not in held}
    documents |= {tool_id: one.document for tool_id, one in kept.items()}
    all_records = {record.tool_id: record for record in state.catalog.records if record.tool_id not in held} | records
    hashes = {tool_id: content for tool_id, content in state.catalog.hashes.items() if tool_id not in held}
    notices = [notice for notice in state.catalog.notices if notice.tool_id not in held]
    state.documents = [documents[tool_id] for tool_id in sorted(documents)]
    state.catalog = Catalog(
        tuple(all_records[tool_id] for tool_id in sorted(all_records)),
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
