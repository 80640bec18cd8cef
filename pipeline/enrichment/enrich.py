"""Expansions for a catalog's tools: each generator in turn, earlier answers, then a second question beside siblings."""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import count

from pipeline.enrichment import prompt
from pipeline.enrichment.ask import ask_and_check
from pipeline.enrichment.chain import LedgerOnly
from pipeline.enrichment.checking import screen_answer
from pipeline.enrichment.context import Enrichment, EnrichmentContext, ScreenedExpansion, StaleExpansion
from pipeline.enrichment.generator import Generator, questions_about
from router.expansion import Expansion
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
            left = [record for record in batch if record.tool_id not in into.written]
            serve_earlier(context, generator, left, into, contrasting=False)


def contrast(
    context: EnrichmentContext,
    generators: Sequence[Generator],
    siblings: Mapping[str, Sequence[str]],
    *,
    into: Enrichment,
) -> None:
    """Ask a second time about tools whose phrases also fit their siblings, and show the generator the siblings.

    `siblings` maps a tool's id to the ids of its siblings. Each tool goes to the generator of its first answer, if that
    accepts siblings. The new answer replaces the first one in `into`, unless it has less than half as many phrases; a
    failure leaves the first one. The same text about the same siblings is paid for once. Raises RunAborted as `enrich`
    does.
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
            unanswered = {failure.tool_id for failure in into.failures[first_failure:]}
            del into.failures[first_failure:]
        if isinstance(generator, LedgerOnly):
            serve_earlier(context, generator, [records[tool_id] for tool_id in unanswered], into, contrasting=True)


def serve_earlier(
    context: EnrichmentContext,
    generator: Generator,
    records: Collection[ToolRecord],
    into: Enrichment,
    *,
    contrasting: bool,
) -> None:
    """Add each tool's newest earlier answer by a model that passes today's screen, as stale: see decisions/ledger.md.

    When `contrasting`, only answers beside other siblings serve, where record, prompt and model are today's.
    """
    missing = {record.tool_id: record for record in records}
    if not missing or not context.catalog_name:
        return
    former = {one: tool_id for one, tool_id in context.catalog.former_ids.items() if tool_id in missing}
    for answer in context.ledger.answers.earlier_answers(context.catalog_name, [*missing, *former], context.checks):
        tool_id = former.get(answer.tool_id, answer.tool_id)
        if (record := missing.get(tool_id)) is None:
            continue
        differs = {
            "record": answer.record_hash != context.catalog.hashes[tool_id],
            "prompt": answer.prompt_version != prompt.PROMPT_VERSION,
            "model": answer.model != generator.model,
        }
        reasons = tuple(name for name, is_other in differs.items() if is_other)
        if contrasting and (reasons or not answer.beside_siblings):
            continue
        expansion = Expansion.from_json(json.loads(answer.expansion))
        screened, verdicts = screen_answer(context, record, expansion)
        if not screened.user_phrases or not into.improves(tool_id, screened):
            continue
        # With record, prompt and model of today, the question differed in its parameters or its siblings.
        other = "siblings" if answer.beside_siblings else "parameters"
        stale = StaleExpansion(reasons or (other,), answer.model, answer.prompt_version, answer.run)
        into.written[tool_id] = ScreenedExpansion(
            screened, answer.generator, answer.model, answer.expansion_key, expansion, verdicts, stale
        )
        del missing[tool_id]
        context.progress.advance()


def interleaved_by_provider(records: Sequence[ToolRecord]) -> list[ToolRecord]:
    """Return the records with one of each provider in turn, so that a budget that ends early serves every provider."""
    rounds: defaultdict[str | None, count[int]] = defaultdict(count)
    return sorted(records, key=lambda record: next(rounds[record.provider]))
