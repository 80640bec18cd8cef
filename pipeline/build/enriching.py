"""The expansions that a snapshot holds: written, screened, assessed against the whole catalog, contrasted."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pipeline import enrichment
from pipeline.build.assessing import Assessor, leave_out
from pipeline.enrichment.chain import LexiconGenerator, ledger_only
from pipeline.enrichment.generator import UNASKED
from pipeline.errors import RunAborted
from pipeline.execution import Execution, parts
from pipeline.settings import AssessmentSettings, EnrichmentSettings
from pipeline.vectors import Embedding
from router.record import ToolRecord


@dataclass(frozen=True)
class Enriching:
    """The enrichment of one build. Without an `embedding` nothing is assessed.

    `chain` are the generators to ask, in order. `compared_file` keeps what an assessment compared for the next build.
    `max_failed_share` is the share of the tools that may be left to the lexicon where the model is unavailable.
    """

    context: enrichment.EnrichmentContext
    chain: Sequence[enrichment.Generator]
    settings: EnrichmentSettings
    assessment: AssessmentSettings
    execution: Execution
    embedding: Embedding | None
    compared_file: Path
    max_failed_share: float

    def run(self) -> enrichment.Enrichment:
        """Have expansions written, and leave out what does not hold against the rest of the catalog.

        Where phrases fit a sibling as well, the tool is asked about once more beside its siblings, if settings say so.
        Where the model cannot be asked, its earlier answers serve. Raises RunAborted as the generators do, where too
        many tools have none.
        """
        records = self.context.catalog.records
        self.context.progress.start("enrich", len(records))
        written = enrichment.Enrichment()
        self._enrich(enrichment.interleaved_by_provider(records), written)
        if self.embedding is not None and self.assessment.enabled:
            self._check_against_catalog(written, self.embedding)
        for generator in self.chain:
            written.usage = written.usage + generator.unclaimed
        return written

    def _enrich(self, records: Sequence[ToolRecord], written: enrichment.Enrichment) -> None:
        """Ask part by part; once the model cannot be asked, go on with what the ledger has."""
        chain, aborted = self.chain, None
        for label, batch in parts(records, self._stage_size):
            try:
                ask = partial(enrichment.enrich, self.context, chain, batch=batch, into=written)
                self.execution.run("enrich", ask, label=label)
            except RunAborted as error:
                if aborted is not None:
                    raise
                aborted, chain = error, self._without_model(error)
                written.unavailable = str(error)
                go_on = partial(enrichment.enrich, self.context, chain, batch=batch, into=written)
                self.execution.run("enrich", go_on, label=label)
        if aborted is not None and self._left_over(records, written) > self.max_failed_share * len(records):
            raise aborted

    def _without_model(self, error: RunAborted) -> Sequence[enrichment.Generator]:
        return ledger_only(self.chain, UNASKED, f"not asked: {error}")

    @staticmethod
    def _left_over(records: Sequence[ToolRecord], written: enrichment.Enrichment) -> int:
        """Return how many tools have the lexicon's words at most."""
        by = (written.written.get(record.tool_id) for record in records)
        return sum(one is None or one.generator == LexiconGenerator.name for one in by)

    @property
    def _stage_size(self) -> int | None:
        # A batch handed in whole is one job at the server; one by one, a part is what a flow may repeat.
        return None if self.settings.mode == "batch" else self.execution.batch_size

    def _check_against_catalog(self, written: enrichment.Enrichment, embedding: Embedding) -> None:
        """Assess what was written; ask again where siblings collide; leave out what does not hold."""
        assessor = Assessor(self.context, embedding, self.assessment, self.execution, self.compared_file)
        assessment = assessor.assess(written)
        # Siblings found while some answers are still to come would be others tomorrow, and paid for again.
        complete = all(failure.asked for failure in written.failures)
        if self.settings.contrast:
            colliding = {
                tool_id: siblings
                for tool_id, siblings in assessment.siblings.items()
                if self._can_contrast(written, tool_id)
            }
            if colliding:
                self._contrast(written, colliding, ask=complete)
                assessment = assessor.assess(written)
        written.siblings = assessment.siblings
        leave_out(written, assessment)

    def _contrast(self, written: enrichment.Enrichment, colliding: dict[str, tuple[str, ...]], *, ask: bool) -> None:
        """Give tools, by id, the answers beside their siblings: asked for, or only those that the ledger has."""
        self.context.progress.start("contrast", len(colliding))
        chain = self.chain if ask else ledger_only(self.chain, UNASKED, "some first answers are still to come")
        for label, part in parts(list(colliding.items()), self._stage_size):
            try:
                work = partial(enrichment.contrast, self.context, chain, dict(part), into=written)
                self.execution.run("contrast", work, label=label)
            except RunAborted as error:
                # Every tool has its first answer: a build that needed nothing else goes on without the second.
                self.context.progress.note(f"similar tools were not asked about a second time: {error}")
                written.unavailable = str(error)
                chain = self._without_model(error)
                enrichment.contrast(self.context, chain, dict(part), into=written)

    def _can_contrast(self, written: enrichment.Enrichment, tool_id: str) -> bool:
        """Return whether the generator that wrote for a tool can be shown its siblings."""
        by = written.written.get(tool_id)
        if by is None or by.stale is not None:
            return False
        return any(generator.accepts_siblings for generator in self.chain if generator.name == by.generator)
