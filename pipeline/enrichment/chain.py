"""Which generators a build asks, in order."""

from pipeline.enrichment.file import FileGenerator
from pipeline.enrichment.generator import Generator
from pipeline.enrichment.lexicon import LexiconGenerator
from pipeline.settings import CatalogSettings


def generators(settings: CatalogSettings) -> list[Generator]:
    """The file of expansions if there is one; then the chosen generator; then the fallback for what it fails on.

    `auto` is an OpenAI-compatible model where a key or a base URL is set, else the lexicon. Raises RunAborted where
    the file cannot be read, SettingsInvalid where the key cannot be sent.
    """
    enrichment = settings.enrichment
    chain: list[Generator] = []
    if enrichment.expansions is not None:
        chain.append(FileGenerator(settings.resolve(enrichment.expansions)))
    chosen = enrichment.generator
    if chosen == "auto":
        chosen = "openai" if enrichment.reaches_model else "lexicon"
    if chosen == "openai":
        from pipeline.enrichment.openai import OpenAIGenerator  # a second to import: only where it is asked

        chain.append(OpenAIGenerator(enrichment))
        chosen = enrichment.fallback
    if chosen == "lexicon":
        chain.append(LexiconGenerator())
    return chain
