"""Writes a snapshot: indexes, served files, the manifest, what the written snapshot teaches, and the database."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from pipeline.build_state import BuildContext, BuildState
from pipeline.enrichment.prompt import PROMPT_VERSION
from pipeline.indexing.lexical import write_lexical
from pipeline.inspection import write as write_inspection
from pipeline.learning import TUNING_VERSION
from pipeline.phrase_checks.assessment import ASSESSMENT_VERSION
from pipeline.phrase_checks.checks import SCREEN_VERSION
from pipeline.publish.regression_gate import RegressionCheck
from pipeline.publish.served_files import slow_search_note, write_served_files
from pipeline.publish.snapshot_learning import calibrate_snapshot, find_implicit_needs, learn_from_past_requests
from pipeline.store import share_unchanged, sign_manifest
from quartermaster.evaluation import judgements_of
from router import Router
from router.contract import CATALOG_DB, FORMAT_VERSION, Manifest, Signal
from router.fingerprint import file_sha256
from router.provider_formats.formats import Detail, ProviderFormat
from router.text import TEXT_VERSION
from router.tools.field_text import PROJECTION_VERSION, tool_languages
from router.tools.implicit_needs import IMPLICIT_NEEDS_VERSION
from router.tools.prerequisites.matching import PREREQUISITES_VERSION

_MOST_QUARANTINED = 500  # in the manifest, which is read only up to a size
# In the content hash of every snapshot.
VERSIONS = {
    "format": FORMAT_VERSION,
    "text": TEXT_VERSION,
    "projection": PROJECTION_VERSION,
    "prompt": PROMPT_VERSION,
    "screen": SCREEN_VERSION,
    "assessment": ASSESSMENT_VERSION,
    "tuning": TUNING_VERSION,
    "prerequisites": PREREQUISITES_VERSION,
    "implicit_needs": IMPLICIT_NEEDS_VERSION,
}


def write_snapshot(
    context: BuildContext, state: BuildState, check: Callable[[Router], RegressionCheck]
) -> tuple[Path, RegressionCheck]:
    """Write a snapshot beside the others; return its folder, which does not serve yet, and the result of `check`.

    `check` is called with the snapshot, opened as a router opens it; its result stands in the manifest. A build that
    fails leaves nothing behind. Raises SnapshotInvalid where the router would refuse the snapshot.
    """
    run, clock, store, settings = context.execution.run, context.clock, context.store, context.settings
    with store.staging(state.content_hash) as folder:
        clock.start("index", None)
        lengths = run("index", write_lexical, state.documents, folder, settings.enrichment.languages, context.memo)
        clock.start("write", None)
        token_counter = run("write", write_served_files, folder, state, settings.vectors.engine, context.memo)
        if state.vectors and (note := slow_search_note(folder, state.vectors)):
            clock.note(note)
        if state.adapter is not None:
            state.adapter.save(folder)
        manifest = _manifest(context, state, folder, lengths, token_counter)
        manifest.write(folder)
        if state.past is not None:
            past = state.past.embedded(state.encoder.embedding if state.encoder else None)
            fit_weights = settings.tuning.fit_weights
            manifest = run("learn", learn_from_past_requests, manifest, folder, past, fit_weights, clock)
        if (tuning := settings.tuning).calibrate:
            clock.start("calibrate", None)
            judged = judgements_of(settings.folder) if tuning.judged else None
            reused, share, memo = state.calibration, tuning.max_refused_share, context.memo
            arguments = (manifest, folder, reused, judged, share, memo, state.documents)
            manifest = run("calibrate", calibrate_snapshot, *arguments)
        if settings.retrieval.resolve().implicit_needs:
            manifest = run("calibrate", find_implicit_needs, manifest, folder, state.catalog, context.memo)
        clock.start("verify", None)
        checked = run("verify", lambda: check(Router.open(folder)))
        manifest = replace(manifest, held=(*manifest.held, *checked.held), evaluation=checked.evaluation)
        # Last, so that it holds what the gates found; no router reads it.
        clock.start("inspect", None)
        run("inspect", write_inspection, folder / CATALOG_DB, context, state, manifest)
        files = {**manifest.files, CATALOG_DB: file_sha256(folder / CATALOG_DB)}
        share_unchanged(folder, files, context.serving)
        sizes = {digest: (folder / name).stat().st_size for name, digest in files.items()}
        replace(manifest, files=files, sizes=sizes).write(folder)
        if context.signer is not None and not manifest.held:  # who signs what a gate held lets it serve
            sign_manifest(folder, context.signer)
        return store.seal(folder), checked


def _manifest(
    context: BuildContext, state: BuildState, folder: Path, lengths: Mapping[Signal, float], token_counter: str
) -> Manifest:
    """Return the manifest of a snapshot under construction; `lengths` are the mean field lengths that `index` gave."""
    settings, catalog, vectors, edges = context.settings, state.catalog, state.vectors, state.prerequisites
    evidence = state.adapter.evidence if state.adapter else None
    counts = {
        "tools": len(catalog.records),
        "providers": len({record.provider for record in catalog.records}),
        "phrases": sum(len(document.phrases) for document in state.documents),
        "rejected": len(state.skipped) + len(state.rejected),
        **{kind: catalog.count(kind) for kind in ("merged", "renamed", "thin")},
    }
    if edges is not None:
        counts |= {"prerequisites": len({edge.tool_id for edge in edges}), "prerequisite_edges": len(edges)}
    return Manifest(
        snapshot=folder.name.split("-", 1)[1],  # the name that it will have
        catalog=settings.name,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        content_hash=state.content_hash,
        versions=VERSIONS,
        signals=(*lengths, Signal.DENSE) if vectors else tuple(lengths),
        encoder=vectors.export.spec if vectors else None,
        generators=state.enrichment.generators,
        recipe=settings.retrieval.resolve().to_json(),
        counts={**counts, "unread": catalog.count("unread")},
        token_formats=tuple(map(str, ProviderFormat)),
        token_details=tuple(map(str, Detail)),
        token_counter=token_counter,
        files=_checksums(folder),
        held=state.held,
        degraded=state.degraded,
        stale_sources=tuple(source.to_json() for source in state.reading.stale),
        quarantined=tuple(one.to_json() for one in state.quarantined[:_MOST_QUARANTINED]),
        stale_expansions=len(state.enrichment.stale),
        agreement=vectors.export.agreement if vectors else None,
        languages=settings.enrichment.languages,
        tool_languages=tool_languages(state.documents),
        tuning={"adapter": evidence} if evidence else {},
        field_lengths={str(signal): round(length, 3) for signal, length in lengths.items()},
        sequence=context.store.take_sequence(),
        inputs_hash=state.inputs_hash,
    )


def _checksums(folder: Path) -> dict[str, str]:
    """Return the sha256 of every file; Tantivy's lock files, empty and hidden, are no part of the snapshot."""
    checksums = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            if path.name.endswith(".lock"):
                path.unlink()
            else:
                checksums[path.relative_to(folder).as_posix()] = file_sha256(path)
    return checksums
