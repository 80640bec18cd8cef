"""One run over some questions: an event loop in a thread of its own sends them, the build's thread takes the outcomes.

A request counts as in flight until its outcome is committed, so a kill loses at most that many answers.
"""

import asyncio
import queue
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import openai

from pipeline.enrichment.budget import Reservation
from pipeline.enrichment.generator import UNASKED, GenerationFailure, Outcome, Question, TokenUsage
from pipeline.enrichment.openai.chat import address, connection, unusable
from pipeline.enrichment.openai.direct.client import DirectClient, DirectContext
from pipeline.enrichment.openai.faults import Fault
from pipeline.errors import Unavailable

_LEAST_IN_FLIGHT = 8
_MAX_IN_FLIGHT = 512
_MAX_UNPROVEN_IN_FLIGHT = 64  # before the first answer that can be used: all of them may be paid for in vain
_TICK_S = 0.2  # a wait in C hears no interruption of another thread
_LOOP_TURNS = 6  # of the event loop that a request takes: connection, request, headers, body, end
_LAG_EVERY_S = 0.05
_LAG_WEIGHT = 0.2  # of the newest lag in the moving mean
_MAX_UNANSWERED = 25  # requests in a row without an answer, retries spent: the server is down


@dataclass(frozen=True, slots=True)
class _Admission:
    """Leave to send a request: its reserved money, when the limiter admitted it and for how many tokens."""

    reservation: Reservation
    admitted_at: float
    tokens: int


class DirectSession:
    """One run of an event loop over some questions. `aborted` is the error that ended it, if any."""

    def __init__(self, context: DirectContext, questions: Sequence[Question]) -> None:
        self.aborted: BaseException | None = None
        self._context = context
        self._server = context.server
        self._remaining = deque(questions)
        self._uncommitted: list[Outcome] = []  # an interruption may come between any two steps: kept until committed
        self._started = self._finished = False
        self._news: queue.SimpleQueue[None] = queue.SimpleQueue()  # wakes `_wait`
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._requests_by_tool: dict[str, int] = {}  # the number of the request in flight about a tool
        self._unanswered_in_a_row = 0
        self._lag_s = 0.0
        self._first_sent_at: float | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._place = asyncio.Event()  # set whenever fewer requests may be in flight
        # Kind and message of the failures of all remaining questions.
        self._ended = (UNASKED, self._server.breaker.reason) if self._server.breaker.reason else None

    def run(self) -> None:
        """Ask everything that can be asked. This is the thread's work."""
        self._started = True
        try:
            asyncio.run(self._ask_all())
        except BaseException as error:  # noqa: BLE001 - raised again in the build's thread
            self.aborted = self.aborted or error
        finally:
            self._finished = True
            self._news.put(None)

    def groups(self) -> Iterator[list[Outcome]]:
        """Yield outcomes as they come, and once more where the next group is not requested: they may be lost."""
        while group := self._wait():
            yield group
            self.committed(group)

    def _wait(self) -> list[Outcome]:
        """Wait for outcomes that are not committed, and return all that are there; an empty list at the end."""
        while True:
            # Read first: nothing comes after it.
            finished = self._finished or (self._stop.is_set() and not self._started)
            if (group := list(self._uncommitted)) or finished:
                return group
            with suppress(queue.Empty):
                self._news.get(timeout=_TICK_S)

    def committed(self, group: Sequence[Outcome]) -> None:
        """Forget these outcomes, the oldest that are there, and count their requests as in flight no longer."""
        del self._uncommitted[: len(group)]
        with self._lock:
            for outcome in group:
                self._requests_by_tool.pop(outcome.tool_id, None)
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended meanwhile
                self._loop.call_soon_threadsafe(self._place.set)

    def _put(self, outcome: Outcome) -> None:
        self._uncommitted.append(outcome)
        self._news.put(None)

    def stop(self) -> None:
        """Ask no more. Requests in flight are waited for."""
        self._stop.set()

    async def _ask_all(self) -> None:
        self._loop = asyncio.get_running_loop()
        async with openai.AsyncOpenAI(**connection(self._context.settings)) as openai_client:
            client = DirectClient(self._context, openai_client, self._gives_up)
            lag_watch = asyncio.create_task(self._watch_lag())
            tasks: set[asyncio.Task[None]] = set()
            number = 0
            while self._remaining and not self._is_over():
                await self._wait_for_place()
                pack = self._next_pack()
                admission = await self._admit(pack, tasks)
                if admission is None:
                    self._remaining.extendleft(reversed(pack))
                    break
                number += 1
                with self._lock:
                    self._requests_by_tool.update(dict.fromkeys((q.record.tool_id for q in pack), number))
                task = asyncio.create_task(self._answer(client, openai_client, pack, admission))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
            while tasks:
                await asyncio.gather(*tasks)
            lag_watch.cancel()
            if self._ended and not self.aborted:
                for question in self._remaining:
                    self._put(GenerationFailure(question.record.tool_id, *self._ended))

    def _is_over(self) -> bool:
        return self._stop.is_set() or self.aborted is not None or self._ended is not None

    def _gives_up(self) -> bool:
        """Tell whether requests that wait for another attempt are to be given up."""
        return self._stop.is_set() or (self._ended is not None and self._ended[0] == UNASKED)

    def _next_pack(self) -> list[Question]:
        """Remove and return the next question; or the next few, where none has siblings and their names differ."""
        settings, tools_left = self._context.settings, self._context.budget.tools_left
        size = settings.tools_per_request
        if tools_left is not None:
            size = max(1, min(size, tools_left))
        remaining = self._remaining
        pack = [remaining.popleft()]
        names = {pack[0].record.name}
        while len(pack) < size and remaining and not (pack[0].siblings or remaining[0].siblings):
            if remaining[0].record.name in names:
                break
            pack.append(remaining.popleft())
            names.add(pack[-1].record.name)
        return pack

    async def _wait_for_place(self) -> None:
        """Wait until one more request may be in flight."""
        while not self._is_over():
            self._place.clear()
            with self._lock:
                in_flight = len(set(self._requests_by_tool.values()))
            if in_flight < self._max_in_flight():
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(_TICK_S):
                    await self._place.wait()

    def _max_in_flight(self) -> int:
        settings, server = self._context.settings, self._server
        if self._context.budget.max_cost_usd is not None and not server.answered:
            return 1  # the first answer tells what answers cost
        if settings.concurrency is not None:
            return settings.concurrency
        rate = self._context.limiter.requests_per_second(server.request_tokens)
        # Half as many again as the rate keeps busy: answers take unequal times.
        limit = server.in_flight.limit if rate is None else _LEAST_IN_FLIGHT + round(1.5 * rate * self._latency_s())
        return min(limit, _MAX_IN_FLIGHT if server.breaker.proven else _MAX_UNPROVEN_IN_FLIGHT)

    def _latency_s(self) -> float:
        """Return the answers' mean latency; before the first, how long it is waited for."""
        if not self._server.latency_s:
            return 0.0 if self._first_sent_at is None else asyncio.get_running_loop().time() - self._first_sent_at
        # Answers that only wait for this process to read them are left out: on a busy machine their number would grow
        # without need, and a kill would lose them.
        return max(0.0, self._server.latency_s - _LOOP_TURNS * self._lag_s)

    async def _watch_lag(self) -> None:
        """Measure how late this event loop is, as a moving mean."""
        now = asyncio.get_running_loop().time
        while True:
            started = now()
            await asyncio.sleep(_LAG_EVERY_S)
            self._lag_s += _LAG_WEIGHT * (now() - started - _LAG_EVERY_S - self._lag_s)

    async def _admit(self, pack: Sequence[Question], tasks: set[asyncio.Task[None]]) -> _Admission | None:
        """Wait for money and for the limiter; None where the session is over, or the budget has nothing left."""
        reservation = await self._reserve(pack, tasks)
        if reservation is None:
            return None
        tokens = self._context.requests.total_tokens(pack)
        self._server.request_tokens = tokens
        admitted_at = await self._context.limiter.admit(tokens, self._is_over)
        if self._is_over():
            reservation.settle(0.0)
            return None
        if self._first_sent_at is None:
            self._first_sent_at = asyncio.get_running_loop().time()
        return _Admission(reservation, admitted_at, tokens)

    async def _reserve(self, pack: Sequence[Question], tasks: set[asyncio.Task[None]]) -> Reservation | None:
        """Reserve the highest cost of a request; where the budget has nothing left, end the session."""
        budget = self._context.budget
        cost_usd = self._context.requests.highest_cost(pack)
        while (reservation := budget.reserve(cost_usd, len(pack))) is None:
            if not (budget.has_open_reservations and tasks):
                self._ended = ("budget", budget.reason())
                return None
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return reservation

    async def _answer(
        self, client: DirectClient, openai_client: openai.AsyncOpenAI, pack: Sequence[Question], admission: _Admission
    ) -> None:
        """Put the outcomes of a request, or note why the session is over."""
        cost_usd = None
        try:
            outcomes = await client.outcomes(pack, admission.reservation, admission.admitted_at, admission.tokens)
            usage = sum((outcome.usage for outcome in outcomes), TokenUsage())
            cost_usd = None if usage.cost_usd is None else usage.cost_usd + usage.unconfirmed_usd
        except Fault as fault:
            cost_usd = fault.lost_usd
            self._note_fault(fault, pack, openai_client)
            return
        except asyncio.CancelledError:  # the loop ends by an error of its own
            raise
        except BaseException as error:  # noqa: BLE001 - raised again in the build's thread
            self.aborted = self.aborted or error
            return
        finally:
            admission.reservation.settle(cost_usd)
        self._note_outcomes(outcomes, openai_client)
        if self.aborted is None or self._server.answered:
            for outcome in outcomes:
                self._put(outcome)

    def _note_outcomes(self, outcomes: Sequence[Outcome], openai_client: openai.AsyncOpenAI) -> None:
        """End the session where the server's limit is used up, it answers nobody, or its answers are of no use."""
        breaker = self._server.breaker
        breaker.note(outcomes)
        if breaker.reason:
            self._ended = (UNASKED, breaker.reason)
        failures = [outcome for outcome in outcomes if isinstance(outcome, GenerationFailure)]
        limited = next((failure for failure in failures if failure.kind == "rate"), None)
        if limited is not None:
            self._ended = (UNASKED, f"not asked: the server's limit is used up: {limited.message}")
        unanswered = [failure for failure in failures if failure.kind in ("connection", "timeout", "server")]
        if unanswered:
            self._server.in_flight.stop()
        else:
            self._server.answered = True
            self._unanswered_in_a_row = 0
            return
        self._unanswered_in_a_row += 1
        kind, message = unanswered[0].kind, unanswered[0].message
        if kind == "connection" and not self._server.answered:
            self.aborted = self.aborted or Unavailable(
                f"no answer from {address(openai_client)}: {message}. "
                "Check enrichment.base_url, or build with --generator lexicon"
            )
        elif self._unanswered_in_a_row >= _MAX_UNANSWERED:
            message = f"not asked: {self._unanswered_in_a_row} requests in a row were not answered: {message}"
            self._ended = (UNASKED, message)

    def _note_fault(self, fault: Fault, pack: Sequence[Question], openai_client: openai.AsyncOpenAI) -> None:
        """End the session: every other request would meet the same fault."""
        if fault.kind == "quota" and self._server.answered:
            self._ended = (UNASKED, f"not asked: {fault.message}")
            for question in pack:
                self._put(GenerationFailure(question.record.tool_id, "quota", fault.message))
            return
        self.aborted = self.aborted or unusable(self._context.settings.model, openai_client, fault.message)
