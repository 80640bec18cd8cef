"""The generators that a build asks, in order, and those that need no model: a file, the ledger."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import Any

from pipeline.enrichment import prompt
from pipeline.enrichment.generator import (
    NEVER,
    NO_KEY,
    GeneratedExpansion,
    GenerationFailure,
    Generator,
    Outcome,
    Question,
)
from pipeline.errors import RecordRejected
from pipeline.ledger import Ledger
from pipeline.progress import Progress
from pipeline.records import Catalog
from pipeline.settings import CatalogSettings, EnrichmentSettings
from pipeline.sources.formats.document import read_lines
from router.expansion import Expansion
from router.fingerprint import fingerprint
from router.record import Origin, ToolRecord

NO_KEY_SET = "no key or base URL is set (OPENAI_API_KEY, OPENAI_BASE_URL)"


class FileGenerator(Generator):
    """Reads a file of one JSON object for each tool.

    Its keys are "id", "when_to_use", "user_phrases", "synonyms", "related_concepts" and "task_categories", and
    where there are any "translations" (`{"de": […]}`), "requires" and "provides".
    """

    name = "file"

    def __init__(self, path: Path, former_ids: Mapping[str, str]) -> None:
        """Read the file, with ids of today; bad lines go to `rejected`. Raises RunAborted where it cannot be read."""
        self.model = path.name
        self.rejected: list[RecordRejected] = []
        self._rows: dict[str, dict[str, Any]] = {}
        for line in read_lines(path):
            if isinstance(line, RecordRejected):
                self.rejected.append(line)
                continue
            origin, row = line
            if not isinstance(row, dict) or not isinstance(row.get("id"), str):
                self.rejected.append(RecordRejected(origin, "an expansion is an object with the id of its tool"))
            elif (tool_id := former_ids.get(row["id"], row["id"])) in self._rows:
                self.rejected.append(RecordRejected(origin, f"{row['id']} has an expansion already: the first is kept"))
            else:
                self._rows[tool_id] = row

    def unknown(self, tool_ids: Collection[str]) -> list[RecordRejected]:
        """Return a rejection for each expansion of a tool that is not among these."""
        return [
            RecordRejected(Origin(self.model, tool_id), "the catalog does not have this tool")
            for tool_id in self._rows
            if tool_id not in tool_ids
        ]

    def question(self, record: ToolRecord, record_hash: str, siblings: Sequence[ToolRecord] = ()) -> Question | None:
        """Return a question whose key holds the hash of the tool's line, so that an edited line is a new answer."""
        row = self._rows.get(record.tool_id)
        if row is None:
            return None
        asked = [record_hash, prompt.PROMPT_VERSION, self.name, self.model, {"line": fingerprint(row)}]
        return Question(fingerprint(asked), record)

    def generate(self, questions: Sequence[Question], stop: Event = NEVER) -> Iterator[Sequence[Outcome]]:
        """Yield the expansions of these records."""
        yield [self._outcome(question.record.tool_id) for question in questions]

    def _outcome(self, tool_id: str) -> Outcome:
        try:
            return GeneratedExpansion(tool_id, Expansion.from_json(self._rows[tool_id]))
        except ValueError as error:
            return GenerationFailure(tool_id, "shape", str(error))


class LedgerOnly(Generator):
    """Stands in for a generator that cannot be asked. Its questions, and so their keys, are the generator's."""

    accepts_siblings = True

    def __init__(self, generator: Generator, kind: str, reason: str) -> None:
        """`kind` and `reason` are those of each failure."""
        self.name = generator.name
        self.model = generator.model
        self.reason = reason
        self._kind = kind
        self._generator = generator

    def question(self, record: ToolRecord, record_hash: str, siblings: Sequence[ToolRecord] = ()) -> Question | None:
        """Return what the generator would ask."""
        return self._generator.question(record, record_hash, siblings)

    def generate(self, questions: Sequence[Question], stop: Event = NEVER) -> Iterator[Sequence[Outcome]]:
        """Yield a failure for each question: the ledger has no answer to it."""
        yield [GenerationFailure(question.record.tool_id, self._kind, self.reason) for question in questions]


def ledger_only(chain: Sequence[Generator], kind: str, reason: str) -> list[Generator]:
    """Return the generators with the ledger's answers in place of each model."""
    return [LedgerOnly(generator, kind, reason) if generator.accepts_siblings else generator for generator in chain]


def generators(settings: CatalogSettings, ledger: Ledger, progress: Progress, catalog: Catalog) -> list[Generator]:
    """Return the file of expansions, if there is one, and the chosen generator.

    The generator `auto` is an OpenAI-compatible model where a key or a base URL is set, else the answers that a model
    gave about the catalog before. `progress` hears of batches. Raises RunAborted where the file cannot be read,
    SettingsInvalid where the key cannot be sent.
    """
    enrichment = settings.enrichment
    chain: list[Generator] = []
    if enrichment.expansions is not None:
        chain.append(FileGenerator(settings.resolve(enrichment.expansions), catalog.former_ids))
    if enrichment.generator == "openai" or (enrichment.generator == "auto" and enrichment.reaches_model):
        chain.append(_model(enrichment, ledger, progress.note))
    elif enrichment.generator == "auto" and ledger.answers.has_model_answers(settings.name):
        # What a model wrote serves on: a key that is missing from one night's environment takes nothing back.
        chain.append(LedgerOnly(_model(enrichment, ledger, progress.note), NO_KEY, f"not asked: {NO_KEY_SET}"))
    return chain


def _model(settings: EnrichmentSettings, ledger: Ledger, note: Callable[[str], None]) -> Generator:
    # The import takes a second: only where a model is asked.
    from pipeline.enrichment.openai import BatchGenerator, DirectGenerator

    if settings.mode == "batch":
        return BatchGenerator(settings, ledger, note=note)
    return DirectGenerator(settings, awaited=ledger.batches.awaited_keys(settings.model))
