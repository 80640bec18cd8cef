"""The whole build as one plain function: sources → records → enrichment → documents → vectors → snapshot."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import duckdb

from pipeline import documents, enrichment, publish, records, sources, vectors
from pipeline.enrichment.chain import generators
from pipeline.enrichment.file import FileGenerator
from pipeline.enrichment.lexicon import LexiconGenerator
from pipeline.errors import RunAborted, SnapshotInvalid
from pipeline.execution import Direct, Execution
from pipeline.ledger import Ledger
from pipeline.progress import Clock, Progress, Silent
from pipeline.report import BuildReport
from pipeline.settings import DEFAULT_WORKSPACE, CatalogSettings
from router.fingerprint import fingerprint
from router.snapshot import Snapshot

T = TypeVar("T")
_BY_ENVIRONMENT = "QUARTERMASTER_PUBLISH__"  # the way for a bare file, which has no catalog.toml
_TEXTS_A_BATCH = 1024  # committed together: what a kill may cost, some ten seconds of embedding


def build(
    settings: CatalogSettings,
    *,
    workspace: Path = DEFAULT_WORKSPACE,
    force: bool = False,
    area: str = "snapshots",
    progress: Progress | None = None,
    execution: Execution | None = None,
    wait_s: float = 0.0,
) -> BuildReport:
    """Build a catalog's snapshot and publish it, unless nothing changed or the gate holds it back.

    `force` writes a snapshot though nothing changed; another `area` of the workspace keeps an experiment apart from
    what serves. `execution` carries out the stages: called directly, or each as a task of a flow. `wait_s` is how long
    to wait for another build of the workspace to end. Raises SettingsInvalid, RunAborted or SnapshotInvalid; whatever
    happens, the snapshot that was serving goes on serving.
    """
    workspace = Path(workspace)
    with Ledger.open(workspace, wait_s) as ledger:
        run = ledger.start_run(settings.name, area)
        try:
            store = publish.SnapshotStore(workspace, settings.name, area)
            report = _build(
                settings, workspace, store, ledger, run, force, execution or Direct(), Clock(progress or Silent())
            )
        except (OSError, duckdb.Error) as error:
            ledger.finish_run(run, "failed", snapshot=None, message=str(error), counts={})
            raise RunAborted(f"the workspace {workspace} could not be written: {error}") from error
        except BaseException as error:
            ledger.finish_run(run, "failed", snapshot=None, message=str(error) or type(error).__name__, counts={})
            raise
        ledger.finish_run(
            run,
            report.outcome,
            snapshot=report.snapshot.name,
            message="; ".join(report.held),
            counts={
                **report.counts,
                "asked": dict(report.asked),
                "embedded": report.embedded,
                "cost_usd": report.usage.cost_usd,
            },
        )
        return report


def _build(
    settings: CatalogSettings,
    workspace: Path,
    store: publish.SnapshotStore,
    ledger: Ledger,
    run: int,
    force: bool,
    do: Execution,
    clock: Clock,
) -> BuildReport:
    clock.start("read", None)
    reading = sources.read(settings, do)
    clock.start("normalize", None)
    catalog = do("normalize", partial(records.catalog_records, reading.tools))
    chain = generators(settings)
    rejected = (*reading.rejected, *_rejected_expansions(chain, catalog))
    ledger.put_catalog(run, settings.name, catalog, rejected)
    if not catalog.records:
        why = f": {len(rejected)} were rejected, the first {rejected[0]}" if rejected else ""
        raise RunAborted(f"the catalog {settings.name!r} holds no tool{why}")
    # Before anything is paid for: an encoder that cannot be had would waste it.
    model = do("resolve", partial(vectors.resolve, settings.vectors, clock))

    clock.start("enrich", len(catalog.records))
    enriched = enrichment.Enrichment()
    for label, batch in _batches(catalog.records, do.batch_size):
        do("enrich", partial(enrichment.enrich, catalog, chain, ledger, run, clock, batch=batch, into=enriched), label)

    clock.start("project", None)
    projected = do("project", partial(_project, catalog, enriched))
    content_hash = _content_hash(settings, catalog, enriched, model)
    held = _held(settings, catalog, reading, enriched)
    same = None if force else _unchanged(store, content_hash, held)

    embedded = 0
    removed: list[str] = []
    if same is None:
        collected = None
        if model is not None:
            encoder = vectors.ReferenceEncoder(model, settings.vectors.batch_size)
            texts = vectors.missing(projected, model, ledger)
            clock.start("embed", len(texts))
            for label, part in _batches(texts, _TEXTS_A_BATCH):
                embedded += do("embed", partial(vectors.embed, part, encoder, ledger, clock), label)
            clock.start("export", None)
            cache = workspace / "encoders"
            exported = do("export", partial(vectors.export, model, settings.vectors.precision, encoder, cache))
            collected = vectors.collect(projected, exported, model, ledger)
        contents = publish.Contents(catalog, rejected, enriched, projected, collected, content_hash, held)
        folder = do("write", partial(publish.write, settings, contents, store, ledger, run, clock))
        clock.start("publish", None)
        if not held:
            do("publish", partial(store.publish, folder.name))
        try:
            removed = store.retain(settings.publish.keep)
        except OSError as error:
            # The new snapshot serves: what could not be tidied up is no failure of the build.
            clock.note(f"old snapshots could not be removed: {error}")
    else:
        folder = same.folder
    clock.stop()
    return BuildReport(
        snapshot=folder,
        outcome="unchanged" if same and same.current else "held" if held else "published",
        held=held,
        counts={
            "tools": len(catalog.records),
            "read": len(reading.tools) + len(reading.rejected),
            "rejected": len(reading.rejected),
            **{kind: catalog.count(kind) for kind in ("merged", "renamed", "thin", "open")},
        },
        rejected=rejected,
        notices=catalog.notices,
        generators=enriched.generators,
        asked=dict(enriched.asked),
        reused=enriched.reused,
        failures=tuple(enriched.failures),
        usage=enriched.usage,
        embedded=embedded,
        encoder=model.name if model else None,
        removed=tuple(removed),
        seconds=clock.seconds,
    )


def _batches(items: Sequence[T], size: int | None) -> Iterator[tuple[str, Sequence[T]]]:
    """Parts of a sequence, each with a label: "257–512 of 1,000"."""
    size = size or max(len(items), 1)
    for first in range(0, len(items), size):
        part = items[first : first + size]
        yield f"{first + 1:,}–{first + len(part):,} of {len(items):,}", part


def _project(catalog: records.Catalog, enriched: enrichment.Enrichment) -> list[documents.FieldDocuments]:
    written = enriched.written
    return [
        documents.project(r, written[r.tool_id].expansion if r.tool_id in written else None) for r in catalog.records
    ]


def _rejected_expansions(
    chain: list[enrichment.Generator], catalog: records.Catalog
) -> tuple[sources.RecordRejected, ...]:
    ids = frozenset(record.tool_id for record in catalog.records)
    files = (generator for generator in chain if isinstance(generator, FileGenerator))
    return tuple(rejected for generator in files for rejected in (*generator.rejected, *generator.unknown(ids)))


def _content_hash(
    settings: CatalogSettings,
    catalog: records.Catalog,
    enriched: enrichment.Enrichment,
    model: vectors.EncoderModel | None,
) -> str:
    """The hash of all that decides a snapshot's answers: equal hashes, equal rankings."""
    return fingerprint(
        {
            "versions": publish.VERSIONS,
            "tools": [[r.tool_id, catalog.hashes[r.tool_id]] for r in catalog.records],
            "expansions": {tool_id: w.key for tool_id, w in enriched.written.items()},
            "encoder": [model.key, model.query_prefix, settings.vectors.precision] if model else None,
            "recipe": settings.retrieval.resolve().to_json(),
        }
    )


def _unchanged(store: publish.SnapshotStore, content_hash: str, held: tuple[str, ...]) -> publish.Stored | None:
    """The snapshot of the same content that serves, or, where the gate holds this one back too, that it held before."""
    for stored in store.snapshots():
        if (
            stored.manifest
            and stored.manifest.content_hash == content_hash
            and (stored.current or (held and stored.held))
        ):
            try:
                Snapshot.open(stored.folder)
            except SnapshotInvalid:
                continue
            return stored
    return None


def _held(
    settings: CatalogSettings, catalog: records.Catalog, reading: sources.Reading, enriched: enrichment.Enrichment
) -> tuple[str, ...]:
    """Why the snapshot must not serve yet: shares of rejected records, and of tools that the model failed on."""
    reasons = []
    rejected = len(reading.rejected) / (len(reading.rejected) + len(reading.tools))
    if rejected > settings.publish.max_rejected_share:
        reasons.append(
            f"{rejected:.1%} of the records were rejected, publish.max_rejected_share "
            f"({_BY_ENVIRONMENT}MAX_REJECTED_SHARE) is {settings.publish.max_rejected_share:.1%}"
        )
    # A tool that another model or file had an answer for is no failure; the lexicon's words are a stopgap.
    answered = {tool_id for tool_id, w in enriched.written.items() if w.generator != LexiconGenerator.name}
    failed = len({failure.tool_id for failure in enriched.failures} - answered) / len(catalog.records)
    if failed > settings.publish.max_failed_share:
        reasons.append(
            f"enrichment failed for {failed:.1%} of the tools, publish.max_failed_share "
            f"({_BY_ENVIRONMENT}MAX_FAILED_SHARE) is {settings.publish.max_failed_share:.1%}"
        )
    return tuple(reasons)
