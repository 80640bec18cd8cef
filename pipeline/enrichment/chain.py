"""The generators that a build asks, in order."""

from collections.abc import Callable

from pipeline.enrichment.file import FileGenerator
from pipeline.enrichment.generator import NO_KEY, Generator
from pipeline.enrichment.ledger_only import LedgerOnly
from pipeline.enrichment.lexicon import LexiconGenerator
from pipeline.ledger import Ledger
from pipeline.settings import CatalogSettings, EnrichmentSettings

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
