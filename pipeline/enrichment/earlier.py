"""Earlier answers: a tool's last accepted expansion serves, as stale, until a model gives a better one.

See docs/decisions/ledger.md.
"""

import json
from collections.abc import Collection, Mapping

from pipeline.enrichment import prompt
from pipeline.enrichment.context import Enrichment, EnrichmentContext, ScreenedExpansion, StaleExpansion
from pipeline.enrichment.generator import Generator
from pipeline.ledger import EarlierAnswer
from router.expansion import Expansion
from router.record import ToolRecord


def serve_earlier(
    context: EnrichmentContext, generator: Generator, batch: Collection[ToolRecord], into: Enrichment
) -> None:
    """Add to `into`, for each tool without an expansion, the newest one by a model that passes today's screen."""
    missing = {record.tool_id: record for record in batch if record.tool_id not in into.written}
    for answer in _answers(context, missing):
        if answer.tool_id in missing:
            written = _screened(context, missing[answer.tool_id], answer, _reasons(context, generator, answer))
            if written is not None:
                into.written[answer.tool_id] = written
                del missing[answer.tool_id]
                context.progress.advance()


def serve_earlier_contrast(
    context: EnrichmentContext, generator: Generator, batch: Collection[ToolRecord], into: Enrichment
) -> None:
    """Put a tool's newest answer beside other siblings in place of its first answer, if record and prompt are today's.

    It is stale, and has at least half as many phrases as the first answer.
    """
    missing = {record.tool_id: record for record in batch if record.tool_id in into.written}
    for answer in _answers(context, missing):
        if answer.tool_id not in missing or not answer.beside_siblings or _reasons(context, generator, answer):
            continue
        written = _screened(context, missing[answer.tool_id], answer, ())
        first = into.written[answer.tool_id].expansion
        if written is not None and 2 * len(written.expansion.user_phrases) >= len(first.user_phrases):
            into.written[answer.tool_id] = written
            del missing[answer.tool_id]


def _answers(context: EnrichmentContext, missing: Mapping[str, ToolRecord]) -> list[EarlierAnswer]:
    if not missing or not context.catalog_name:
        return []
    return context.ledger.answers.earlier_answers(context.catalog_name, list(missing))


def _reasons(context: EnrichmentContext, generator: Generator, answer: EarlierAnswer) -> tuple[str, ...]:
    """Return what the answer was asked with that is not today's: "record", "prompt", "model"."""
    differing = {
        "record": answer.record_hash != context.catalog.hashes[answer.tool_id],
        "prompt": answer.prompt_version != prompt.PROMPT_VERSION,
        "model": answer.model != generator.model,
    }
    return tuple(name for name, differs in differing.items() if differs)


def _screened(
    context: EnrichmentContext, record: ToolRecord, answer: EarlierAnswer, reasons: tuple[str, ...]
) -> ScreenedExpansion | None:
    """Return what the screen leaves of an answer, as stale; None where no phrase is left."""
    expansion = Expansion.from_json(json.loads(answer.expansion))
    screened, verdicts = context.screen(record, expansion)
    if not screened.user_phrases:
        return None
    # With record, prompt and model of today, the question differed in its parameters or its siblings.
    other = "siblings" if answer.beside_siblings else "parameters"
    stale = StaleExpansion(reasons or (other,), answer.model, answer.prompt_version, answer.run)
    return ScreenedExpansion(screened, answer.generator, answer.model, answer.expansion_key, expansion, verdicts, stale)
