"""Expansions for a catalog's tools: each generator in turn, then a second question beside similar tools."""

from collections import Counter
from collections.abc import Mapping, Sequence

from pipeline.enrichment.ask import ask_and_check
from pipeline.enrichment.chain import LedgerOnly
from pipeline.enrichment.context import Enrichment, EnrichmentContext
from pipeline.enrichment.earlier import serve_earlier, serve_earlier_contrast
from pipeline.enrichment.generator import Generator, questions_about
from router.record import ToolRecord


def enrich(
    context: EnrichmentContext, generators: Sequence[Generator], *, batch: Sequence[ToolRecord], into: Enrichment
) -> None:
    """Add expansions of some of a catalog's records to `into`, by the first generator that has an acceptable answer.

    A tool goes to the next generator where one fails, has nothing to say about it, or gives an answer that does not
    pass the screen. After a model, a tool's last accepted expansion by a model serves, as stale. Answers are committed
    as they come: a batch that stopped half-way can be given again, and only the missing answers are asked for. Raises
    RunAborted where a generator cannot be used at all; earlier answers are kept.
    """
    ids = {record.tool_id for record in batch}
    into.failures[:] = [failure for failure in into.failures if failure.tool_id not in ids]
    for generator in generators:
        without = (record for record in batch if record.tool_id not in into.written)
        ask_and_check(context, generator, questions_about(context.catalog, generator, without), into)
        if generator.accepts_siblings:
            serve_earlier(context, generator, batch, into)


def contrast(
    context: EnrichmentContext,
    generators: Sequence[Generator],
    siblings: Mapping[str, Sequence[str]],
    *,
    into: Enrichment,
) -> None:
    """Ask a second time about tools whose phrases also fit their siblings, and show the generator the siblings.

    `siblings` maps a tool's id to the ids of its siblings. Each tool goes to the generator of its first answer, if that
    accepts siblings. The new answer replaces the first one in `into`, unless it has less than half as many phrases;
    failures go to `into.sibling_failures`. The same text about the same siblings is paid for once. Raises RunAborted as
    `enrich` does.
    """
    records = {record.tool_id: record for record in context.catalog.records}
    first_failure = len(into.failures)
    for generator in generators:
        if not generator.accepts_siblings:
            continue
        questions = [
            generator.question(records[tool_id], context.catalog.hashes[tool_id], [records[s] for s in sibling_ids])
            for tool_id, sibling_ids in siblings.items()
            if (screened := into.written.get(tool_id)) is not None
            and screened.generator == generator.name
            and screened.stale is None
        ]
        try:
            ask_and_check(context, generator, [question for question in questions if question is not None], into)
        finally:
            into.sibling_failures += into.failures[first_failure:]
            del into.failures[first_failure:]
        if isinstance(generator, LedgerOnly):
            unanswered = {failure.tool_id for failure in into.sibling_failures}
            serve_earlier_contrast(context, generator, [records[tool_id] for tool_id in unanswered], into)


def interleaved_by_provider(records: Sequence[ToolRecord]) -> list[ToolRecord]:
    """Return the records with one of each provider in turn, so that a budget that ends early serves every provider."""
    count_by_provider: Counter[str | None] = Counter()
    rounds = []
    for record in records:
        rounds.append(count_by_provider[record.provider])
        count_by_provider[record.provider] += 1
    return [record for _, record in sorted(zip(rounds, records, strict=True), key=lambda pair: pair[0])]
