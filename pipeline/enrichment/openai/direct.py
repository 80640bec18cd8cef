"""The generator that asks a chat model directly, with many requests in flight at once."""

import asyncio
import logging
import random
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from threading import Event

import openai

from pipeline.enrichment.budget import Budget, Reservation
from pipeline.enrichment.generator import NEVER, UNASKED, GenerationFailure, Outcome, Question, TokenUsage
from pipeline.enrichment.openai.answers import UNREADABLE, OutputMode, read_answer
from pipeline.enrichment.openai.chat import Completion, address, complete, connection, unusable
from pipeline.enrichment.openai.faults import ABORTING, TRANSIENT, Fault
from pipeline.enrichment.openai.pace import InFlight, Pace
from pipeline.enrichment.openai.requests import OUTPUT_TOKENS, ModelGenerator
from pipeline.errors import Unavailable
from pipeline.settings import EnrichmentSettings

_logger = logging.getLogger(__name__)

_MAX_IN_FLIGHT = 512
_MAX_UNPROVEN_IN_FLIGHT = 64  # before the first answer that can be used: all of them may be paid for in vain
_MAX_REFUSALS = 12  # pauses in a row, or 429s of one request
_MAX_UNANSWERED = 25  # requests in a row without an answer, retries spent: the server is down
_LONGEST_BACKOFF_S = 30.0
_LONGEST_RETRY_AFTER_S = 120.0  # a server that asks for more patience will not answer within this build
_GATHER_S = 0.2  # in which outcomes are gathered, to be stored together
_TICK_S = 0.2  # how often a wait looks whether to stop


class DirectGenerator(ModelGenerator):
    """Asks a chat model about each tool, with as many requests in flight as its limits allow.

    `answered` tells whether the server ever gave an answer.
    """

    def __init__(
        self, settings: EnrichmentSettings, budget: Budget | None = None, awaited: Collection[str] = ()
    ) -> None:
        """Send nothing yet. `awaited` are the keys of questions in open batches: they are not paid for twice."""
        super().__init__(settings, budget)
        self.pace = Pace(settings.requests_per_minute, settings.tokens_per_minute)
        self.in_flight = InFlight()
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
            runner.run(session.start())
            while group := runner.run(session.next_group()):
                yield group
            if session.aborted:
                raise session.aborted


@dataclass
class _Asking:
    """A question that is asked: its reserved money, the tokens and the moment of its admission, what it consumed."""

    question: Question
    reservation: Reservation
    tokens: int
    sent_at: float | None
    usage: TokenUsage = field(default_factory=TokenUsage)


class _Session:
    """One run over some questions. `aborted` is the error that ended it, if any."""

    def __init__(self, generator: DirectGenerator, questions: Sequence[Question], stop: Event) -> None:
        self.aborted: BaseException | None = None
        self._generator = generator
        self._settings, self._requests, self._pace = generator.settings, generator.requests, generator.pace
        self._remaining = deque(questions)
        self._stop = stop
        self._client = openai.AsyncOpenAI(**connection(generator.settings), max_retries=0)  # `_completion` retries
        self._tasks: set[asyncio.Task[None]] = set()
        self._outcomes: list[Outcome] = []
        self._news, self._finished = asyncio.Event(), False  # news: outcomes, or the end
        self._full = asyncio.Event()  # no further request may be in flight
        self._freed = asyncio.Event()  # one more may be, or there is money again
        self._unanswered_in_a_row = 0
        self._jitter = random.Random(0)  # noqa: S311 - spreads retries
        # Kind and message of the failures of all remaining questions.
        self._ended = (UNASKED, generator.breaker.reason) if generator.breaker.reason else None

    async def start(self) -> None:
        """Begin to ask, whenever the event loop runs."""
        self._feeding = asyncio.create_task(self._ask_all())

    async def next_group(self) -> list[Outcome]:
        """Wait for outcomes and return all that are there; an empty list at the end.

        Nothing is sent while the caller stores them, so others are waited for as long as there is room for more.
        """
        await self._news.wait()
        with suppress(TimeoutError):
            async with asyncio.timeout(_GATHER_S):
                await self._full.wait()
        group, self._outcomes = self._outcomes, []
        self._freed.set()
        if not self._finished:
            self._news.clear()
        return group

    def _put(self, outcome: Outcome) -> None:
        self._outcomes.append(outcome)
        self._news.set()

    def _is_over(self) -> bool:
        """Tell whether nothing more is to be asked, and requests that wait for another attempt are given up."""
        return self._stop.is_set() or self.aborted is not None or self._ended is not None

    async def _ask_all(self) -> None:
        try:
            async with self._client:
                while self._remaining and not self._is_over():
                    await self._send_next()
                self._full.set()
                while self._tasks:
                    await asyncio.gather(*self._tasks)
        except BaseException as error:  # noqa: BLE001 - raised again by the generator
            self.aborted = self.aborted or error
        finally:
            if self._ended and not self.aborted:
                self._outcomes += [GenerationFailure(q.record.tool_id, *self._ended) for q in self._remaining]
            self._finished = True
            self._news.set()
            self._full.set()

    async def _send_next(self) -> None:
        """Send the next question, or wait until there is room, money and leave for it."""
        question, budget = self._remaining[0], self._generator.budget
        fits = len(self._tasks) + len(self._outcomes) < self._max_in_flight()
        reservation = budget.reserve(self._requests.highest_cost(question)) if fits else None
        if reservation is None:
            self._full.set()
            if fits and not self._tasks:
                self._ended = ("budget", budget.reason())
            else:
                self._freed.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(_TICK_S):
                        await self._freed.wait()
            return
        tokens = self._requests.prompt_tokens(question) + OUTPUT_TOKENS
        sent_at = await self._pace.admit(tokens, self._is_over)
        if self._is_over():
            reservation.settle(0.0)
            return
        self._remaining.popleft()
        self._full.clear()
        task = asyncio.create_task(self._answer(_Asking(question, reservation, tokens, sent_at)))
        self._tasks.add(task)
        task.add_done_callback(self._free)

    def _free(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._freed.set()

    def _max_in_flight(self) -> int:
        generator = self._generator
        if generator.budget.max_cost_usd is not None and not generator.answered:
            return 1  # the first answer tells what answers cost
        if self._settings.concurrency is not None:
            return self._settings.concurrency
        # A rate bounds the requests in flight by itself.
        known = self._pace.requests_per_second(asyncio.get_running_loop().time()) is not None
        limit = _MAX_IN_FLIGHT if known else generator.in_flight.limit
        return limit if generator.breaker.proven else min(limit, _MAX_UNPROVEN_IN_FLIGHT)

    async def _answer(self, asking: _Asking) -> None:
        """Put the outcome of a question, or note why the session is over."""
        try:
            outcome = await self._outcome(asking)
        except asyncio.CancelledError:  # the loop ends by an error of its own
            raise
        except Fault as fault:
            self._note_fault(fault, asking)
        except BaseException as error:  # noqa: BLE001 - raised again by the generator
            self.aborted = self.aborted or error
        else:
            self._note_outcome(outcome)
            if self.aborted is None or self._generator.answered:
                self._put(outcome)
        finally:
            usage = asking.usage
            asking.reservation.settle(None if usage.cost_usd is None else usage.cost_usd + usage.unconfirmed_usd)

    async def _outcome(self, asking: _Asking) -> Outcome:
        """Ask a question, and once more where its answer is unreadable, in the next output mode.

        Both are paid for. One more question may help; three wrong answers would be the tool's or the model's nature.

        Raises Fault where every other request would meet the same fault.
        """
        question = asking.question
        tool_id = question.record.tool_id
        outcome: Outcome | None = None
        while True:
            mode = self._generator.output_mode if outcome is None else self._generator.output_mode.fallback
            try:
                completion = await self._completion(asking, mode)
            except ValueError as error:  # a 200 that holds no completion
                answered: Outcome = GenerationFailure(tool_id, "shape", str(error), asking.usage)
            except Fault as fault:
                if fault.kind in ABORTING:
                    raise
                if outcome is not None and self._is_over():  # what is known of the first answer stays
                    return replace(outcome, usage=asking.usage)
                return GenerationFailure(tool_id, fault.failure_kind, fault.message, asking.usage)
            else:
                self._requests.learn(question, completion)
                asking.usage += self._requests.usage(completion)
                answered = read_answer(completion, question, asking.usage)
            is_unreadable = isinstance(answered, GenerationFailure) and answered.kind in UNREADABLE
            if outcome is not None or not is_unreadable or self._is_over():
                return answered
            if not asking.reservation.extend(self._requests.highest_cost(question)):
                return answered
            outcome = answered

    async def _completion(self, asking: _Asking, mode: OutputMode) -> Completion:
        """Return a completion, after as many attempts as the faults deserve.

        A transient fault is met by another attempt after a wait, a 429 by a pause of all requests, a refused format by
        the next output mode. Raises Fault, or ValueError where a 200 holds no completion.
        """
        faults = refusals = 0
        latest = Fault("connection", "interrupted before it was asked a second time")
        while True:
            sent_at, asking.sent_at = asking.sent_at, None
            if sent_at is None:
                sent_at = await self._pace.admit(asking.tokens, self._is_over)
                if self._is_over():
                    raise latest
            try:
                return await self._send(asking, mode, sent_at)
            except Fault as fault:
                latest = fault
            # By estimate: half of what was reserved, whether or not the server went on to the end.
            lost_usd = self._requests.highest_cost(asking.question) / 2 if latest.billed else 0.0
            asking.usage += TokenUsage(unconfirmed_usd=lost_usd)
            if latest.kind == "format" and mode.has_fallback:
                mode = mode.fallback
                self._generator.output_mode = max(self._generator.output_mode, mode)
            elif latest.kind == "rate":
                refusals += 1
                self._pace.refused(sent_at, latest.retry_after_s)
                self._check_refusals(refusals, latest)
            elif (
                latest.kind not in TRANSIENT
                or faults >= self._settings.max_retries
                or not asking.reservation.extend(lost_usd)
            ):
                raise latest
            else:
                await self._back_off(faults, latest)
                faults += 1
            if self._is_over():
                raise latest

    async def _send(self, asking: _Asking, mode: OutputMode, sent_at: float) -> Completion:
        body = self._requests.body(asking.question, mode)
        completion = await complete(self._client, body, self._settings.timeout_s)
        self._generator.in_flight.answered(sent_at, asyncio.get_running_loop().time())
        counted = completion.prompt_tokens is not None and completion.completion_tokens is not None
        used = (completion.prompt_tokens or 0) + (completion.completion_tokens or 0) if counted else asking.tokens
        self._pace.answered(completion.headers, asking.tokens, used)
        return completion

    def _check_refusals(self, refusals: int, fault: Fault) -> None:
        """Raise the fault where waiting is of no use: the limit is spent, or has never room for this request."""
        if self._pace.refusals >= _MAX_REFUSALS or (fault.retry_after_s or 0.0) > _LONGEST_RETRY_AFTER_S:
            raise fault
        if refusals >= _MAX_REFUSALS:  # while others pass
            raise Fault("refused", fault.message)
        _log_retry(fault, "rate_limited", fault.retry_after_s or 0.0)

    async def _back_off(self, faults: int, fault: Fault) -> None:
        """Wait as long as the server dictates; else about twice as long each time, so that retries spread out."""
        if fault.retry_after_s:
            delay_s = min(fault.retry_after_s, _LONGEST_RETRY_AFTER_S)
        else:
            delay_s = min(self._settings.retry_delay_s * 2.0**faults, _LONGEST_BACKOFF_S)
            delay_s *= 0.5 + self._jitter.random()
        _log_retry(fault, "retry", delay_s)
        clock = asyncio.get_running_loop().time
        until = clock() + delay_s
        while (remaining := until - clock()) > 0 and not self._is_over():
            await asyncio.sleep(min(remaining, _TICK_S))

    def _note_outcome(self, outcome: Outcome) -> None:
        """End the session where the server's limit is used up, it answers nobody, or its answers are of no use."""
        generator = self._generator
        generator.breaker.note([outcome])
        if generator.breaker.reason:
            self._ended = (UNASKED, generator.breaker.reason)
        kind, message = (outcome.kind, outcome.message) if isinstance(outcome, GenerationFailure) else ("", "")
        if kind == "rate":
            self._ended = (UNASKED, f"not asked: the server's limit is used up: {message}")
        if kind not in ("connection", "timeout", "server"):
            generator.answered = True
            self._unanswered_in_a_row = 0
            return
        generator.in_flight.stop()
        self._unanswered_in_a_row += 1
        if kind == "connection" and not generator.answered:
            self.aborted = self.aborted or Unavailable(
                f"no answer from {address(self._client)}: {message}. "
                "Check enrichment.base_url, or build with --generator lexicon"
            )
        elif self._unanswered_in_a_row >= _MAX_UNANSWERED:
            message = f"not asked: {self._unanswered_in_a_row} requests in a row were not answered: {message}"
            self._ended = (UNASKED, message)

    def _note_fault(self, fault: Fault, asking: _Asking) -> None:
        """End the session: every other request would meet the same fault."""
        if fault.kind == "quota" and self._generator.answered:
            self._ended = (UNASKED, f"not asked: {fault.message}")
            tool_id = asking.question.record.tool_id
            self._put(GenerationFailure(tool_id, "quota", fault.message, asking.usage))
            return
        self.aborted = self.aborted or unusable(self._settings.model, self._client, fault.message)


def _log_retry(fault: Fault, event: str, wait_s: float) -> None:
    fields = {"event": event, "wait_s": round(wait_s, 3)}
    _logger.info("asked again after a fault (%s): %s", fault.kind, fault.message, extra=fields)
