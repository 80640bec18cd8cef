"""The stages of a build in order, each from the state that the one before it left."""

import logging
from dataclasses import dataclass, replace
from pathlib import Path

from pipeline import learning, records, sources, vectors
from pipeline.build.degradation import degradations
from pipeline.build.disk_space import remove_unused_caches, save_space, stored_bytes
from pipeline.build.enriching import Enriching
from pipeline.build.learning import reusable_calibration, training_set_of, tune
from pipeline.build.report import BuildReport, make_report, run_counts
from pipeline.build.screening import prepare_screen
from pipeline.build.source_memory import SourceMemory
from pipeline.build.stages import make_screen, project_documents
from pipeline.build.state import (
    BuildEncoder,
    CatalogRead,
    ExpandedCatalog,
    SnapshotIdentity,
    SnapshotOutcome,
    hashes_of,
)
from pipeline.enrichment import Enrichment, EnrichmentContext
from pipeline.enrichment.chain import generators
from pipeline.enrichment.estimate import Estimate, estimate
from pipeline.enrichment.file import FileGenerator
from pipeline.errors import RecordRejected, SnapshotInvalid
from pipeline.execution import Execution
from pipeline.inspection.difference import ToolDifference
from pipeline.inspection.served_tools import ServedTools
from pipeline.ledger import Ledger
from pipeline.phrase_checks.record.cached_screen import CachedScreen
from pipeline.progress import StageClock
from pipeline.publish import (
    NOT_MEASURED,
    RegressionCheck,
    SnapshotContents,
    WritingContext,
    check_regression,
    serving_folder,
    write_snapshot,
)
from pipeline.publish.downgrade_gate import downgrade_reasons
from pipeline.publish.missing_tools import count_missing_tools
from pipeline.publish.quality_gate import hold_reasons
from pipeline.publish.removal_gate import removal_reasons, served_sources
from pipeline.publish.snapshot_learning import CalibrationSource
from pipeline.settings import CatalogSettings
from pipeline.sources.gaps import no_tool
from router import Router
from router.evaluation import judgements_of
from router.store import WritableStore, decisions, disk_size

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Build:
    """One build: its settings, where it reads and writes, `run` of the ledger, and who carries out and times stages.

    Each method is a stage, or a few that belong together. The methods read the ledger and the store, hand plain data to
    the stage functions, and write what comes back.
    """

    settings: CatalogSettings
    workspace: Path
    store: WritableStore
    ledger: Ledger
    run: int
    execution: Execution
    clock: StageClock
    area: str = "snapshots"

    def run_all(self, force: bool) -> BuildReport:
        """Run all stages; `force` writes a snapshot though nothing changed. Raises as `build` does."""
        read = self.read()
        # Before anything is paid for: an encoder that cannot be had would waste it.
        encoder = self.resolve_encoder()
        estimated = self.estimate_cost(read)
        expanded = self.expand(read, encoder)
        self._put_counts(read, encoder, estimated, expanded)
        identity = self.identify(read, encoder, expanded)
        self._put_counts(read, encoder, estimated, expanded, identity)
        outcome = None if force else self.find_unchanged(identity)
        written = outcome or self.write(read, encoder, estimated, expanded, identity)
        memory = self._memory
        memory.store(self.run, read.reading, written.folder.name, held=written.outcome == "held")
        outcome = outcome or self.publish(written)
        if outcome.outcome != "held":
            memory.accept(read.reading, outcome.folder.name)
        outcome = self.tidy_up(outcome)
        self.clock.stop()
        return make_report(read, encoder, estimated, expanded, identity, outcome, self.clock)

    def read(self) -> CatalogRead:
        """Read and normalise the sources. Raises RunAborted where they hold no tool."""
        settings, clock = self.settings, self.clock
        clock.start("read", None)
        reading = sources.read(settings, self.execution, self._memory)
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
        remembering = CachedScreen(screen, catalog.hashes, screened_file)
        prepare_screen(remembering, screen, catalog, read.chain, self.ledger, self.execution)
        enrichment = Enriching(
            EnrichmentContext(catalog, self.ledger, self.run, self.clock, remembering, settings.name),
            read.chain,
            settings.enrichment,
            settings.assessment,
            self.execution,
            encoder.embedding if encoder else None,
            self.workspace / "compared" / f"{settings.name}.npz",
            settings.publish.max_failed_share,
        ).run()
        remembering.save()
        enrichment.suspicious = screen.suspicious
        return enrichment

    def identify(self, read: CatalogRead, encoder: BuildEncoder | None, expanded: ExpandedCatalog) -> SnapshotIdentity:
        """Return what the new snapshot would be, and whether it may serve."""
        reading = read.reading
        records, enrichment = read.catalog.records, expanded.enrichment
        held = hold_reasons(
            self.settings.publish,
            read.catalog,
            len(reading.tools),
            len(reading.rejected),
            enrichment,
            read.missing,
        )
        served = ServedTools.read(self._serving)
        by_source = served_sources(served.origins, self._memory.known_sources(), self.settings.source, reading.gaps)
        held += removal_reasons(self.settings.publish, by_source, read.catalog.hashes)
        held += downgrade_reasons(self.settings, [record.tool_id for record in records], enrichment, served.generators)
        hashes = hashes_of(self.settings, read, encoder, expanded)
        decided = decisions.reasons_against(self.store, self.settings.name, *hashes)
        difference = ToolDifference.since(served, read.catalog.hashes)
        degraded = (*self.ledger.problems, *degradations(read, expanded))
        return SnapshotIdentity(*hashes, (*held, *decided), decided, degraded, difference)

    def find_unchanged(self, identity: SnapshotIdentity) -> SnapshotOutcome | None:
        """Return the stored snapshot of the same content that serves, or that is held again.

        One that a gate held is checked anew: what serves, or the judgements, may have changed since. Where an operator
        decided against the content, any snapshot of it will do.
        """
        for stored in sorted(self.store.snapshots(), key=lambda stored: not stored.current):
            same = stored.manifest is not None and stored.manifest.content_hash == identity.content_hash
            if not same or not (stored.current or stored.held or identity.decided):
                continue
            folder = self.store.local_folder(stored.name)
            try:
                router = Router.open(folder)
            except SnapshotInvalid:
                continue
            held = identity.held if stored.current else identity.held or self._check_regression(router).held
            if stored.current or held:
                return SnapshotOutcome(folder, "unchanged" if stored.current else "held", held)
        return None

    def write(
        self,
        read: CatalogRead,
        encoder: BuildEncoder | None,
        estimated: Estimate,
        expanded: ExpandedCatalog,
        identity: SnapshotIdentity,
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
            inputs_hash=identity.inputs_hash,
            held=identity.held,
            degraded=identity.degraded,
            stale_sources=tuple(source.to_json() for source in read.reading.stale),
            past=read.past.embedded(embedding) if read.past else None,
            fit_weights=settings.tuning.fit_weights,
            calibration=self._calibration_source(expanded),
            coverage=read.reading.coverage,
        )
        self._put_counts(read, encoder, estimated, expanded, identity)
        context = WritingContext(self.store, self.ledger, self.run, self.execution, self.clock)
        folder, checked = write_snapshot(contents, context, self._check_regression)
        held = (*identity.held, *checked.held)
        outcome = "held" if held else "published"
        return SnapshotOutcome(folder, outcome, held, written_bytes=disk_size(folder).own)

    def publish(self, written: SnapshotOutcome) -> SnapshotOutcome:
        """Let a snapshot serve unless it is held, or an operator has decided against it since it was begun."""
        self.clock.start("publish", None)
        if written.held:
            return written
        name = written.folder.name
        if decided := self.execution.run("publish", decisions.publish_build, self.store, name):
            return replace(written, outcome="held", held=decided)
        _logger.info("%s serves", name, extra={"event": "published", "snapshot": name})
        return written

    def retain(self) -> tuple[str, ...]:
        """Remove old snapshots beyond the retention and return their names."""
        try:
            return tuple(self.store.retain(self.settings.publish.keep))
        except OSError as error:
            # The new snapshot serves: what could not be tidied up is no failure of the build.
            self.clock.note(f"old snapshots could not be removed: {error}")
            return ()

    def tidy_up(self, outcome: SnapshotOutcome) -> SnapshotOutcome:
        """Remove old snapshots, make the others smaller, and remove caches that nothing uses."""
        size = stored_bytes(self.store)
        removed = self.retain()
        save_space(self.store, self.clock.note)
        remove_unused_caches(self.workspace, self.clock)
        return replace(outcome, removed=removed, freed_bytes=size - stored_bytes(self.store))

    def _put_counts(
        self,
        read: CatalogRead,
        encoder: BuildEncoder | None,
        estimated: Estimate,
        expanded: ExpandedCatalog,
        identity: SnapshotIdentity | None = None,
    ) -> None:
        """Store the build's figures so far: the snapshot that it writes tells them, and they last if it fails."""
        difference = identity.difference if identity else None
        self.ledger.put_counts(self.run, run_counts(read, encoder, estimated, expanded, difference))

    @property
    def _memory(self) -> SourceMemory:
        return SourceMemory(self.ledger, self.settings.name, self.area, self._serving, self.clock.note)

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
