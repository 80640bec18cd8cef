"""The lost-phrases gate: a snapshot is held in which many tools lose a model's or a file's words to the lexicon's."""

from collections import Counter
from collections.abc import Mapping, Sequence

from pipeline.enrichment import Enrichment
from pipeline.enrichment.chain import NO_KEY_SET
from pipeline.enrichment.file import FileGenerator
from pipeline.enrichment.lexicon import LexiconGenerator
from pipeline.publish.quality_gate import setting
from pipeline.sentences import named
from pipeline.settings import CatalogSettings, EnrichmentSettings

_FEWEST = 3  # tools: fewer hold nothing back, however small the catalog
_LONGEST_CAUSE = 300


def lost_phrases_reasons(
    settings: CatalogSettings, tool_ids: Sequence[str], enrichment: Enrichment, serving: Mapping[str, str]
) -> tuple[str, ...]:
    """Return why a snapshot must not serve yet: too large a share of the tools would fall to the lexicon or to nothing.

    The share is of the catalog's tools, `tool_ids`, that have the words of a model or of a file in the snapshot that
    serves. `serving` has the generator of each serving tool.
    """
    before = {tool_id: name for tool_id, name in serving.items() if name != LexiconGenerator.name}
    written = [tool_id for tool_id in tool_ids if tool_id in before]
    fallen = [tool_id for tool_id in written if not _has_words(enrichment, tool_id)]
    limit = settings.publish.max_downgraded_share
    if len(fallen) < _FEWEST or len(fallen) <= limit * len(written):
        return ()
    cause = _cause(settings.enrichment, fallen, before, enrichment)
    return (
        f"{len(fallen):,} of the {len(written):,} tools that a model or a file wrote for would fall to the lexicon's "
        f"words or to none: {named(fallen)}. {cause}; {setting('max_downgraded_share')} allows {limit:.1%}",
    )


def _has_words(enrichment: Enrichment, tool_id: str) -> bool:
    written = enrichment.written.get(tool_id)
    return written is not None and written.generator != LexiconGenerator.name


def _cause(
    settings: EnrichmentSettings, fallen: Sequence[str], before: Mapping[str, str], enrichment: Enrichment
) -> str:
    """Return the likely cause in words."""
    if Counter(before[tool_id] for tool_id in fallen).most_common(1)[0][0] == FileGenerator.name:
        if settings.expansions is None:
            return "There is no file of expansions any more (enrichment.expansions)"
        return f"{settings.expansions.name} has no usable line for them any more"
    if settings.generator in ("lexicon", "none"):
        return f"enrichment.generator (--generator) is {settings.generator}"
    names = set(fallen)
    messages = Counter(failure.message for failure in enrichment.failures if failure.tool_id in names)
    if messages:
        return " ".join(messages.most_common(1)[0][0].split())[:_LONGEST_CAUSE].rstrip(".")
    if not settings.reaches_model:
        return NO_KEY_SET[0].upper() + NO_KEY_SET[1:]
    return "The ledger has no answer about them that passes the checks"
