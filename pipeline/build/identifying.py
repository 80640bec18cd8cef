"""What the new snapshot would be, whether it may serve, what it goes without, and whether it is there already."""

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict

from pipeline.build.reading import encoder_serving
from pipeline.build_state import BuildContext, BuildState
from pipeline.enrichment import Enrichment
from pipeline.enrichment.chain import LedgerOnly
from pipeline.enrichment.context import STALE_BY
from pipeline.errors import SnapshotInvalid
from pipeline.inspection.served_tools import ServedTools
from pipeline.learning import MOST_TRAINED
from pipeline.publish import NOT_MEASURED, VERSIONS, RegressionCheck, check_regression
from pipeline.publish.gates import hold_reasons, lost_phrases_reasons, removal_reasons, served_sources, steering_reasons
from pipeline.sentences import counted, named
from pipeline.settings import CatalogSettings
from pipeline.sources.formats.tool_lists import MORE_PAGES
from pipeline.store.publication import reasons_against
from quartermaster.evaluation import judgements_of
from router import Router
from router.fingerprint import file_sha256, fingerprint

_LONGEST = 600  # characters of a server's words
_FEWEST_REFUSED = 3  # answers that the checks refused: one or two are no fault, asked again the model may say the same


def identify(context: BuildContext, state: BuildState) -> None:
    """Find what the new snapshot would be, and whether it may serve."""
    served = ServedTools.read(context.serving, former_ids := state.catalog.former_ids)
    if renamed := [f"{former} is {former_ids[former]}" for former in sorted(served.renamed)]:
        follow = "expansions, past requests, judgements and paid answers follow them"
        context.clock.note(f"{counted(len(renamed), 'renamed tool')}: {named(renamed)}; {follow}")
    state.content_hash, state.inputs_hash = hashes = hashes_of(context.settings, state)
    state.decided = reasons_against(context.store, context.settings.name, *hashes)
    state.held = (*_reasons_to_hold(context, state, served), *state.decided)
    state.degraded = (*context.ledger.problems, *degradations(state))
    state.difference = served.difference(state.catalog.hashes)
    state.encoder_before = encoder_serving(context.serving)


def _reasons_to_hold(context: BuildContext, state: BuildState, served: ServedTools) -> tuple[str, ...]:
    """Return the reasons of all gates that need no snapshot."""
    settings, reading, catalog, enrichment = context.settings, state.reading, state.catalog, state.enrichment
    by_source = served_sources(served.origins, context.last_readings.known_sources(), reading.read_from, reading.gaps)
    unknown = f"what serves cannot be compared, so tools that would be lost are not known: {served.problem}"
    return (
        *hold_reasons(settings.publish, catalog, len(reading.tools), len(reading.rejected), enrichment, state.missing),
        *([unknown] if served.problem else []),
        *removal_reasons(settings.publish, by_source, catalog.hashes),
        *steering_reasons(settings.assessment, state.distrusted, len(catalog.records)),
        *lost_phrases_reasons(settings, sorted(catalog.hashes), enrichment, served.generators),
    )


def hashes_of(settings: CatalogSettings, state: BuildState) -> tuple[str, str]:
    """Return the hash of all that decides a snapshot's answers, and that of what goes in whatever served before.

    Equal content hashes give equal rankings. The adapter and the calibration of the snapshot that serves may be reused,
    so two builds of the same inputs may differ in content.
    """
    catalog, enrichment = state.catalog, state.enrichment
    embedding = state.encoder.embedding if state.encoder else None
    judgements = judgements_of(settings.folder) if settings.tuning.judged else None
    # Beside the tools' own hashes: an API that moved is the same tool, but a call must find it. Left out where there is
    # none, so that the hash of a catalog without APIs is as in earlier versions.
    operations = [(record.tool_id, record.operation.to_json()) for record in catalog.records if record.operation]
    engine = settings.vectors.engine  # with candidates of another, other tools may be missed
    inputs = {
        **({"operations": operations} if operations else {}),
        **({"engine": engine} if engine != "faiss" else {}),
        "versions": VERSIONS,
        "tools": sorted(catalog.hashes.items()),
        "expansions": {
            tool_id: [written.generator, written.model, written.expansion.to_json(), *written.by_person]
            for tool_id, written in enrichment.written.items()
        },
        "languages": settings.enrichment.languages,
        "verdicts": [asdict(verdict) for verdict in enrichment.verdicts],
        "siblings": dict(enrichment.siblings),
        "encoder": [embedding.export.key, embedding.export.spec.query_prefix] if embedding else None,
        "tuning": settings.tuning.content(),
        "judged": file_sha256(judgements) if judgements else None,
        "past": state.past.content() if state.past else None,
        "recipe": settings.retrieval.resolve().to_json(),
    }
    content = {
        **inputs,
        "adapter": _adapter_content(state),
        # The manifest counts what is stale. No answer depends on it, so content that was rolled back from stays the
        # same. So does what is held back; without any the hash is as in earlier versions.
        "stale": sorted(enrichment.stale),
        **({"quarantined": [one.content_hash for one in state.quarantined]} if state.quarantined else {}),
    }
    content_hash = fingerprint(content)
    if state.calibration is not None:
        content_hash = state.calibration.named_in(content_hash)
    return content_hash, fingerprint(inputs)


def _adapter_content(state: BuildState) -> str | None:
    """Return the hash of the phrases that the adapter is, or was, learned from; None where none is wanted."""
    if state.phrase_keys is None:
        return None
    learned_from = state.adapter.keys if state.adapter is not None else None
    digest = hashlib.sha256((state.phrase_keys if learned_from is None else learned_from).tobytes()).hexdigest()
    return f"{digest} of {MOST_TRAINED} tools" if len(state.catalog.records) > MOST_TRAINED else digest


def degradations(state: BuildState) -> tuple[str, ...]:
    """Return a sentence for each thing that the build went without; empty where it had everything.

    Each makes the night degraded, though its snapshot may serve.
    """
    reasons, enrichment = [], state.enrichment
    if skipped := state.missing.skipped:
        reasons.append(f"{counted(len(skipped), 'source')} could not be read: {named([g.source for g in skipped])}")
    reasons += [f"{stale} keeps its last known records: {stale.reason[:_LONGEST]}" for stale in state.reading.stale]
    reasons += [f"{one.source}: {told}" for one in state.reading.coverage for told in one.notices if MORE_PAGES in told]
    if enrichment.unavailable:  # the cause stands before what follows from it
        reasons.append(f"the model could not be asked: {' '.join(enrichment.unavailable.split())}")
    unasked = (generator.reason for generator in state.chain if isinstance(generator, LedgerOnly))
    reasons += [f"the model was {reason}: its earlier answers serve" for reason in unasked]
    if len(rejected := sorted(enrichment.rejected)) >= _FEWEST_REFUSED:
        checks = ", ".join(sorted(set(enrichment.rejected.values())))
        reasons.append(
            f"the checks refused the model's answers about {len(rejected):,} tools ({checks}): {named(rejected)}"
        )
    reasons += enrichment.churn
    faults = (f for f in enrichment.failures if not f.postponed and f.kind != "rejected")
    if failed := [failure.tool_id for failure in faults]:
        reasons.append(f"the model has no answer for {counted(len(failed), 'tool')}: {named(failed)}")
    return (*reasons, *_stale(enrichment))


def _stale(enrichment: Enrichment) -> Iterator[str]:
    """Yield how many tools keep an earlier expansion, and why.

    One that is kept because the checks refused the newer answer is left out: that is not a fault either.
    """
    refused = {failure.tool_id for failure in enrichment.failures if failure.kind == "rejected"}
    stale = {tool_id: stale for tool_id, stale in enrichment.stale.items() if tool_id not in refused}
    if stale:
        counts = Counter(reason for one in stale.values() for reason in one.reasons)
        why = ", ".join(f"{count:,} {STALE_BY[reason]}" for reason, count in sorted(counts.items()))
        keep = "keep" if len(stale) != 1 else "keeps"
        yield f"{counted(len(stale), 'tool')} {keep} an earlier expansion ({why}): {named(list(stale))}"


def find_unchanged(context: BuildContext, state: BuildState) -> bool:
    """Return whether a stored snapshot of the same content serves, or is held again: the build ends with it.

    One that a gate held is checked anew: what serves, or the judgements, may have changed since. Where an operator
    decided against the content, any snapshot of it will do.
    """
    for stored in sorted(context.store.snapshots(), key=lambda stored: not stored.current):
        same = stored.manifest is not None and stored.manifest.content_hash == state.content_hash
        if not same or not (stored.current or stored.held or state.decided):
            continue
        folder = context.store.local_folder(stored.name)
        try:
            router = Router.open(folder)
        except SnapshotInvalid:
            continue
        if stored.current or (held := state.held or regression(context, router).held):
            state.snapshot = folder
            state.outcome, state.held = ("unchanged", state.held) if stored.current else ("held", held)
            return True
    return False


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
