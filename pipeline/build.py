"""The whole build as one plain function: sources → records → enrichment → documents → vectors → snapshot."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from pipeline import documents, enrichment, publish, records, sources, vectors
from pipeline.enrichment.chain import generators
from pipeline.enrichment.file import FileGenerator
from pipeline.enrichment.generator import Usage
from pipeline.enrichment.lexicon import LexiconGenerator
from pipeline.errors import RunAborted, SnapshotInvalid
from pipeline.ledger import Ledger
from pipeline.progress import Progress, Silent
from pipeline.records import Notice
from pipeline.settings import DEFAULT_WORKSPACE, CatalogSettings
from router.fingerprint import fingerprint
from router.snapshot import Snapshot


@dataclass(frozen=True)
class BuildReport:
    """What a build did. `outcome` is "published", "unchanged" (the current snapshot says the same already) or "held"
    (written, not serving). `held` says what the gate found, also of a build that changed nothing. `seconds` are by
    stage."""

    snapshot: Path
    outcome: str
    held: tuple[str, ...]
    counts: Mapping[str, int]
    rejected: tuple[sources.RecordRejected, ...]
    notices: tuple[Notice, ...]
    generators: Mapping[str, int]
    asked: Mapping[str, int]
    reused: int
    failures: tuple[enrichment.Failure, ...]
    usage: Usage
    embedded: int
    removed: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready dict, for programs."""
        return {
            "snapshot": str(self.snapshot),
            "outcome": self.outcome,
            "held": list(self.held),
            "counts": dict(self.counts),
            "rejected": [
                {"file": r.origin.file, "pointer": r.origin.pointer, "reason": r.reason} for r in self.rejected
            ],
            "generators": dict(self.generators),
            "asked": dict(self.asked),
            "reused": self.reused,
            "failures": [{"tool_id": f.tool_id, "kind": f.kind, "message": f.message} for f in self.failures],
            "prompt_tokens": self.usage.prompt_tokens,
            "completion_tokens": self.usage.completion_tokens,
            "cost_usd": self.usage.cost_usd,
            "embedded": self.embedded,
            "removed": list(self.removed),
            "seconds": {stage: round(spent, 3) for stage, spent in self.seconds.items()},
        }


def build(
    settings: CatalogSettings,
    *,
    workspace: Path = DEFAULT_WORKSPACE,
    force: bool = False,
    area: str = "snapshots",
    progress: Progress | None = None,
) -> BuildReport:
    """Build a catalog's snapshot and publish it, unless nothing changed or the gate holds it back.

    `force` writes a snapshot though nothing changed; another `area` of the workspace keeps an experiment apart from
    what serves. Raises SettingsInvalid, RunAborted or SnapshotInvalid; whatever happens, the snapshot that was serving
    goes on serving.
    """
    workspace = Path(workspace)
    with Ledger.open(workspace) as ledger:
        run = ledger.start_run(settings.name)
        try:
            store = publish.SnapshotStore(workspace, settings.name, area)
            report = _build(settings, workspace, store, ledger, run, force, _Clock(progress or Silent()))
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
    clock: "_Clock",
) -> BuildReport:
    clock.start("read", None)
    reading = sources.read(settings)
    clock.start("normalize", None)
    catalog = records.catalog_records(reading.tools)
    chain = generators(settings)
    rejected = (*reading.rejected, *_rejected_expansions(chain, catalog))
    ledger.put_catalog(run, settings.name, catalog, rejected)
    if not catalog.records:
        why = f": {len(rejected)} were rejected, the first {rejected[0]}" if rejected else ""
        raise RunAborted(f"the catalog {settings.name!r} holds no tool{why}")
    model = vectors.resolve(settings.vectors, clock)  # before anything is paid for
    enriched = enrichment.enrich(catalog, chain, ledger, run, clock)

    clock.start("project", None)
    projected = [
        documents.project(r, w.expansion if (w := enriched.written.get(r.tool_id)) else None) for r in catalog.records
    ]
    content_hash = _content_hash(settings, catalog, enriched, model)
    held = _held(settings, catalog, reading, enriched)
    same = None if force else _unchanged(store, content_hash, held)

    embedded = None
    if model is not None and same is None:
        embedded = vectors.embed(
            projected,
            model,
            settings.vectors.precision,
            settings.vectors.batch_size,
            ledger,
            workspace / "encoders",
            clock,
        )
    removed: list[str] = []
    if same is None:
        contents = publish.Contents(catalog, rejected, enriched, projected, embedded, content_hash, held)
        folder = publish.write(settings, contents, store, clock)
        clock.start("publish", None)
        if not held:
            store.publish(folder.name)
        removed = store.retain(settings.publish.keep)
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
        embedded=embedded.embedded if embedded else 0,
        removed=tuple(removed),
        seconds=clock.seconds,
    )


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
            f"{rejected:.1%} of the records were rejected, "
            f"publish.max_rejected_share is {settings.publish.max_rejected_share:.1%}"
        )
    # A tool that another model or file had an answer for is no failure; the lexicon's words are a stopgap.
    answered = {tool_id for tool_id, w in enriched.written.items() if w.generator != LexiconGenerator.name}
    failed = len({failure.tool_id for failure in enriched.failures} - answered) / len(catalog.records)
    if failed > settings.publish.max_failed_share:
        reasons.append(
            f"enrichment failed for {failed:.1%} of the tools, "
            f"publish.max_failed_share is {settings.publish.max_failed_share:.1%}"
        )
    return tuple(reasons)


class _Clock:
    """Passes progress on, and adds up the seconds of each stage."""

    def __init__(self, inner: Progress) -> None:
        self.seconds: dict[str, float] = {}
        self._inner = inner
        self._stage: str | None = None
        self._since = 0.0

    def start(self, stage: str, total: int | None = None) -> None:
        self.stop()
        self._stage, self._since = stage, time.perf_counter()
        self._inner.start(stage, total)

    def advance(self, count: int = 1) -> None:
        self._inner.advance(count)

    def note(self, message: str) -> None:
        self._inner.note(message)

    def stop(self) -> None:
        if self._stage is not None:
            self.seconds[self._stage] = self.seconds.get(self._stage, 0.0) + time.perf_counter() - self._since
        self._stage = None
