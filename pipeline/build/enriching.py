"""The expansions that a snapshot holds: written, screened, assessed against the whole catalog, contrasted."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from pipeline import enrichment
from pipeline.build.stages import assess_phrases
from pipeline.enrichment.generator import UNASKED
from pipeline.enrichment.lexicon import LexiconGenerator
from pipeline.enrichment.recorded import only_recorded
from pipeline.enrichment.verdict import Consequence, TextVerdict
from pipeline.errors import RunAborted
from pipeline.execution import Execution, parts
from pipeline.phrase_checks.catalog import ASSESSMENT_VERSION, AssessedTool, Assessment, ComparisonCache
from pipeline.settings import AssessmentSettings, EnrichmentSettings
from pipeline.vectors import Embedding
from router.fingerprint import fingerprint
from router.record import ToolRecord
from router.tools.field_text import project_record


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
        return only_recorded(self.chain, UNASKED, f"not asked: {error}")

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
        assessment = self._assess(written, embedding)
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
                assessment = self._assess(written, embedding)
        written.siblings = assessment.siblings
        _leave_out(written, assessment.verdicts)

    def _contrast(self, written: enrichment.Enrichment, colliding: dict[str, tuple[str, ...]], *, ask: bool) -> None:
        """Give tools, by id, the answers beside their siblings: asked for, or only those that the ledger has."""
        self.context.progress.start("contrast", len(colliding))
        chain = self.chain if ask else only_recorded(self.chain, UNASKED, "some first answers are still to come")
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

    def _assessment_key(
        self, written: enrichment.Enrichment, embedding: Embedding, records: Sequence[Sequence[str]]
    ) -> str:
        """Return the hash of everything that an assessment reads; `records` is what it reads of the catalog's."""
        expansions = {tool_id: w.expansion.to_json() for tool_id, w in written.written.items()}
        settings = self.assessment.model_dump()
        return fingerprint([ASSESSMENT_VERSION, settings, embedding.model.key, records, expansions])

    def _assess(self, written: enrichment.Enrichment, embedding: Embedding) -> Assessment:
        """Assess each phrase; from the ledger, where the same texts were assessed before."""
        catalog, ledger = self.context.catalog, self.context.ledger
        read = [[r.tool_id, r.name, r.description, project_record(r, None).dense] for r in catalog.records]
        key = self._assessment_key(written, embedding, read)
        known = ledger.assessment(key)
        if known is None:
            # Earlier versions had the records' hashes in the key. Assessed anew, near-ties may make other siblings.
            hashes = [[r.tool_id, catalog.hashes[r.tool_id]] for r in catalog.records]
            known = ledger.assessment(self._assessment_key(written, embedding, hashes))
            if known is not None:
                ledger.put_assessment(self.context.run, key, known)
        if known is not None:
            return Assessment(
                tuple(
                    TextVerdict(**{**row, "consequence": Consequence(row["consequence"])}) for row in known["verdicts"]
                ),
                {tool_id: tuple(siblings) for tool_id, siblings in known["siblings"].items()},
            )
        expansions = {tool_id: w.expansion for tool_id, w in written.written.items()}
        subjects = [AssessedTool.of(record, expansions.get(record.tool_id)) for record in catalog.records]
        texts = [subject.text for subject in subjects]
        phrases = [phrase for subject in subjects for phrase in subject.phrases]
        embedding.embed([*texts, *phrases])
        self.context.progress.start("assess", None)
        state = f"{ASSESSMENT_VERSION} {embedding.model.key}"
        assessment, compared = self.execution.run(
            "assess",
            assess_phrases,
            subjects,
            embedding.matrix(texts),
            embedding.matrix(phrases),
            self.assessment,
            ComparisonCache.open(self.compared_file, state).previous,
        )
        ComparisonCache(current=dict(compared)).save(self.compared_file, state)
        verdicts = [asdict(verdict) for verdict in assessment.verdicts]
        ledger.put_assessment(self.context.run, key, {"verdicts": verdicts, "siblings": dict(assessment.siblings)})
        return assessment


def _leave_out(written: enrichment.Enrichment, verdicts: Iterable[TextVerdict]) -> None:
    """Remove dropped texts from the expansions, and keep the verdicts beside them."""
    by_tool: dict[str, list[TextVerdict]] = {}
    for verdict in verdicts:
        by_tool.setdefault(verdict.tool_id, []).append(verdict)
    for tool_id, of_tool in by_tool.items():
        by = written.written[tool_id]
        expansion = _without_dropped(by.expansion, of_tool)
        written.written[tool_id] = replace(by, expansion=expansion, verdicts=(*by.verdicts, *of_tool))


def _without_dropped(expansion: enrichment.Expansion, verdicts: Sequence[TextVerdict]) -> enrichment.Expansion:
    dropped = {(verdict.field, verdict.text) for verdict in verdicts if verdict.dropped}
    return replace(
        expansion,
        when_to_use="" if ("when_to_use", expansion.when_to_use) in dropped else expansion.when_to_use,
        user_phrases=tuple(p for p in expansion.user_phrases if ("user_phrases", p) not in dropped),
    )
