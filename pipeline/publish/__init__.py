"""Everything → Snapshot: written, opened as the router opens it, gated, published, retained."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from pipeline.enrichment import Enrichment
from pipeline.enrichment.lexicon import LexiconGenerator
from pipeline.enrichment.prompt import PROMPT_VERSION
from pipeline.errors import RecordRejected, SnapshotInvalid
from pipeline.indexing.lexical import write_lexical
from pipeline.inspection import write as write_inspection
from pipeline.learning import TUNING_VERSION, PastRequests, ReusedCalibration, Tuning
from pipeline.ledger import Ledger
from pipeline.phrase_checks.catalog import ASSESSMENT_VERSION
from pipeline.phrase_checks.record import SCREEN_VERSION
from pipeline.progress import Progress
from pipeline.publish import serving
from pipeline.publish.judged import UNJUDGED, Judged, judge
from pipeline.publish.learned import learned
from pipeline.records import Catalog
from pipeline.settings import CatalogSettings
from pipeline.sources import Coverage
from pipeline.tokens import TokenCounter
from pipeline.vectors import Vectors
from router import Router
from router.contract import CATALOG_DB, FORMAT_VERSION, Expanded, Manifest, Signal
from router.fingerprint import file_sha256
from router.provider_formats import Detail, Form
from router.store import SnapshotStore, Stored, WritableStore, current_folder
from router.text import TEXT_VERSION
from router.tools.field_text import PROJECTION_VERSION, FieldDocuments

__all__ = ["UNJUDGED", "Contents", "Judged", "SnapshotStore", "Stored", "judge", "write"]

VERSIONS = {
    "format": FORMAT_VERSION,
    "text": TEXT_VERSION,
    "projection": PROJECTION_VERSION,
    "prompt": PROMPT_VERSION,
    "screen": SCREEN_VERSION,
    "assessment": ASSESSMENT_VERSION,
    "tuning": TUNING_VERSION,
}


@dataclass(frozen=True)
class Contents:
    """All that goes into a snapshot."""

    catalog: Catalog
    rejected: Sequence[RecordRejected]
    enrichment: Enrichment
    documents: Sequence[FieldDocuments]
    vectors: Vectors | None
    tuning: Tuning
    content_hash: str
    held: tuple[str, ...]
    past: PastRequests | None = None
    calibration: ReusedCalibration | None = None
    coverage: Sequence[Coverage] = ()


def write(
    settings: CatalogSettings,
    contents: Contents,
    store: WritableStore,
    ledger: Ledger,
    run: int,
    progress: Progress,
    judged: Callable[[Router], Judged] = lambda _: UNJUDGED,
) -> tuple[Path, Judged]:
    """Write a snapshot beside the others and return its folder, which does not serve yet, and what `judged` found.

    The ledger tells what the words of its tools have cost, and what earlier builds did; `run` is this build. `judged`
    is given the snapshot, opened as a router opens it, and what it says stands in the manifest.
    Nothing of a build that fails is left behind. Raises SnapshotInvalid where the router would refuse the snapshot.
    """
    with store.staging(contents.content_hash) as folder:
        progress.start("index", None)
        lengths = write_lexical(contents.documents, folder, settings.enrichment.languages)
        progress.start("write", None)
        counter = TokenCounter()
        serving.write(folder, contents.catalog, contents.documents, contents.vectors, counter, _expanded(contents))
        if contents.vectors and (told := serving.unindexed(folder, contents.vectors)):
            progress.note(told)
        contents.tuning.save(folder)
        vectors = contents.vectors
        created_at = datetime.now(UTC)
        write_inspection(
            folder / CATALOG_DB,
            contents.catalog,
            contents.rejected,
            contents.enrichment,
            contents.documents,
            vectors,
            identity={
                "snapshot": _name(folder),
                "catalog": settings.name,
                "built_at": created_at.replace(tzinfo=None, microsecond=0),
                "run_id": run,
                "encoder": vectors.export.spec.model if vectors else None,
                "recipe": settings.retrieval.resolve().name,
                "format": FORMAT_VERSION,
            },
            ledger=ledger,
            previous=current(store),
            coverage=contents.coverage,
        )
        manifest = _manifest(settings, contents, folder, created_at, lengths, counter)
        manifest.write(folder)
        manifest = learned(manifest, folder, contents.past, contents.calibration, settings, progress)
        progress.start("verify", None)
        found = judged(Router.open(folder))
        replace(manifest, held=(*manifest.held, *found.held), evaluation=found.evaluation).write(folder)
        return store.seal(folder), found


def _manifest(
    settings: CatalogSettings,
    contents: Contents,
    folder: Path,
    created_at: datetime,
    lengths: Mapping[Signal, float],
    counter: TokenCounter,
) -> Manifest:
    """What a snapshot under construction says of itself, its files' checksums; `lengths`: see `write_lexical`."""
    vectors = contents.vectors
    return Manifest(
        snapshot=_name(folder),
        catalog=settings.name,
        created_at=created_at.isoformat(timespec="seconds"),
        content_hash=contents.content_hash,
        versions=VERSIONS,
        signals=(*lengths, Signal.DENSE) if vectors else tuple(lengths),
        encoder=vectors.export.spec if vectors else None,
        generators=contents.enrichment.generators,
        recipe=settings.retrieval.resolve().to_json(),
        counts={
            "tools": len(contents.catalog.records),
            "providers": len({record.provider for record in contents.catalog.records}),
            "phrases": sum(len(document.phrases) for document in contents.documents),
            "rejected": len(contents.rejected),
            "merged": contents.catalog.count("merged"),
            "renamed": contents.catalog.count("renamed"),
            "thin": contents.catalog.count("thin"),
        },
        token_counter=counter.name,
        token_formats=tuple(map(str, Form)),
        token_details=tuple(map(str, Detail)),
        files=_checksums(folder),
        held=contents.held,
        agreement=vectors.export.agreement if vectors else None,
        languages=settings.enrichment.languages,
        tuning=contents.tuning.evidence,
        field_lengths={str(signal): round(length, 3) for signal, length in lengths.items()},
    )


def _name(folder: Path) -> str:
    """The name that a snapshot under construction will have."""
    return folder.name.split("-", 1)[1]


def _expanded(contents: Contents) -> list[Expanded]:
    """Whether each tool has an expansion of its own. A record that tries to steer is left with what it has: nothing is
    made up for what it brought on itself."""
    suspects = {verdict.tool_id for verdict in contents.enrichment.suspicious}
    written = contents.enrichment.written
    stopgaps = {tool_id for tool_id, w in written.items() if w.generator == LexiconGenerator.name} - suspects
    marks = []
    for document in contents.documents:
        bare = not document.expansion and not document.translations and document.tool_id not in suspects
        stopgap = document.tool_id in stopgaps
        marks.append(Expanded.NO if bare else Expanded.STOPGAP if stopgap else Expanded.YES)
    return marks


def current(store: WritableStore) -> Path | None:
    """The folder of the snapshot that serves; None where none does."""
    try:
        return current_folder(store)
    except SnapshotInvalid:
        return None


def _checksums(folder: Path) -> dict[str, str]:
    """sha256 of every file; Tantivy's lock files, empty and hidden, are no part of the snapshot."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            if path.name.endswith(".lock"):
                path.unlink()
            else:
                if path.stat().st_mode & 0o444 != 0o444:  # a link to an encoder may be of a file of somebody else
                    path.chmod(0o644)  # Tantivy's own are its owner's alone; a router may run as somebody else
                found[path.relative_to(folder).as_posix()] = file_sha256(path)
    return found
