"""Which generators a build asks, in order."""

from collections.abc import Callable

from pipeline.enrichment.file import FileGenerator
from pipeline.enrichment.generator import Generator
from pipeline.enrichment.lexicon import LexiconGenerator
from pipeline.ledger import Ledger
from pipeline.settings import CatalogSettings, EnrichmentSettings


def generators(settings: CatalogSettings, ledger: Ledger, note: Callable[[str], None]) -> list[Generator]:
    """The file of expansions if there is one; then the chosen generator; then the fallback for what it fails on.

    `auto` is an OpenAI-compatible model where a key or a base URL is set, else the lexicon. Raises RunAborted where
    the file cannot be read, SettingsInvalid where the key cannot be sent. The ledger keeps what a batch is
    about, `note` hears how it gets on.
    """
    enrichment = settings.enrichment
    chain: list[Generator] = []
    if enrichment.expansions is not None:
        chain.append(FileGenerator(settings.resolve(enrichment.expansions)))
    chosen = enrichment.generator
    if chosen == "auto":
        chosen = "openai" if enrichment.reaches_model else "lexicon"
    if chosen == "openai":
        chain.append(_model(enrichment, ledger, note))
        chosen = enrichment.fallback
    if chosen == "lexicon":
        chain.append(LexiconGenerator())
    return chain


def _model(settings: EnrichmentSettings, ledger: Ledger, note: Callable[[str], None]) -> Generator:
    # A second to import: only where a model is asked.
    from pipeline.enrichment.openai import DirectGenerator
    from pipeline.enrichment.openai.batch import BatchGenerator

    return BatchGenerator(settings, ledger, note=note) if settings.mode == "batch" else DirectGenerator(settings)
