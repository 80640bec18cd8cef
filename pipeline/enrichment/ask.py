"""Questions to one generator: known answers from the ledger, new ones stored as they come, and all of them checked."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import copy_context
from dataclasses import replace
from threading import Event, Thread
from typing import Any

import duckdb

from pipeline.enrichment import prompt
from pipeline.enrichment.checking import NewAnswers, check, checks_of, refusal, screen_answer
from pipeline.enrichment.context import Enrichment, EnrichmentContext
from pipeline.enrichment.generator import (
    GenerationFailure,
    Generator,
    Outcome,
    Question,
    TokenUsage,
)
from pipeline.enrichment.known_answers import known_answers
from pipeline.enrichment.waiting import leave_waiting
from pipeline.errors import QuartermasterError, RunAborted
from pipeline.ledger import explained, storable
from router.expansion import Expansion
from router.fingerprint import canonical_json

_TICK_S = 0.2  # a wait in C hears no interruption of another thread


def ask_and_check(
    context: EnrichmentContext, generator: Generator, questions: Sequence[Question], into: Enrichment
) -> None:
    """Answer questions from the ledger, ask the generator the others, check the answers and add them to `into`.

    Each group of outcomes is stored as it comes. An interruption is raised again once the outcomes in flight are
    stored. Raises RunAborted as the generator does.
    """
    unknown = _reuse(context, generator, questions, into)
    leave_waiting(context, generator, unknown, into)
    if unknown:
        # Tools that a model cannot tell apart are one question: the first of them is asked about.
        asked = {same[0].record.tool_id: same for same in unknown.values()}
        stop = Event()
        _out_of_reach(lambda: _ask(context, generator, asked, into, stop), stop)


def _reuse(
    context: EnrichmentContext, generator: Generator, questions: Sequence[Question], into: Enrichment
) -> dict[str, list[Question]]:
    """Add the answers that the ledger has to `into`; return the questions, by key, that it has none to.

    Nor has it one where the checks refuse an answer of a model that earlier checks accepted: it is asked for again.
    """
    known = known_answers(context.ledger, generator, questions, context.checks)
    answers: dict[str, Expansion] = {}
    reused: dict[str, list[Question]] = {}
    unknown: dict[str, list[Question]] = {}
    for question in questions:
        one, first = known.get(question.key), into.written.get(question.record.tool_id)
        if one is not None and first is not None:  # what a tool's first answer says serves beside siblings, too
            one = one.completed(first.answer.translations)
        if one is not None and not one.missing:
            answers[one.key] = one.answer
            reused.setdefault(one.key, []).append(question)
            continue
        if one is not None and screen_answer(context, question.record, one.answer)[0].user_phrases:
            question = one.asks(question)
        unknown.setdefault(question.key, []).append(question)
    refused: dict[str, str] = {}
    for key, alike in reused.items():
        failed = [one for one in alike if not check(context, into, replace(one, key=key), generator, answers[key])]
        if len(failed) < len(alike) or not generator.accepts_siblings:
            into.reused += len(alike)
            into.failures += [refusal(into, question.record.tool_id) for question in failed]
            continue
        refused[key] = checks_of(into, alike[0].record.tool_id)
        for question in alike:
            unknown.setdefault(question.key, []).append(question)
    context.ledger.refusals.mark(context.run, refused, context.checks)
    return unknown


def _out_of_reach(work: Callable[[], None], stop: Event) -> None:
    """Work in a thread that no interruption reaches; an interruption sets `stop`, and is raised when the work ends.

    Ctrl-C and a task's time-out come between any two steps: what is in flight is paid for, and would be lost.
    """
    errors: list[BaseException] = []
    done = Event()  # Thread.join is no use: an interruption in it makes it forget the thread

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised again in the build's thread
            errors.append(error)
        finally:
            done.set()

    thread = Thread(target=copy_context().run, args=(run,), name="enrichment", daemon=True)
    try:
        thread.start()
        while not done.wait(_TICK_S):
            pass
    except BaseException:
        stop.set()
        if thread.ident is not None:
            done.wait()
        raise
    if errors:
        raise errors[0]


def _ask(
    context: EnrichmentContext, generator: Generator, alike: dict[str, list[Question]], into: Enrichment, stop: Event
) -> None:
    """Ask the first of each list of equal questions, store the outcomes, and add them to `into` for all of the list."""
    asked = [same[0] for same in alike.values()]
    shown = [(q.key, q.prompt.instructions, q.prompt.message, q.prompt.parameters) for q in asked if q.prompt.message]
    # Before they are asked: another build may collect the answers of a batch.
    context.ledger.answers.put_questions(context.run, prompt.PROMPT_VERSION, shown)
    groups, hashes = generator.generate(asked, stop), context.catalog.hashes
    answers = NewAnswers(context, generator, into)
    unstored: Sequence[Outcome] = ()
    try:
        for unstored in groups:
            entries = [
                ledger_entry(
                    one,
                    generator,
                    key=alike[one.tool_id][0].key,
                    record_hash=hashes[one.tool_id],
                    prompt_version=prompt.PROMPT_VERSION,
                )
                for one in unstored
                if one.asked
            ]
            if entries:
                context.ledger.answers.put_entries(context.run, entries)
            stored, unstored = unstored, ()
            for outcome in stored:
                _add(into, alike[outcome.tool_id], generator, outcome)
                answers.add(outcome, alike[outcome.tool_id])
            answers.end_group()
        answers.end_group(at_end=True)
    except duckdb.Error as unwritable:  # nothing more is asked: it could not be stored either
        stop.set()
        lost = list(unstored)
        with suppress(RunAborted, duckdb.Error):
            for group in groups:
                lost += group
        raise _lost(lost, explained(unwritable, context.ledger.path)) from unwritable


def ledger_entry(
    outcome: Outcome, generator: Generator, *, key: str, record_hash: str, prompt_version: int
) -> dict[str, Any]:
    """Return a generator's outcome as the ledger stores it."""
    row = {
        "expansion_key": key,
        "record_hash": record_hash,
        "tool_id": outcome.tool_id,
        "generator": generator.name,
        "model": generator.model,
        "prompt_tokens": outcome.usage.prompt_tokens,
        "cached_tokens": outcome.usage.cached_tokens,
        "completion_tokens": outcome.usage.completion_tokens,
        "cost_usd": outcome.usage.cost_usd,
        "completion": storable(outcome.completion) or None,
    }
    if isinstance(outcome, GenerationFailure):
        return {**row, "kind": outcome.kind, "message": storable(outcome.message)}
    return {**row, "prompt_version": prompt_version, "expansion": canonical_json(outcome.expansion.to_json())}


def _add(into: Enrichment, alike: Sequence[Question], generator: Generator, outcome: Outcome) -> None:
    """Count an outcome in `into`, and add a failure for each of the questions that it leaves unanswered."""
    into.usage = into.usage + outcome.usage
    into.asked[generator.name] += outcome.asked
    if isinstance(outcome, GenerationFailure):
        others = (replace(outcome, tool_id=question.record.tool_id, usage=TokenUsage()) for question in alike[1:])
        into.failures += [outcome, *others]


def _lost(outcomes: Sequence[Outcome], reason: QuartermasterError) -> RunAborted:
    """Return the error of answers that were paid for and could not be stored."""
    costs = [outcome.usage.cost_usd for outcome in outcomes if outcome.asked]
    spent = "at an unknown price" if None in costs else f"for {sum(cost or 0 for cost in costs):.6f} US dollars"
    return RunAborted(
        f"{reason}. Of the model's answers, {len(costs):,} could not be stored and are asked again ({spent}); "
        "no further tool was asked about"
    )
