"""The generator that asks a chat model directly, with many requests in flight at once."""

import asyncio
import logging
import random
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from threading import Event

import openai

from pipeline.enrichment.generator import NEVER, UNASKED, UNREADABLE, GenerationFailure, Outcome, Question, TokenUsage
from pipeline.enrichment.openai.answers import OutputMode, read_answer
from pipeline.enrichment.openai.chat import (
    ABORTING,
    TRANSIENT,
    Completion,
    Fault,
    address,
    complete,
    connection,
    unusable,
)
from pipeline.enrichment.openai.model import OUTPUT_TOKENS, ModelGenerator
from pipeline.enrichment.openai.pace import Pace
from pipeline.errors import RunAborted, Unavailable
from pipeline.settings import EnrichmentSettings

_logger = logging.getLogger(__name__)

_MAX_UNPROVEN_IN_FLIGHT = 64  # before the first answer that can be used: all of them may be wasted money
_MAX_REFUSALS = 12  # pauses in a row, or 429s of one request
_MAX_UNANSWERED = 25  # requests in a row without an answer, retries spent: the server is down
_LONGEST_BACKOFF_S = 30.0
_LONGEST_RETRY_AFTER_S = 120.0  # a server that asks for more patience will not answer within this build
_GATHER_S = 0.2  # in which outcomes are gathered, to be stored together
_TICK_S = 0.2  # how often a wait looks whether to stop


class DirectGenerator(ModelGenerator):
    """Asks a chat model about each tool, with as many requests in flight as its limits allow.

    `answered` says whether the server ever gave an answer.
    """

    def __init__(self, settings: EnrichmentSettings, awaited: Collection[str] = ()) -> None:
        """Send nothing yet. `awaited` are the keys of questions in open batches: they are not paid for twice."""
        super().__init__(settings)
        self.pace = Pace(settings.requests_per_minute, settings.tokens_per_minute)
        self.answered = False
        self._awaited = awaited

    def generate(self, questions: Sequence[Question], stop: Event = NEVER) -> Iterator[Sequence[Outcome]]:
        """Yield outcomes as they come, so that none waits unstored behind a slow one.

        Nothing is sent while the caller stores a group: a kill loses no more answers than may be in flight. Raises
        RunAborted on a bad key, an unknown model, no server at all, or a quota that was spent before the first answer.
        """
        awaited = [question for question in questions if question.key in self._awaited]
        if awaited:
            message = "submitted in an earlier batch: build with --batch (enrichment.mode) to collect the answer"
            yield [GenerationFailure(question.record.tool_id, "waiting", message) for question in awaited]
        new = [question for question in questions if question.key not in self._awaited]
        if not new:
            return
        with asyncio.Runner() as runner:
            session = _Session(self, new, stop)
            try:
                while group := runner.run(session.next_group()):
                    yield group
            finally:
                runner.run(session.close())
        if session.aborted:
            raise session.aborted


@dataclass
class _Asking:
    """A question that is asked: the estimated tokens of its request, the money reserved, and what it took so far."""

    question: Question
    tokens: int
    reserved_usd: float
    usage: TokenUsage = field(default_factory=TokenUsage)


class _Session:
    """One run over some questions. `aborted` is the error that ended it, if any."""

    def __init__(self, generator: DirectGenerator, questions: Sequence[Question], stop: Event) -> None:
        self.aborted: RunAborted | None = None
        self._generator = generator
        self._settings, self._budget, self._pace = generator.settings, generator.budget, generator.pace
        self._remaining = deque(questions)
        self._stop = stop
        self._client = openai.AsyncOpenAI(**connection(generator.settings), max_retries=0)  # `_completion` retries
        self._tasks: set[asyncio.Task[Outcome | None]] = set()
        self._unanswered_in_a_row = 0
        self._jitter = random.Random(0)  # noqa: S311 - spreads retries
        self._ended: tuple[str, str] | None = None  # kind and message of the failures of all remaining questions

    async def close(self) -> None:
        """Give up what is in flight, and close the connections."""
        for task in self._tasks:
            task.cancel()
        await self._client.close()

    async def next_group(self) -> list[Outcome]:
        """Ask as many questions as may be in flight, and return outcomes that came; an empty list at the end.

        Nothing is sent while the caller stores them, so others are waited for as long as there is room for more.
        """
        if self._generator.given_up:  # perhaps by who checked the last group
            self._ended = (UNASKED, self._generator.given_up)
        group: list[Outcome] = []
        gathered_until = 0.0
        while True:
            while (wait_s := self._send_next(len(group))) <= 0:
                await asyncio.sleep(0)  # it is sent
            full, idle = wait_s == inf, not self._tasks
            if (full and idle) or (group and (full or idle or _now() >= gathered_until)):
                break
            wait_s = min(wait_s, _TICK_S)
            if idle:
                await asyncio.sleep(wait_s)
                continue
            done, self._tasks = await asyncio.wait(self._tasks, timeout=wait_s, return_when="FIRST_COMPLETED")
            gathered_until = gathered_until if group else _now() + _GATHER_S
            group += [outcome for task in done if (outcome := task.result()) is not None]
        if not group and self._ended and not self.aborted:
            group = [GenerationFailure(question.record.tool_id, *self._ended) for question in self._remaining]
            self._remaining.clear()
        return group

    def _is_over(self) -> bool:
        """Return whether nothing more is to be asked, and requests that wait for another attempt are given up."""
        return self._stop.is_set() or self.aborted is not None or self._ended is not None

    def _send_next(self, unstored: int) -> float:
        """Send the next question, and return 0; else the seconds until it may be sent, infinite if none is foreseen."""
        if not self._remaining or self._is_over() or len(self._tasks) + unstored >= self._max_in_flight():
            return inf
        if (wait_s := self._pace.wait_s(_now())) > 0:
            return wait_s
        question = self._remaining[0]
        reserved_usd = self._generator.highest_cost(question)
        if not self._budget.reserve(reserved_usd):
            if not self._tasks:
                self._ended = ("budget", self._budget.reason())
            return inf
        self._remaining.popleft()
        tokens = self._generator.prompt_tokens(question) + OUTPUT_TOKENS
        self._tasks.add(asyncio.create_task(self._answer(_Asking(question, tokens, reserved_usd))))
        return 0.0

    def _max_in_flight(self) -> int:
        generator = self._generator
        if self._budget.max_cost_usd is not None and not generator.answered:
            return 1  # the first answer shows what answers cost
        if self._settings.concurrency is not None:
            return self._settings.concurrency
        limit = self._pace.max_in_flight()
        return limit if generator.proven else min(limit, _MAX_UNPROVEN_IN_FLIGHT)

    async def _answer(self, asking: _Asking) -> Outcome | None:
        """Return the outcome of a question; None where the session is aborted before any answer.

        Where the answer is unreadable, it is asked once more, in the next output mode. Both are paid for: one more
        question may help; three wrong answers would be the tool's or the model's nature.
        """
        generator = self._generator
        try:
            outcome = await self._ask(asking, generator.output_mode)
            again = isinstance(outcome, GenerationFailure) and outcome.kind in UNREADABLE and not self._is_over()
            if again and self._extend(asking, generator.highest_cost(asking.question)):
                second = await self._ask(asking, generator.output_mode.fallback, again=True)
                is_stopped = isinstance(second, GenerationFailure) and second.kind in TRANSIENT and self._is_over()
                outcome = replace(outcome, usage=asking.usage) if is_stopped else second
        except Fault as fault:  # that every other request would meet
            if fault.kind != "quota" or not generator.answered:
                self.aborted = self.aborted or unusable(self._settings.model, self._client, fault.message)
                return None
            self._ended = (UNASKED, f"not asked: {fault.message}")
            return self._failure(asking, "quota", fault.message)
        finally:
            usage = asking.usage
            spent_usd = None if usage.cost_usd is None else usage.cost_usd + usage.unconfirmed_usd
            self._budget.settle(asking.reserved_usd, spent_usd)
        self._note(outcome)
        return outcome if self.aborted is None or generator.answered else None

    async def _ask(self, asking: _Asking, mode: OutputMode, *, again: bool = False) -> Outcome:
        """Return the outcome of one completion. Raises Fault where every other request would meet the same fault."""
        try:
            completion = await self._completion(asking, mode, Fault("connection", "not asked again") if again else None)
        except ValueError as error:  # a 200 that holds no completion
            return self._failure(asking, "shape", str(error))
        except Fault as fault:
            if fault.kind in ABORTING:
                raise
            return self._failure(asking, fault.failure_kind, fault.message)
        asking.usage += self._generator.usage(completion, asking.question)
        return read_answer(completion, asking.question, asking.usage)

    async def _completion(self, asking: _Asking, mode: OutputMode, latest: Fault | None) -> Completion:
        """Return a completion, after as many attempts as the faults deserve.

        A transient fault is met by another attempt after a wait, a 429 by a pause of all requests, a refused format by
        the next output mode. Raises Fault (`latest`, once the session is over), ValueError for a 200 without one.
        """
        faults = refusals = 0
        not_before = 0.0
        while True:
            while (wait_s := max(self._pace.wait_s(_now()), not_before - _now())) > 0 and not self._is_over():
                await asyncio.sleep(min(wait_s, _TICK_S))
            if latest is not None and self._is_over():
                raise latest
            sent_at = _now()
            self._pace.sent(sent_at, asking.tokens)
            try:
                body = self._generator.body(asking.question, mode)
                completion = await complete(self._client, body, self._settings.timeout_s)
            except Fault as fault:
                latest = fault
            else:
                usage = completion.usage
                used = usage.prompt_tokens + usage.completion_tokens if usage else asking.tokens
                self._pace.answered(sent_at, _now(), completion.headers, asking.tokens, used)
                return completion
            # By estimate: half of what was reserved, whether or not the server went on to the end.
            lost_usd = self._generator.highest_cost(asking.question) / 2 if latest.billed else 0.0
            asking.usage += TokenUsage(unconfirmed_usd=lost_usd)
            if latest.kind == "format" and mode != mode.fallback:
                mode = mode.fallback
                self._generator.output_mode = max(self._generator.output_mode, mode)
            elif latest.kind == "rate":
                refusals += 1
                self._pace.refused(sent_at, _now(), latest.retry_after_s)
                if self._pace.refusals >= _MAX_REFUSALS or (latest.retry_after_s or 0.0) > _LONGEST_RETRY_AFTER_S:
                    raise latest  # the limit is spent
                if refusals >= _MAX_REFUSALS:  # it has never room for this request, while others pass
                    raise Fault("refused", latest.message)
                _log_retry(latest, "rate_limited", latest.retry_after_s or 0.0)
            elif (
                latest.kind not in TRANSIENT
                or faults >= self._settings.max_retries
                or not self._extend(asking, lost_usd)
            ):
                raise latest
            else:
                delay_s = min(self._settings.retry_delay_s * 2.0**faults, _LONGEST_BACKOFF_S)
                delay_s *= 0.5 + self._jitter.random()
                delay_s = min(latest.retry_after_s or delay_s, _LONGEST_RETRY_AFTER_S)
                not_before = _now() + delay_s
                faults += 1
                _log_retry(latest, "retry", delay_s)

    def _extend(self, asking: _Asking, cost_usd: float) -> bool:
        """Reserve more money for the same question. Return whether it fits."""
        fits = self._budget.reserve(cost_usd, new_tool=False)
        asking.reserved_usd += cost_usd if fits else 0.0
        return fits

    def _failure(self, asking: _Asking, kind: str, message: str) -> GenerationFailure:
        return GenerationFailure(asking.question.record.tool_id, kind, message, asking.usage)

    def _note(self, outcome: Outcome) -> None:
        """End the session where the server's limit is used up, it answers nobody, or its answers are of no use."""
        generator = self._generator
        generator.count(outcome)
        if generator.given_up:
            self._ended = (UNASKED, generator.given_up)
        if isinstance(outcome, GenerationFailure) and outcome.kind == "rate":
            self._ended = (UNASKED, f"not asked: the server's limit is used up: {outcome.message}")
        if not isinstance(outcome, GenerationFailure) or outcome.kind not in ("connection", "timeout", "server"):
            generator.answered = True
            self._unanswered_in_a_row = 0
            return
        self._pace.unanswered()
        self._unanswered_in_a_row += 1
        if outcome.kind == "connection" and not generator.answered:
            self.aborted = self.aborted or Unavailable(
                f"no answer from {address(self._client)}: {outcome.message}. "
                "Check enrichment.base_url, or build with --generator none"
            )
        elif self._unanswered_in_a_row >= _MAX_UNANSWERED:
            message = f"{self._unanswered_in_a_row} requests in a row were not answered: {outcome.message}"
            self._ended = (UNASKED, f"not asked: {message}")


def _now() -> float:
    return asyncio.get_running_loop().time()


def _log_retry(fault: Fault, event: str, wait_s: float) -> None:
    fields = {"event": event, "wait_s": round(wait_s, 3)}
    _logger.info("asked again after a fault (%s): %s", fault.kind, fault.message, extra=fields)
