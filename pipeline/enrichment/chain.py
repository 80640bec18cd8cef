"""The generators that a build asks, in order."""

from collections.abc import Callable, Iterator, Sequence
from threading import Event

from pipeline.enrichment.file import FileGenerator
from pipeline.enrichment.generator import (
    NEVER,
    NO_KEY,
    GeneratedExpansion,
    GenerationFailure,
    Generator,
    Outcome,
    Question,
    TokenUsage,
    record_key,
)
from pipeline.ledger import Ledger
from pipeline.settings import CatalogSettings, EnrichmentSettings
from router.record import ToolRecord
from router.tools import lexicon
from router.tools.trust import sanitize


class LedgerOnly:
    """Stands in for a generator that cannot be asked. Its questions, and so their keys, are the generator's."""

    accepts_siblings = True
    unclaimed = TokenUsage()

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


class LexiconGenerator:
    """Writes phrases from a tool's operation (verb) and resource (nouns), in several everyday wordings."""

    name = "lexicon"
    accepts_siblings = False
    unclaimed = TokenUsage()

    def __init__(self) -> None:
        self.model = f"lexicon-{lexicon.lexicon_version()}"

    def question(self, record: ToolRecord, record_hash: str, siblings: Sequence[ToolRecord] = ()) -> Question:
        """Return a question about a record; the model's name in its key holds the lexicon's hash."""
        return Question(record_key(self.name, self.model, record_hash, {}), record)

    def generate(self, questions: Sequence[Question], stop: Event = NEVER) -> Iterator[Sequence[Outcome]]:
        """Yield an answer for every record."""
        yield [
            GeneratedExpansion(question.record.tool_id, lexicon.expand(sanitize(question.record)[0]))
            for question in questions
        ]


NO_KEY_SET = "no key or base URL is set (OPENAI_API_KEY, OPENAI_BASE_URL)"


def generators(settings: CatalogSettings, ledger: Ledger, note: Callable[[str], None]) -> list[Generator]:
    """Return the file of expansions, if there is one, the chosen generator, and the fallback for its failures.

    The generator `auto` is an OpenAI-compatible model where a key or a base URL is set, else the lexicon, after the
    answers that a model gave about the catalog before. The ledger stores the batches that are submitted; `note` is
    called with their progress. Raises RunAborted where the file cannot be read, SettingsInvalid where the key cannot be
    sent.
    """
    enrichment = settings.enrichment
    chain: list[Generator] = []
    if enrichment.expansions is not None:
        chain.append(FileGenerator(settings.resolve(enrichment.expansions)))
    chosen = enrichment.generator
    if chosen == "auto" and not enrichment.reaches_model and ledger.answers.has_model_answers(settings.name):
        # What a model wrote serves on: a key that is missing from one night's environment takes nothing back.
        chain.append(LedgerOnly(_model(enrichment, ledger, note), NO_KEY, f"not asked: {NO_KEY_SET}"))
        chosen = enrichment.fallback
    elif chosen == "auto":
        chosen = "openai" if enrichment.reaches_model else "lexicon"
    if chosen == "openai":
        chain.append(_model(enrichment, ledger, note))
        chosen = enrichment.fallback
    if chosen == "lexicon":
        chain.append(LexiconGenerator())
    return chain


def _model(settings: EnrichmentSettings, ledger: Ledger, note: Callable[[str], None]) -> Generator:
    # The import takes a second: only where a model is asked.
    from pipeline.enrichment.openai import BatchGenerator, DirectGenerator

    if settings.mode == "batch":
        return BatchGenerator(settings, ledger, note=note)
    return DirectGenerator(settings, awaited=ledger.batches.awaited_keys(settings.model))
