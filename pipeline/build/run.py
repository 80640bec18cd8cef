"""`build`: the stages of a build in order, each from the state that the one before it left."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import duckdb

from pipeline import learning, records, sources, vectors
from pipeline.build.enriching import Enriching
from pipeline.build.learning import reusable_calibration, training_set_of, tune
from pipeline.build.report import BuildReport
from pipeline.build.screening import prepare_screen
from pipeline.build.stages import make_screen, project_documents
from pipeline.build.state import BuildEncoder, CatalogRead, ExpandedCatalog, SnapshotIdentity, SnapshotOutcome
from pipeline.enrichment import Enrichment, EnrichmentContext
from pipeline.enrichment.chain import generators
from pipeline.enrichment.estimate import Estimate, estimate
from pipeline.enrichment.file import FileGenerator
from pipeline.errors import RecordRejected, RunAborted, SnapshotInvalid
from pipeline.execution import DirectExecution, Execution
from pipeline.inspection.difference import ToolDifference
from pipeline.ledger import Ledger
from pipeline.phrase_checks.record.remembering import RememberingScreen
from pipeline.progress import Progress, SilentProgress, StageClock
from pipeline.publish import (
    NOT_MEASURED,
    VERSIONS,
    RegressionCheck,
    SnapshotContents,
    SnapshotStore,
    WritingContext,
    check_regression,
    serving_folder,
    write_snapshot,
)
from pipeline.publish.missing_tools import count_missing_tools
from pipeline.publish.quality_gate import hold_reasons
from pipeline.publish.snapshot_learning import CalibrationSource
from pipeline.settings import DEFAULT_WORKSPACE, CatalogSettings
from pipeline.sources.gaps import no_tool
from pipeline.vectors.encoding import close_encoders
from router import Manifest, Router
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
    """Build a catalog's snapshot and publish it, unless nothing changed or a gate holds it back.

    `force` writes a snapshot though nothing changed; another `area` of the workspace keeps an experiment apart from
    what serves. `execution` carries out the stages: called directly, or each as a task of a flow. `wait_s` is how long
    to wait for another build of the workspace to end. Raises SettingsInvalid, RunAborted or SnapshotInvalid; whatever
    happens, the snapshot that was serving goes on serving.
    """
    workspace = Path(workspace)
    with Ledger.open(workspace, wait_s) as ledger:
        run = ledger.start_run(settings.name, area)
        try:
            store = SnapshotStore(workspace, settings.name, area)
            clock = StageClock(progress or SilentProgress())
            report = Build(settings, workspace, store, ledger, run, execution or DirectExecution(), clock).run_all(
                force
            )
        except (OSError, duckdb.Error) as error:
            ledger.finish_run(run, "failed", snapshot=None, message=str(error), counts={})
            raise RunAborted(f"the workspace {workspace} could not be written: {error}") from error
        except BaseException as error:
            ledger.finish_run(run, "failed", snapshot=None, message=str(error) or type(error).__name__, counts={})
            raise
        finally:
            close_encoders()
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


@dataclass(frozen=True)
class Build:
    """One build: its settings, where it reads and writes, `run` of the ledger, and who carries out and times stages.

    Each method is a stage, or a few that belong together. The methods read the ledger and the store, hand plain data to
    the stage functions, and write what comes back.
    """

    settings: CatalogSettings
    workspace: Path
    store: SnapshotStore
    ledger: Ledger
    run: int
    execution: Execution
    clock: StageClock

    def run_all(self, force: bool) -> BuildReport:
        """Run all stages; `force` writes a snapshot though nothing changed. Raises as `build` does."""
        read = self.read()
        # Before anything is paid for: an encoder that cannot be had would waste it.
        encoder = self.resolve_encoder()
        estimated = self.estimate_cost(read)
        expanded = self.expand(read, encoder)
        identity = self.identify(read, encoder, expanded)
        outcome = None if force else self.find_unchanged(identity)
        if outcome is None:
            outcome = self.publish(self.write(read, encoder, expanded, identity))
        self.clock.stop()
        return self.report(read, encoder, estimated, expanded, identity, outcome)

    def read(self) -> CatalogRead:
        """Read and normalise the sources. Raises RunAborted where they hold no tool."""
        settings, clock = self.settings, self.clock
        clock.start("read", None)
        reading = sources.read(settings, self.execution)
        if note := sources.long_label_note(tool.provider for tool in reading.tools):
            clock.note(note)
        clock.start("normalize", None)
        catalog = self.execution.run("normalize", records.catalog_records, reading.tools)
        chain = generators(settings, self.ledger, clock.note)
        tool_ids = frozenset(record.tool_id for record in catalog.records)
        past = learning.past_requests(settings, tool_ids)
        files = [generator for generator in chain if isinstance(generator, FileGenerator)]
        rejected: tuple[RecordRejected, ...] = (
            *reading.rejected,
            *(row for file in files for row in (*file.rejected, *file.unknown(tool_ids))),
            *(past.usage.rejected if past else ()),
        )
        skipped = tuple(gap.rejection() for gap in reading.gaps if gap.skipped)
        self.ledger.put_catalog(self.run, settings.name, catalog, (*skipped, *rejected))
        if not catalog.records:
            raise no_tool(settings.name, reading.gaps, reading.sources, rejected, reading.coverage)
        missing = count_missing_tools(reading.gaps, reading.sources, catalog.hashes, self._serving)
        return CatalogRead(reading, catalog, chain, past, rejected, skipped, missing)

    def resolve_encoder(self) -> BuildEncoder | None:
        """Return the encoder, exported; None where no vectors are wanted. Raises RunAborted where it cannot be had."""
        settings, clock = self.settings.vectors, self.clock
        if settings.encoder != "none":
            clock.start("resolve", None)
        model = self.execution.run("resolve", vectors.resolve_encoder, settings, clock)
        if model is None:
            return None
        cache = vectors.user_cache(model, self.workspace, clock)
        exports = vectors.EncoderExports(settings, model, self.execution, cache)
        exports.make()
        embedding = vectors.Embedding(
            model, exports.of_tools(), settings.batch_size, self.ledger, self.execution, clock
        )
        return BuildEncoder(exports, embedding)

    def estimate_cost(self, read: CatalogRead) -> Estimate:
        """Return what the model's part of the build would take."""
        self.clock.start("estimate", None)
        settings = self.settings
        return estimate(read.catalog, read.chain, settings.enrichment, self.ledger, assessed=settings.assesses)

    def expand(self, read: CatalogRead, encoder: BuildEncoder | None) -> ExpandedCatalog:
        """Have expansions written and checked, project documents, and see what can be reused of what was learned."""
        settings, catalog = self.settings, read.catalog
        enrichment = self._enrich(read, encoder)
        self.clock.start("project", None)
        documents = self.execution.run(
            "project",
            project_documents,
            catalog.records,
            {tool_id: written.expansion for tool_id, written in enrichment.written.items()},
            settings.enrichment.languages,
        )
        exports = encoder.exports if encoder else None
        training_set = training_set_of(settings.tuning, catalog, enrichment, documents, exports, self._serving)
        calibration = reusable_calibration(
            settings.tuning,
            training_set,
            read.past,
            exports,
            self._serving,
            settings.enrichment.languages,
            settings.retrieval.resolve(),
        )
        return ExpandedCatalog(enrichment, documents, training_set, calibration)

    def _enrich(self, read: CatalogRead, encoder: BuildEncoder | None) -> Enrichment:
        """Ask for expansions, screen them and assess them."""
        settings, catalog = self.settings, read.catalog
        screen = self.execution.run("screen", make_screen, catalog.records, settings.enrichment.languages)
        screened_file = self.workspace / "screened" / f"{settings.name}.json"
        remembering = RememberingScreen(screen, catalog.hashes, screened_file)
        prepare_screen(remembering, screen, catalog, read.chain, self.ledger, self.execution)
        enrichment = Enriching(
            EnrichmentContext(catalog, self.ledger, self.run, self.clock, remembering),
            read.chain,
            settings.enrichment,
            settings.assessment,
            self.execution,
            encoder.embedding if encoder else None,
            self.workspace / "compared" / f"{settings.name}.npz",
        ).run()
        remembering.save()
        enrichment.suspicious = screen.suspicious
        return enrichment

    def identify(self, read: CatalogRead, encoder: BuildEncoder | None, expanded: ExpandedCatalog) -> SnapshotIdentity:
        """Return the new snapshot's content hash, difference and reasons against serving it."""
        reading = read.reading
        held = hold_reasons(
            self.settings.publish,
            read.catalog,
            len(reading.tools),
            len(reading.rejected),
            expanded.enrichment,
            read.missing,
        )
        content_hash = _content_hash(self.settings, read, encoder, expanded)
        if expanded.calibration is not None:
            content_hash = expanded.calibration.named_in(content_hash)
        return SnapshotIdentity(content_hash, held, ToolDifference.since_serving(self.store, read.catalog.hashes))

    def find_unchanged(self, identity: SnapshotIdentity) -> SnapshotOutcome | None:
        """Return the stored snapshot of the same content that serves, or that a gate held before and holds again.

        A held one is checked anew: what serves, or the judgements, may have changed since.
        """
        for stored in sorted(self.store.snapshots(), key=lambda stored: not stored.current):
            same = stored.manifest is not None and stored.manifest.content_hash == identity.content_hash
            if not same or not (stored.current or stored.held):
                continue
            try:
                router = Router.open(stored.folder)
            except SnapshotInvalid:
                continue
            held = identity.held if stored.current else identity.held or self._check_regression(router).held
            if stored.current or held:
                return SnapshotOutcome(stored.folder, "unchanged" if stored.current else "held", held)
        return None

    def write(
        self, read: CatalogRead, encoder: BuildEncoder | None, expanded: ExpandedCatalog, identity: SnapshotIdentity
    ) -> SnapshotOutcome:
        """Embed, learn and write the snapshot; it does not serve yet."""
        settings, catalog, documents = self.settings, read.catalog, expanded.documents
        embedding = encoder.embedding if encoder else None
        collected = (
            vectors.collect_vectors(documents, encoder.embedding, encoder.exports.of_requests()) if encoder else None
        )
        tuning = tune(expanded.training_set, catalog, documents, collected, embedding, self.execution, self.clock)
        contents = SnapshotContents(
            catalog_name=settings.name,
            languages=settings.enrichment.languages,
            recipe=settings.retrieval.resolve(),
            catalog=catalog,
            rejected=(*read.skipped, *read.rejected),
            enrichment=expanded.enrichment,
            documents=documents,
            vectors=collected,
            tuning=tuning,
            content_hash=identity.content_hash,
            held=identity.held,
            past=read.past.embedded(embedding) if read.past else None,
            fit_weights=settings.tuning.fit_weights,
            calibration=self._calibration_source(expanded),
            coverage=read.reading.coverage,
        )
        context = WritingContext(self.store, self.ledger, self.run, self.execution, self.clock)
        folder, checked = write_snapshot(contents, context, self._check_regression)
        held = (*identity.held, *checked.held)
        return SnapshotOutcome(folder, "held" if held else "published", held)

    def publish(self, written: SnapshotOutcome) -> SnapshotOutcome:
        """Let a snapshot serve unless it is held; remove old ones beyond the retention."""
        self.clock.start("publish", None)
        if not written.held:
            self.execution.run("publish", self.store.publish, written.folder.name)
        removed: tuple[str, ...] = ()
        try:
            removed = tuple(self.store.retain(self.settings.publish.keep))
        except OSError as error:
            # The new snapshot serves: what could not be tidied up is no failure of the build.
            self.clock.note(f"old snapshots could not be removed: {error}")
        return SnapshotOutcome(written.folder, written.outcome, written.held, removed)

    def report(
        self,
        read: CatalogRead,
        encoder: BuildEncoder | None,
        estimated: Estimate,
        expanded: ExpandedCatalog,
        identity: SnapshotIdentity,
        outcome: SnapshotOutcome,
    ) -> BuildReport:
        """Return the report of the finished build."""
        manifest = Manifest.read(outcome.folder)
        catalog, reading, enrichment = read.catalog, read.reading, expanded.enrichment
        return BuildReport(
            snapshot=outcome.folder,
            outcome=outcome.outcome,
            held=outcome.held,
            counts={
                "tools": len(catalog.records),
                "read": len(reading.tools) + len(reading.rejected),
                "rejected": len(reading.rejected),
                **{kind: catalog.count(kind) for kind in ("merged", "renamed", "thin", "open")},
            },
            rejected=read.rejected,
            missing=read.missing,
            notices=catalog.notices,
            generators=enrichment.generators,
            asked=dict(enrichment.asked),
            reused=enrichment.reused,
            failures=tuple(enrichment.failures),
            usage=enrichment.usage,
            estimate=estimated,
            verdicts=enrichment.verdicts,
            embedded=encoder.embedding.embedded if encoder else 0,
            coverage=reading.coverage,
            encoder=encoder.embedding.model.name if encoder else None,
            removed=outcome.removed,
            difference=identity.difference,
            evaluation=manifest.evaluation,
            tuning=manifest.tuning,
            seconds=self.clock.seconds,
            cpu_seconds=self.clock.cpu_seconds,
            peak_mb=self.clock.peak_mb,
        )

    @property
    def _serving(self) -> Path | None:
        """Return the folder of the snapshot that serves; None where none does."""
        return serving_folder(self.store)

    def _calibration_source(self, expanded: ExpandedCatalog) -> CalibrationSource | None:
        tuning = self.settings.tuning
        if not tuning.calibrate:
            return None
        judgements = judgements_of(self.settings.folder) if tuning.judged else None
        return CalibrationSource(expanded.calibration, judgements, tuning.max_refused_share)

    def _check_regression(self, new: Router) -> RegressionCheck:
        """Measure a snapshot on the catalog's judged requests, unless it has learned from them."""
        settings = self.settings
        if settings.publish.judged and settings.taught_by_judgements:
            self.clock.note(
                "the new snapshot was not measured: it learned from its judged requests, "
                "see tuning.judged and tuning.usage"
            )
            return NOT_MEASURED
        judgements = judgements_of(settings.folder)
        return check_regression(new, self._serving, judgements, settings.publish, self.clock)


def _content_hash(
    settings: CatalogSettings, read: CatalogRead, encoder: BuildEncoder | None, expanded: ExpandedCatalog
) -> str:
    """Return the hash of all that decides a snapshot's answers: equal hashes, equal rankings."""
    catalog, enrichment = read.catalog, expanded.enrichment
    model = encoder.embedding.model if encoder else None
    judgements = judgements_of(settings.folder) if settings.tuning.judged else None
    expansions: Mapping[str, list[object]] = {
        tool_id: [written.key, written.expansion.to_json()] for tool_id, written in enrichment.written.items()
    }
    return fingerprint(
        {
            "versions": VERSIONS,
            "tools": [[r.tool_id, catalog.hashes[r.tool_id]] for r in catalog.records],
            "expansions": expansions,
            "languages": settings.enrichment.languages,
            "verdicts": [asdict(verdict) for verdict in enrichment.verdicts],
            "siblings": dict(enrichment.siblings),
            "encoder": [model.key, model.query_prefix, settings.vectors.precision] if model else None,
            "tuning": settings.tuning.model_dump(mode="json"),
            "adapter": expanded.training_set.content() if expanded.training_set else None,
            "judged": file_sha256(judgements) if judgements else None,
            "past": read.past.content() if read.past else None,
            "recipe": settings.retrieval.resolve().to_json(),
        }
    )
