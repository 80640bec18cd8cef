"""Assess what was written for the tools of a build, and leave out what does not hold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from pipeline import enrichment
from pipeline.build.stages import assess_phrases
from pipeline.enrichment.context import Consequence, TextVerdict
from pipeline.execution import Execution
from pipeline.phrase_checks.assessment import ASSESSMENT_VERSION
from pipeline.phrase_checks.comparison import ComparisonCache
from pipeline.phrase_checks.screen import LISTS
from pipeline.phrase_checks.steering import find_steering
from pipeline.phrase_checks.subject import Remark, WrittenTool, schema_texts
from pipeline.phrase_checks.vectors import AssessedTool
from pipeline.settings import AssessmentSettings
from pipeline.vectors import Embedding
from router.expansion import Expansion
from router.fingerprint import fingerprint
from router.tools.text_overlap import record_texts


@dataclass(frozen=True)
class Assessed:
    """What was found: verdicts on texts of expansions, siblings by tool id, and by tool id the remarks that steered."""

    verdicts: tuple[TextVerdict, ...] = ()
    siblings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    steering: Mapping[str, tuple[Remark, ...]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON that the ledger keeps."""
        raw: dict[str, Any] = msgspec.to_builtins(self)
        return raw

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> "Assessed":
        """Return what the ledger kept."""
        return msgspec.convert(raw, cls)


@dataclass(frozen=True)
class Assessor:
    """Assesses a build's expansions: against the whole catalog, and each against its own record.

    `compared_file` keeps what an assessment compared for the next build.
    """

    context: enrichment.EnrichmentContext
    embedding: Embedding
    settings: AssessmentSettings
    execution: Execution
    compared_file: Path

    def assess(self, written: enrichment.Enrichment) -> Assessed:
        """Assess what was written; from the ledger, where the same texts were assessed before."""
        expansions = {tool_id: one.expansion for tool_id, one in written.written.items()}
        ledger, key = self.context.ledger, self._key(expansions)
        if (known := ledger.answers.assessment(key)) is not None:
            return Assessed.from_json(known)
        of_catalog = self._against_catalog(expansions)
        of_records = self._against_records(expansions)
        found = Assessed((*of_catalog.verdicts, *of_records.verdicts), of_catalog.siblings, of_records.steering)
        ledger.answers.put_assessment(self.context.run, key, found.to_json())
        return found

    def _key(self, expansions: Mapping[str, Expansion]) -> str:
        """Return the hash of everything that an assessment reads."""
        records = [
            [record.tool_id, [*record_texts(record)], [*schema_texts(record.input_schema)]]
            for record in self.context.catalog.records
        ]
        answers = {tool_id: expansion.to_json() for tool_id, expansion in expansions.items()}
        settings = self.settings.model_dump()
        return fingerprint([ASSESSMENT_VERSION, settings, self.embedding.model.key, records, answers])

    def _against_catalog(self, expansions: Mapping[str, Expansion]) -> Assessed:
        subjects = [AssessedTool.of(record, expansions.get(record.tool_id)) for record in self.context.catalog.records]
        texts = [subject.text for subject in subjects]
        phrases = [phrase for subject in subjects for phrase in subject.phrases]
        self.embedding.embed([*texts, *phrases])
        self.context.progress.start("assess", None)
        state = f"{ASSESSMENT_VERSION} {self.embedding.model.key}"
        assessment, compared = self.execution.run(
            "assess",
            assess_phrases,
            subjects,
            self.embedding.matrix(texts),
            self.embedding.matrix(phrases),
            self.settings,
            ComparisonCache.open(self.compared_file, state).previous,
        )
        ComparisonCache(current=dict(compared)).save(self.compared_file, state)
        return Assessed(assessment.verdicts, assessment.siblings)

    def _against_records(self, expansions: Mapping[str, Expansion]) -> Assessed:
        tools = [WrittenTool.of(record, expansions.get(record.tool_id)) for record in self.context.catalog.records]
        subjects = [tool.subject for tool in tools]
        judged = [text for tool in tools for text in tool.judged]
        found = find_steering(tools, self._vectors([*subjects, *judged]), self._vectors, self.settings)
        return Assessed(found.verdicts, steering=found.steering)

    def _vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.embedding.embed(texts)
        return self.embedding.matrix(texts)


def leave_out(written: enrichment.Enrichment, found: Assessed) -> None:
    """Remove dropped texts from the expansions, keep the verdicts beside them, and note which records steered."""
    by_tool: dict[str, list[TextVerdict]] = {}
    for verdict in found.verdicts:
        by_tool.setdefault(verdict.tool_id, []).append(verdict)
    for tool_id, of_tool in by_tool.items():
        by = written.written[tool_id]
        expansion = _without_dropped(by.expansion, of_tool)
        written.written[tool_id] = replace(by, expansion=expansion, verdicts=(*by.verdicts, *of_tool))
    written.steering = {tool_id: frozenset(part.text for part in parts) for tool_id, parts in found.steering.items()}
    written.suspicious = tuple(
        TextVerdict(tool_id, part.field, part.text, "foreign", Consequence.DROPPED)
        for tool_id, parts in sorted(found.steering.items())
        for part in parts
    )


def _without_dropped(expansion: Expansion, verdicts: Sequence[TextVerdict]) -> Expansion:
    dropped = {(verdict.field, verdict.text) for verdict in verdicts if verdict.dropped}

    def kept(name: str, texts: Sequence[str]) -> tuple[str, ...]:
        return tuple(text for text in texts if (name, text) not in dropped)

    translations = {code: kept(f"translations.{code}", texts) for code, texts in expansion.translations.items()}
    return replace(
        expansion,
        when_to_use="".join(kept("when_to_use", [expansion.when_to_use])),
        translations={code: texts for code, texts in translations.items() if texts},
        **{name: kept(name, getattr(expansion, name)) for name in LISTS},
    )
