"""The expansions that a snapshot holds: written, screened, assessed against the whole catalog, contrasted."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from pipeline import enrichment
from pipeline.build.stages import assess_phrases
from pipeline.enrichment.verdict import Consequence, TextVerdict
from pipeline.errors import RunAborted
from pipeline.execution import Execution, parts
from pipeline.phrase_checks.catalog import ASSESSMENT_VERSION, AssessedTool, Assessment, ComparisonCache
from pipeline.settings import AssessmentSettings, EnrichmentSettings
from pipeline.vectors import Embedding
from router.fingerprint import fingerprint


@dataclass(frozen=True)
class Enriching:
    """The enrichment of one build. Without an `embedding` nothing is assessed.

    `chain` are the generators to ask, in order. `compared_file` keeps what an assessment compared for the next build.
    """

    context: enrichment.EnrichmentContext
    chain: Sequence[enrichment.Generator]
    settings: EnrichmentSettings
    assessment: AssessmentSettings
    execution: Execution
    embedding: Embedding | None
    compared_file: Path

    def run(self) -> enrichment.Enrichment:
        """Have expansions written, and leave out what does not hold against the rest of the catalog.

        Where phrases fit a sibling as well, the tool is asked about once more beside its siblings, if settings say so.
        Raises RunAborted as the generators do.
        """
        records = self.context.catalog.records
        self.context.progress.start("enrich", len(records))
        written = enrichment.Enrichment()
        for label, batch in parts(enrichment.interleaved_by_provider(records), self._stage_size):
            ask = partial(enrichment.enrich, self.context, self.chain, batch=batch, into=written)
            self.execution.run("enrich", ask, label=label)
        if self.embedding is not None and self.assessment.enabled:
            self._check_against_catalog(written, self.embedding)
        for generator in self.chain:
            written.usage = written.usage + generator.unclaimed
        return written

    @property
    def _stage_size(self) -> int | None:
        # A batch handed in whole is one job at the server; one by one, a part is what a flow may repeat.
        return None if self.settings.mode == "batch" else self.execution.batch_size

    def _check_against_catalog(self, written: enrichment.Enrichment, embedding: Embedding) -> None:
        """Assess what was written; ask again where siblings collide; leave out what does not hold."""
        assessment = self._assess(written, embedding)
        # Siblings found while some answers are still to come would be others tomorrow, and paid for again.
        complete = all(failure.asked for failure in written.failures)
        if self.settings.contrast and complete:
            colliding = {
                tool_id: siblings
                for tool_id, siblings in assessment.siblings.items()
                if self._can_contrast(written, tool_id)
            }
            if colliding:
                self._contrast(written, colliding)
                assessment = self._assess(written, embedding)
        written.siblings = assessment.siblings
        _leave_out(written, assessment.verdicts)

    def _contrast(self, written: enrichment.Enrichment, colliding: dict[str, tuple[str, ...]]) -> None:
        """Ask again about tools, by id, beside their siblings."""
        self.context.progress.start("contrast", len(colliding))
        try:
            for label, part in parts(list(colliding.items()), self._stage_size):
                ask = partial(enrichment.contrast, self.context, self.chain, dict(part), into=written)
                self.execution.run("contrast", ask, label=label)
        except RunAborted as error:
            # Every tool has its first answer: a build that needed nothing else goes on without the second.
            self.context.progress.note(f"similar tools were not asked about a second time: {error}")

    def _can_contrast(self, written: enrichment.Enrichment, tool_id: str) -> bool:
        """Return whether the generator that wrote for a tool can be shown its siblings."""
        by = written.written.get(tool_id)
        return by is not None and any(g.accepts_siblings for g in self.chain if g.name == by.generator)

    def _assess(self, written: enrichment.Enrichment, embedding: Embedding) -> Assessment:
        """Assess each phrase; from the ledger, where the same texts were assessed before."""
        catalog, ledger = self.context.catalog, self.context.ledger
        key = fingerprint(
            [
                ASSESSMENT_VERSION,
                self.assessment.model_dump(),
                embedding.model.key,
                [[r.tool_id, catalog.hashes[r.tool_id]] for r in catalog.records],
                {tool_id: w.expansion.to_json() for tool_id, w in written.written.items()},
            ]
        )
        if known := ledger.assessment(key):
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
