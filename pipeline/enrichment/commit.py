"""Questions to one generator: known answers from the ledger, new outcomes committed group by group."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace

import duckdb

from pipeline.enrichment import prompt
from pipeline.enrichment.context import Enrichment, EnrichmentContext, ScreenedExpansion
from pipeline.enrichment.generator import (
    GeneratedExpansion,
    GenerationFailure,
    Generator,
    Outcome,
    Question,
    TokenUsage,
)
from pipeline.errors import QuartermasterError, RunAborted
from pipeline.ledger import LedgerEntry, LedgerQuestion, explained
from router.expansion import Expansion


def ledger_entry(
    outcome: Outcome, *, key: str, record_hash: str, generator: str, model: str, prompt_version: int | None = None
) -> LedgerEntry:
    """Return an outcome as the ledger stores it. Without a `prompt_version` it answers today's prompt."""
    failure = outcome if isinstance(outcome, GenerationFailure) else None
    return LedgerEntry(
        expansion_key=key,
        record_hash=record_hash,
        tool_id=outcome.tool_id,
        generator=generator,
        model=model,
        prompt_version=prompt.PROMPT_VERSION if prompt_version is None else prompt_version,
        prompt_tokens=outcome.usage.prompt_tokens,
        cached_tokens=outcome.usage.cached_tokens,
        completion_tokens=outcome.usage.completion_tokens,
        cost_usd=outcome.usage.cost_usd,
        completion=outcome.completion,
        expansion=None if isinstance(outcome, GenerationFailure) else outcome.expansion.to_json(),
        kind=failure.kind if failure else "",
        message=failure.message if failure else "",
    )


def answer_and_commit(
    context: EnrichmentContext, generator: Generator, questions: Sequence[Question], into: Enrichment
) -> None:
    """Answer questions from the ledger, ask the generator the others, and commit each group of outcomes as it comes.

    Results are added to `into`. An interruption is raised again once the generator has given its outcomes in flight
    and these are committed. Raises RunAborted as the generator does.
    """
    answers_by_key = context.ledger.answers.expansions([question.key for question in questions])
    for question in questions:
        if answer := answers_by_key.get(question.key):
            into.reused += 1
            _accept(context, into, question, generator, Expansion.from_json(answer))
    unknown: dict[str, list[Question]] = {}
    for question in questions:
        if question.key not in answers_by_key:
            unknown.setdefault(question.key, []).append(question)
    if not unknown:
        return
    # Tools that a model cannot tell apart are one question: the first of them is asked about.
    asked = [alike[0] for alike in unknown.values()]
    by_tool = {alike[0].record.tool_id: alike for alike in unknown.values()}
    _store_prompts(context, generator, asked)
    groups = generator.generate(asked)
    committed: set[str] = set()
    added: set[str] = set()
    last: Sequence[Outcome] = ()

    def commit(group: Sequence[Outcome]) -> None:
        new = [outcome for outcome in group if outcome.tool_id not in committed]
        entries = [
            ledger_entry(
                outcome,
                key=by_tool[outcome.tool_id][0].key,
                record_hash=context.catalog.hashes[outcome.tool_id],
                generator=generator.name,
                model=generator.model,
            )
            for outcome in new
            if _was_asked(outcome)
        ]
        if entries:
            context.ledger.answers.put_entries(context.run, entries)
        committed.update(outcome.tool_id for outcome in new)

    def keep(group: Sequence[Outcome]) -> None:
        nonlocal last
        last = group
        ledger_thread.submit(commit, group).result()
        _add_outcomes(context, into, by_tool, generator, [o for o in group if o.tool_id not in added], added)

    # Ctrl-C and a task's time-out come between any two steps. What they take from here, the generator gives once more;
    # and a thread that they cannot reach commits. A group is committed before the next is requested, so that a kill
    # loses only what is in flight.
    with ThreadPoolExecutor(1, "ledger") as ledger_thread:
        try:
            try:
                for group in groups:
                    keep(group)
            except duckdb.Error:
                raise
            except BaseException as interruption:
                keep(last)  # again: not every generator gives it once more
                with suppress(StopIteration):
                    keep(_interrupt(groups, interruption))
                for group in groups:
                    keep(group)
                raise
        except duckdb.Error as unwritable:  # nothing more is asked: it could not be stored either
            outcomes = {outcome.tool_id: outcome for outcome in [*last, *_in_flight(groups, unwritable)]}
            lost = [o for o in outcomes.values() if o.tool_id not in committed and _was_asked(o)]
            raise _lost(lost, explained(unwritable, context.ledger.path)) from unwritable


def _was_asked(outcome: Outcome) -> bool:
    return isinstance(outcome, GeneratedExpansion) or outcome.asked


def _store_prompts(context: EnrichmentContext, generator: Generator, questions: Iterable[Question]) -> None:
    """Store what a model is asked before it is asked: another build may collect the answer of a batch."""
    prompts = ((question.key, generator.prompt(question)) for question in questions)
    context.ledger.answers.put_questions(
        context.run,
        [
            LedgerQuestion(key, prompt.PROMPT_VERSION, shown.instructions, shown.message, shown.parameters)
            for key, shown in prompts
            if shown is not None
        ],
    )


def _add_outcomes(
    context: EnrichmentContext,
    into: Enrichment,
    questions_by_tool: Mapping[str, Sequence[Question]],
    generator: Generator,
    outcomes: Sequence[Outcome],
    added: set[str],
) -> None:
    """Add outcomes to `into`, and the ids of their tools to `added`."""
    for outcome in outcomes:
        added.add(outcome.tool_id)
        into.usage = into.usage + outcome.usage
        into.asked[generator.name] += _was_asked(outcome)
        for question in questions_by_tool[outcome.tool_id]:
            if isinstance(outcome, GeneratedExpansion):
                _accept(context, into, question, generator, outcome.expansion)
            elif question.record.tool_id == outcome.tool_id:
                into.failures.append(outcome)
            else:
                into.failures.append(replace(outcome, tool_id=question.record.tool_id, usage=TokenUsage()))


def _interrupt(groups: Iterator[Sequence[Outcome]], interruption: BaseException) -> Sequence[Outcome]:
    """Raise the interruption inside the generator; return the outcomes in flight that it still gives, if any."""
    throw: Callable[[BaseException], Sequence[Outcome]] | None = getattr(groups, "throw", None)
    if throw is None:
        raise interruption
    return throw(interruption)


def _in_flight(groups: Iterator[Sequence[Outcome]], interruption: BaseException) -> list[Outcome]:
    """Stop the generator, and return the outcomes that it still gives."""
    outcomes: list[Outcome] = []
    try:
        outcomes += _interrupt(groups, interruption)
        for group in groups:
            outcomes += group
    except (StopIteration, duckdb.Error):  # it raises the interruption when it has given everything
        pass
    return outcomes


def _lost(outcomes: Sequence[Outcome], reason: QuartermasterError) -> RunAborted:
    """Return the error of answers that were paid for and could not be stored."""
    costs = [outcome.usage.cost_usd for outcome in outcomes]
    spent = "at an unknown price" if None in costs else f"for {sum(cost or 0 for cost in costs):.6f} US dollars"
    return RunAborted(
        f"{reason}. Of the model's answers, {len(outcomes):,} could not be stored and are asked again ({spent}); "
        "no further tool was asked about"
    )


def _accept(
    context: EnrichmentContext, into: Enrichment, question: Question, generator: Generator, answer: Expansion
) -> None:
    """Screen an answer and add it to `into`, unless it has less than half as many phrases as the tool's first one."""
    record = question.record
    screened, verdicts = context.screen(record, answer)
    if not screened.user_phrases:
        into.refused[record.tool_id] = verdicts
        checks = ", ".join(sorted({verdict.check for verdict in verdicts}))
        into.failures.append(
            GenerationFailure(record.tool_id, "rejected", f"no phrase of the answer passed the checks: {checks}")
        )
        return
    context.progress.advance()
    previous = into.written.get(record.tool_id)
    if previous is not None and 2 * len(screened.user_phrases) < len(previous.expansion.user_phrases):
        return
    into.written[record.tool_id] = ScreenedExpansion(
        screened, generator.name, generator.model, question.key, answer, verdicts
    )
