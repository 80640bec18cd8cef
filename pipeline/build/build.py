"""The whole build as one plain function: sources → records → enrichment → documents → vectors → snapshot."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import duckdb

from pipeline import enrichment, publish, records, sources, learning, vectors
from pipeline.vectors.exports import EncoderExports
from pipeline.enrichment.chain import generators
from pipeline.enrichment.estimate import estimate
from pipeline.enrichment.file import FileGenerator
from pipeline.phrase_checks.record import Screen
from pipeline.phrase_checks.record.cached_screen import CachedScreen
from pipeline.errors import RunAborted, SnapshotInvalid
from pipeline.execution import Direct, Execution
from pipeline.build.expansion import expand
from pipeline.inspection.difference import ToolDifference
from pipeline.ledger import Ledger
from pipeline.build.learning import TrainingSet, calibration_of, training_set_of, tune
from pipeline.progress import Clock, Progress, Silent
from pipeline.publish import gate
from pipeline.publish.missing import missing
from pipeline.build.report import BuildReport
from pipeline.settings import DEFAULT_WORKSPACE, CatalogSettings
from pipeline.sources.gaps import no_tool
from router import Manifest, Router
from router.tools import field_text
from router.evaluation import judgements_of
from router.fingerprint import file_sha256, fingerprint


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
                "unconfirmed_usd": report.usage.unconfirmed_usd,
                "prompt_tokens": report.usage.prompt_tokens,
                "completion_tokens": report.usage.completion_tokens,
                "estimate": report.estimate.to_json(),
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
    if note := sources.long_label_note(tool.provider for tool in reading.tools):
        clock.note(note)
    clock.start("normalize", None)
    catalog = do("normalize", partial(records.catalog_records, reading.tools))
    chain = generators(settings, ledger, clock.note)
    past = learning.past_requests(settings, {record.tool_id for record in catalog.records})
    rejected = (*reading.rejected, *_rejected_expansions(chain, catalog), *(past.usage.rejected if past else ()))
    skipped = tuple(gap.rejection() for gap in reading.gaps if gap.skipped)
    ledger.put_catalog(run, settings.name, catalog, (*skipped, *rejected))
    if not catalog.records:
        raise no_tool(settings.name, reading.gaps, reading.sources, rejected, reading.coverage)
    gaps = missing(reading.gaps, reading.sources, catalog.hashes, publish.current(store))
    # Before anything is paid for: an encoder that cannot be had would waste it.
    if settings.vectors.encoder != "none":
        clock.start("resolve", None)
    model = do("resolve", partial(vectors.resolve, settings.vectors, clock))
    copies = EncoderExports(settings, model, do, vectors.user_cache(model, workspace, clock)) if model else None
    if copies:
        copies.make()  # in this stage, which says what is waited for
    embedding = vectors.Embedding(model, copies.batches(), ledger, do, clock) if model and copies else None
    clock.start("estimate", None)
    estimated = estimate(catalog, chain, settings.enrichment, ledger, assessed=settings.assesses)

    screen = Screen(catalog.records, settings.enrichment.languages)
    remembering = CachedScreen(screen, catalog.hashes, workspace / "screened" / f"{settings.name}.json")
    context = enrichment.EnrichmentContext(catalog, ledger, run, clock, remembering)
    compared = workspace / "compared" / f"{settings.name}.npz"
    expanded = expand(context, chain, settings, do, embedding, compared)
    remembering.save()
    expanded.suspicious = screen.suspicious
    clock.start("project", None)
    projected = do("project", partial(_project, catalog, expanded, settings.enrichment.languages))
    lesson = training_set_of(settings, catalog, expanded, projected, copies, publish.current(store))
    calibration = calibration_of(settings, lesson, past, copies, publish.current(store))
    difference = ToolDifference.since_serving(store, catalog.hashes)
    content_hash = _content_hash(settings, catalog, expanded, model, past, lesson)
    if calibration is not None:
        content_hash = calibration.named_in(content_hash)
    held = gate.held(settings.publish, catalog, len(reading.tools), len(reading.rejected), expanded, gaps)
    judged = partial(_judged, settings, publish.current(store), clock)
    same = None if force else _unchanged(store, content_hash, held, judged)

    removed: list[str] = []
    if same is None:
        collected = vectors.collect(projected, embedding, copies.of_requests()) if embedding and copies else None
        tuned = tune(lesson, catalog, projected, collected, embedding, do, clock)
        past = past.embedded(embedding) if past else None
        contents = publish.Contents(
            catalog,
            (*skipped, *rejected),
            expanded,
            projected,
            collected,
            tuned,
            content_hash,
            held,
            past,
            calibration,
            reading.coverage,
        )
        folder, found = do("write", partial(publish.write, settings, contents, store, ledger, run, clock, judged))
        held = (*held, *found.held)
        removed = _publish(settings, store, folder, held, do, clock)
    else:
        stored, held = same
        folder = stored.folder
    clock.stop()
    manifest = Manifest.read(folder)
    return BuildReport(
        snapshot=folder,
        outcome="unchanged" if same and same[0].current else "held" if held else "published",
        held=held,
        counts={
            "tools": len(catalog.records),
            "read": len(reading.tools) + len(reading.rejected),
            "rejected": len(reading.rejected),
            **{kind: catalog.count(kind) for kind in ("merged", "renamed", "thin", "open")},
        },
        rejected=rejected,
        missing=gaps,
        notices=catalog.notices,
        generators=expanded.generators,
        asked=dict(expanded.asked),
        reused=expanded.reused,
        failures=tuple(expanded.failures),
        usage=expanded.usage,
        estimate=estimated,
        verdicts=expanded.verdicts,
        embedded=embedding.embedded if embedding else 0,
        coverage=reading.coverage,
        encoder=model.name if model else None,
        removed=tuple(removed),
        difference=difference,
        evaluation=manifest.evaluation,
        tuning=manifest.tuning,
        seconds=clock.seconds,
        cpu_seconds=clock.cpu_seconds,
        peak_mb=clock.peak_mb,
    )


def _judged(settings: CatalogSettings, serving: Path | None, clock: Clock, new: Router) -> publish.Judged:
    if settings.publish.judged and settings.taught_by_judgements:
        clock.note(
            "the new snapshot was not measured: it learned from its judged requests, see tuning.judged and tuning.usage"
        )
        return publish.UNJUDGED
    return publish.judge(new, serving, judgements_of(settings.folder), settings.publish, clock)


def _publish(
    settings: CatalogSettings,
    store: publish.SnapshotStore,
    folder: Path,
    held: tuple[str, ...],
    do: Execution,
    clock: Clock,
) -> list[str]:
    """Let a snapshot serve that nothing holds back; the names of the old ones that were removed."""
    clock.start("publish", None)
    if not held:
        do("publish", partial(store.publish, folder.name))
    try:
        return store.retain(settings.publish.keep)
    except OSError as error:
        # The new snapshot serves: what could not be tidied up is no failure of the build.
        clock.note(f"old snapshots could not be removed: {error}")
        return []


def _project(
    catalog: records.Catalog, expanded: enrichment.Enrichment, languages: Sequence[str]
) -> list[field_text.FieldDocuments]:
    written = expanded.written
    return [
        field_text.project(r, written[r.tool_id].expansion if r.tool_id in written else None, languages)
        for r in catalog.records
    ]


def _rejected_expansions(
    chain: Sequence[enrichment.Generator], catalog: records.Catalog
) -> tuple[sources.RecordRejected, ...]:
    ids = frozenset(record.tool_id for record in catalog.records)
    files = (generator for generator in chain if isinstance(generator, FileGenerator))
    return tuple(rejected for generator in files for rejected in (*generator.rejected, *generator.unknown(ids)))


def _content_hash(
    settings: CatalogSettings,
    catalog: records.Catalog,
    expanded: enrichment.Enrichment,
    model: vectors.EncoderModel | None,
    past: learning.PastRequests | None,
    lesson: TrainingSet | None,
) -> str:
    """The hash of all that decides a snapshot's answers: equal hashes, equal rankings."""
    return fingerprint(
        {
            "versions": publish.VERSIONS,
            "tools": [[r.tool_id, catalog.hashes[r.tool_id]] for r in catalog.records],
            "expansions": {tool_id: [w.key, w.expansion.to_json()] for tool_id, w in expanded.written.items()},
            "languages": settings.enrichment.languages,
            "verdicts": [asdict(verdict) for verdict in expanded.verdicts],
            "siblings": dict(expanded.siblings),
            "encoder": [model.key, model.query_prefix, settings.vectors.precision] if model else None,
            "tuning": settings.tuning.model_dump(mode="json"),
            "adapter": lesson.content() if lesson else None,
            "judged": _judged_hash(settings),
            "past": past.content() if past else None,
            "recipe": settings.retrieval.resolve().to_json(),
        }
    )


def _judged_hash(settings: CatalogSettings) -> str | None:
    """The hash of the judged requests, where they calibrate."""
    judged = judgements_of(settings.folder) if settings.tuning.judged else None
    return file_sha256(judged) if judged else None


def _unchanged(
    store: publish.SnapshotStore, content_hash: str, held: tuple[str, ...], judged: Callable[[Router], publish.Judged]
) -> tuple[publish.Stored, tuple[str, ...]] | None:
    """The snapshot of the same content that serves; or one that the gate held before and holds again, with the reasons:
    what serves, or the judgements, may have changed since."""
    for stored in sorted(store.snapshots(), key=lambda stored: not stored.current):
        same = stored.manifest is not None and stored.manifest.content_hash == content_hash
        if not same or not (stored.current or stored.held):
            continue
        try:
            router = Router.open(stored.folder)
        except SnapshotInvalid:
            continue
        reasons = held if stored.current else held or judged(router).held
        if stored.current or reasons:
            return stored, reasons
    return None
