"""Writes a snapshot: indexes, served files, the manifest, what the written snapshot teaches, and the database."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from pipeline.enrichment import Enrichment
from pipeline.enrichment.chain import LexiconGenerator
from pipeline.enrichment.prompt import PROMPT_VERSION
from pipeline.errors import RecordRejected, SnapshotInvalid
from pipeline.execution import Execution
from pipeline.indexing.lexical import write_lexical
from pipeline.inspection import write as write_inspection
from pipeline.learning import TUNING_VERSION, LearnedAdapter, PastRequests
from pipeline.ledger import Ledger
from pipeline.phrase_checks.assessment import ASSESSMENT_VERSION
from pipeline.phrase_checks.checks import SCREEN_VERSION
from pipeline.progress import Progress
from pipeline.publish.quarantine import QuarantinedTool
from pipeline.publish.regression_gate import RegressionCheck
from pipeline.publish.served_files import ServedCatalog, slow_search_note, write_served_files
from pipeline.publish.snapshot_learning import (
    CalibrationSource,
    calibrate_snapshot,
    find_implicit_needs,
    learn_from_past_requests,
)
from pipeline.records import Catalog
from pipeline.settings import CandidateEngine
from pipeline.sources import Coverage
from pipeline.store import SharedStore, WritableStore, decisions, share_unchanged, sign_manifest
from pipeline.vectors import CatalogVectors
from router import Router
from router.contract import CATALOG_DB, FORMAT_VERSION, Expanded, Manifest, Signal
from router.fingerprint import file_sha256
from router.provider_formats import Detail, Form
from router.retrieval.recipe import Recipe
from router.signing.ed25519 import Signer
from router.store import current_folder
from router.text import TEXT_VERSION
from router.tools.field_text import PROJECTION_VERSION, FieldDocuments
from router.tools.implicit_needs import IMPLICIT_NEEDS_VERSION
from router.tools.prerequisites.matching import PREREQUISITES_VERSION, Prerequisite

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


@dataclass(frozen=True)
class SnapshotContents:
    """All that goes into a snapshot.

    `recipe` is its default, `inputs_hash` is as in `Manifest`, `held` are the reasons why it must not serve, `degraded`
    is what the build went without, `stale_sources` are the sources whose last known records it holds, as JSON. `past`
    are past requests with their vectors, `fit_weights` says to fit the recipe to them, `calibration` what abstention is
    calibrated on, None where it is not, `quarantined` the tools that are held back alone. `prerequisites` are the edges
    between tools, None where the recipe has no use for them. `preferred_encoder` is as in `Manifest`. `engine`
    finds the candidates of a large catalog.
    """

    catalog_name: str
    languages: tuple[str, ...]
    recipe: Recipe
    catalog: Catalog
    rejected: Sequence[RecordRejected]
    enrichment: Enrichment
    documents: Sequence[FieldDocuments]
    vectors: CatalogVectors | None
    adapter: LearnedAdapter
    content_hash: str
    inputs_hash: str
    held: tuple[str, ...]
    degraded: tuple[str, ...] = ()
    stale_sources: tuple[Mapping[str, Any], ...] = ()
    past: PastRequests | None = None
    fit_weights: bool = False
    calibration: CalibrationSource | None = None
    quarantined: Sequence[QuarantinedTool] = ()
    coverage: Sequence[Coverage] = ()
    prerequisites: Sequence[Prerequisite] | None = None
    preferred_encoder: str = ""
    engine: CandidateEngine = "faiss"


@dataclass(frozen=True)
class WritingContext:
    """Where a snapshot is written, and what the writing needs of the build: its ledger, `run` of it, its stages.

    `signer` signs a snapshot that no gate held; None signs none.
    """

    store: WritableStore
    ledger: Ledger
    run: int
    execution: Execution
    progress: Progress
    signer: Signer | None = None


def write_snapshot(
    contents: SnapshotContents, context: WritingContext, check: Callable[[Router], RegressionCheck]
) -> tuple[Path, RegressionCheck]:
    """Write a snapshot beside the others; return its folder, which does not serve yet, and the result of `check`.

    `check` is called with the snapshot, opened as a router opens it; its result stands in the manifest. A build that
    fails leaves nothing behind. Raises SnapshotInvalid where the router would refuse the snapshot.
    """
    execution, progress, vectors = context.execution, context.progress, contents.vectors
    with context.store.staging(contents.content_hash) as folder:
        progress.start("index", None)
        lengths = execution.run("index", write_lexical, contents.documents, folder, contents.languages)
        progress.start("write", None)
        served = ServedCatalog(
            contents.catalog,
            contents.documents,
            vectors,
            _expanded(contents),
            contents.prerequisites or (),
            contents.engine,
        )
        token_counter = execution.run("write", write_served_files, folder, served)
        if vectors and (note := slow_search_note(folder, vectors)):
            progress.note(note)
        contents.adapter.save(folder)
        created_at, sequence = datetime.now(UTC), decisions.next_sequence(context.store)
        manifest = _manifest(contents, folder, created_at, lengths, token_counter, sequence)
        manifest.write(folder)
        if contents.past is not None:
            manifest = execution.run(
                "learn",
                learn_from_past_requests,
                manifest,
                folder,
                contents.past,
                contents.fit_weights,
                progress,
            )
        if contents.calibration is not None:
            progress.start("calibrate", None)
            manifest = execution.run("calibrate", calibrate_snapshot, manifest, folder, contents.calibration)
        if contents.recipe.implicit_needs:
            manifest = execution.run("calibrate", find_implicit_needs, manifest, folder)
        progress.start("verify", None)
        checked = execution.run("verify", _check, folder, check)
        manifest = replace(manifest, held=(*manifest.held, *checked.held), evaluation=checked.evaluation)
        # Last, so that it holds what the gates found; no router reads it.
        progress.start("inspect", None)
        execution.run("inspect", partial(_write_database, folder, contents, context, manifest))
        files = {**manifest.files, CATALOG_DB: file_sha256(folder / CATALOG_DB)}
        share_unchanged(folder, files, serving_folder(context.store))
        replace(manifest, files=files).write(folder)
        if context.signer is not None and not manifest.held:  # who signs what a gate held lets it serve
            sign_manifest(folder, context.signer)
        return context.store.seal(folder), checked


def serving_folder(store: WritableStore) -> Path | None:
    """Return the folder of the snapshot that serves; None where none does.

    In a store that other builds may publish into it is the one that served when this build began. Raises
    StoreUnavailable where a store elsewhere does not answer: a build must not take that for nothing.
    """
    try:
        if not isinstance(store, SharedStore):
            return current_folder(store)
        return store.local_folder(store.base) if store.base is not None else None
    except SnapshotInvalid:
        return None


def _check(folder: Path, check: Callable[[Router], RegressionCheck]) -> RegressionCheck:
    return check(Router.open(folder))


def _write_database(folder: Path, contents: SnapshotContents, context: WritingContext, manifest: Manifest) -> None:
    """Write `catalog.duckdb`, with the ledger's costs and builds and the metrics of the store's snapshots."""
    stored = [stored.manifest for stored in context.store.snapshots() if stored.manifest is not None]
    write_inspection(
        folder / CATALOG_DB,
        contents.catalog,
        contents.rejected,
        contents.enrichment,
        contents.documents,
        contents.vectors,
        run=context.run,
        manifest=manifest,
        stored=stored,
        ledger=context.ledger,
        previous=serving_folder(context.store),
        coverage=contents.coverage,
        prerequisites=contents.prerequisites or (),
    )


def _manifest(
    contents: SnapshotContents,
    folder: Path,
    created_at: datetime,
    lengths: Mapping[Signal, float],
    token_counter: str,
    sequence: int,
) -> Manifest:
    """Return the manifest of a snapshot under construction; `lengths` are the mean field lengths that `index` gave."""
    vectors = contents.vectors
    return Manifest(
        snapshot=_name(folder),
        catalog=contents.catalog_name,
        created_at=created_at.isoformat(timespec="seconds"),
        content_hash=contents.content_hash,
        versions=VERSIONS,
        signals=(*lengths, Signal.DENSE) if vectors else tuple(lengths),
        encoder=vectors.export.spec if vectors else None,
        generators=contents.enrichment.generators,
        recipe=contents.recipe.to_json(),
        counts={
            "tools": len(contents.catalog.records),
            "providers": len({record.provider for record in contents.catalog.records}),
            "phrases": sum(len(document.phrases) for document in contents.documents),
            "rejected": len(contents.rejected),
            "merged": contents.catalog.count("merged"),
            "renamed": contents.catalog.count("renamed"),
            "thin": contents.catalog.count("thin"),
            **_prerequisite_counts(contents.prerequisites),
            "unread": contents.catalog.count("unread"),
        },
        token_formats=tuple(map(str, Form)),
        token_details=tuple(map(str, Detail)),
        token_counter=token_counter,
        files=_checksums(folder),
        held=contents.held,
        degraded=contents.degraded,
        stale_sources=contents.stale_sources,
        quarantined=tuple(one.to_json() for one in contents.quarantined[:_MOST_QUARANTINED]),
        stale_expansions=len(contents.enrichment.stale),
        agreement=vectors.export.agreement if vectors else None,
        languages=contents.languages,
        tuning={"adapter": contents.adapter.evidence} if contents.adapter.evidence else {},
        field_lengths={str(signal): round(length, 3) for signal, length in lengths.items()},
        sequence=sequence,
        inputs_hash=contents.inputs_hash,
        preferred_encoder=contents.preferred_encoder,
    )


def _prerequisite_counts(edges: Sequence[Prerequisite] | None) -> dict[str, int]:
    """Return how many tools need another first, and how many edges say so; nothing where nobody looked."""
    if edges is None:
        return {}
    return {"prerequisites": len({edge.tool_id for edge in edges}), "prerequisite_edges": len(edges)}


def _name(folder: Path) -> str:
    """Return the name that a snapshot under construction will have."""
    return folder.name.split("-", 1)[1]


def _expanded(contents: SnapshotContents) -> list[Expanded]:
    """Return for each tool whether it has an expansion of its own.

    A record that tries to steer counts as expanded: nothing is made up for what it lost by that.
    """
    suspects = {verdict.tool_id for verdict in contents.enrichment.suspicious}
    written = contents.enrichment.written
    stopgaps = {tool_id for tool_id, w in written.items() if w.generator == LexiconGenerator.name} - suspects
    marks = []
    for document in contents.documents:
        bare = not document.expansion and not document.translations and document.tool_id not in suspects
        stopgap = document.tool_id in stopgaps
        marks.append(Expanded.NO if bare else Expanded.STOPGAP if stopgap else Expanded.YES)
    return marks


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
