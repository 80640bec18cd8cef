"""Questions asked at once: an event loop in a thread of its own sends them, the build's thread takes the outcomes.

A place under way is free again only when the outcome is committed, so a kill loses at most that many answers.
"""

import asyncio
import queue
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence

import openai

from pipeline.enrichment.budget import Allowance, Budget
from pipeline.enrichment.generator import UNASKED, GenerationFailure, Outcome, Question, TokenUsage
from pipeline.enrichment.openai.client import Fault, address, connection, unusable
from pipeline.enrichment.openai.exchange import Exchange
from pipeline.enrichment.openai.limits import Limiter
from pipeline.enrichment.openai.requests import Requests
from pipeline.errors import Unavailable
from pipeline.settings import EnrichmentSettings

_UNPACED = 8  # under way at once where no limit is known: a local server queues what it cannot do
_MOST = 512
_TICK_S = 0.2  # a wait in C hears no interruption of another thread
_TURNS = 6  # of the event loop that a request takes: connection, request, headers, body, end
_LAG_EVERY_S = 0.05
_GIVE_UP = 25  # requests in a row without an answer, retries spent: the server is down


class Asking:
    """Asks questions of one server. What it learns of the server lasts from one stretch of questions to the next."""

    def __init__(self, settings: EnrichmentSettings, requests: Requests, limiter: Limiter, budget: Budget) -> None:
        self.settings = settings
        self.requests = requests
        self.limiter = limiter
        self.budget = budget
        self.answered = False
        self.latency_s = 0.0
        self.tokens = 2_000  # of a request, the last that was sent
        self.rung = 0

    def ask(self, questions: Sequence[Question]) -> Iterator[Sequence[Outcome]]:
        """Outcomes in groups, each committed by whoever takes it before the next is asked for."""
        stretch = _Stretch(self, questions)
        thread = threading.Thread(target=stretch.run, name="enrichment", daemon=True)
        thread.start()
        interrupted: BaseException | None = None
        try:
            while True:
                try:
                    group = stretch.take()
                    if not group:
                        break
                    yield group
                    stretch.committed(group)
                except GeneratorExit:  # nobody takes any more
                    raise
                except BaseException as error:  # a time-out, Ctrl-C: what is under way is paid for
                    if interrupted is not None:
                        raise
                    interrupted = error
                    stretch.stop()
        finally:
            stretch.stop()
        thread.join()
        if interrupted or stretch.aborted:
            raise interrupted or stretch.aborted or AssertionError


class _Stretch:
    """One run of the event loop over some questions."""

    def __init__(self, asking: Asking, questions: Sequence[Question]) -> None:
        self.aborted: BaseException | None = None
        self._asking = asking
        self._questions = questions
        self._outcomes: queue.SimpleQueue[Outcome | None] = queue.SimpleQueue()
        self._taken: list[Outcome] = []  # kept from one call of `take` to the next, where the first is interrupted
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._requests: dict[str, int] = {}  # by tool, the request that is under way about it
        self._silent = 0
        self._lag_s = 0.0
        self._ended: tuple[str, str] | None = None

    def run(self) -> None:
        """The thread's work: all that can be asked is asked, then None ends the outcomes."""
        try:
            asyncio.run(self._ask_all())
        except BaseException as error:  # noqa: BLE001 - raised again in the build's thread
            self.aborted = self.aborted or error
        finally:
            self._outcomes.put(None)

    def take(self) -> list[Outcome]:
        """All outcomes that are there, at least one; none at the end."""
        while True:
            try:
                outcome = self._outcomes.get_nowait() if self._taken else self._outcomes.get(timeout=_TICK_S)
            except queue.Empty:
                if self._taken:
                    break
                continue
            if outcome is None:
                if self._taken:
                    self._outcomes.put(None)
                break
            self._taken.append(outcome)
        group, self._taken = self._taken, []
        return group

    def committed(self, group: Sequence[Outcome]) -> None:
        """These outcomes are kept: their places are free."""
        with self._lock:
            for outcome in group:
                self._requests.pop(outcome.tool_id, None)

    def stop(self) -> None:
        """Ask no more; what is under way is waited for."""
        self._stop.set()

    async def _ask_all(self) -> None:
        asking = self._asking
        tasks: set[asyncio.Task[None]] = set()
        left = deque(self._questions)
        number = 0
        async with openai.AsyncOpenAI(**connection(asking.settings)) as client:
            exchange = Exchange(asking.settings, asking.requests, asking.limiter, client, self._stop)
            exchange.rung = asking.rung
            watch = asyncio.create_task(self._watch_lag())
            while left and not self._over():
                await self._place()
                most = asking.budget.tools_left
                size = asking.settings.tools_per_request
                pack = _pack(left, size if most is None else max(1, min(size, most)))
                allowance = await self._allowance(pack, tasks)
                if allowance is None:
                    left.extendleft(reversed(pack))
                    break
                tokens = asking.requests.tokens(pack)
                asking.tokens = tokens
                sent_at = await asking.limiter.admit(tokens, self._over)
                if self._over():
                    allowance.settle(0.0)
                    left.extendleft(reversed(pack))
                    break
                number += 1
                with self._lock:
                    self._requests.update(dict.fromkeys((q.record.tool_id for q in pack), number))
                task = asyncio.create_task(self._one(exchange, pack, allowance, sent_at, tokens))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
            while tasks:
                await asyncio.gather(*tasks)
            watch.cancel()
            asking.rung = exchange.rung
            if self._ended and not self.aborted:
                for question in left:
                    self._outcomes.put(GenerationFailure(question.record.tool_id, *self._ended))

    def _over(self) -> bool:
        return self._stop.is_set() or self.aborted is not None or self._ended is not None

    async def _place(self) -> None:
        """Wait until one more may be under way."""
        while True:
            with self._lock:
                under_way = len(set(self._requests.values()))
            if under_way < self._allowed():
                return
            if self._over():
                return
            await asyncio.sleep(0.002)

    def _allowed(self) -> int:
        asking = self._asking
        if asking.budget.max_cost_usd is not None and not asking.answered:
            return 1  # what an answer costs is known from the first
        if asking.settings.concurrency is not None:
            return asking.settings.concurrency
        rate = asking.limiter.requests_per_second(asking.tokens)
        # Half as many again as the rate keeps busy: answers take unequal times. What is only waiting for this process
        # to read it is left out: on a busy machine it would grow without an answer more, and be lost to a kill.
        latency = max(0.0, asking.latency_s - _TURNS * self._lag_s)
        return _UNPACED if rate is None else min(_MOST, _UNPACED + round(1.5 * rate * latency))

    async def _watch_lag(self) -> None:
        """How late this event loop is."""
        while True:
            begun = time.monotonic()
            await asyncio.sleep(_LAG_EVERY_S)
            self._lag_s += 0.2 * (time.monotonic() - begun - _LAG_EVERY_S - self._lag_s)

    async def _allowance(self, pack: Sequence[Question], tasks: set[asyncio.Task[None]]) -> Allowance | None:
        """Money for a request; None, and the reason in `_ended`, where the budget has none left."""
        budget = self._asking.budget
        bound = self._asking.requests.bound(pack)
        while not budget.reserve(bound, len(pack)):
            if not (budget.undecided and tasks):
                self._ended = ("budget", budget.reason())
                return None
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return Allowance(budget, bound)

    async def _one(
        self, exchange: Exchange, pack: Sequence[Question], allowance: Allowance, sent_at: float, tokens: int
    ) -> None:
        asking = self._asking
        spent = None
        try:
            outcomes = await exchange.outcomes(pack, allowance, sent_at, tokens)
            usage = sum((outcome.usage for outcome in outcomes), TokenUsage())
            spent = None if usage.cost_usd is None else usage.cost_usd + usage.unconfirmed_usd
        except Fault as fault:
            spent = fault.lost_usd
            self._fault(fault, pack, exchange.client)
            return
        except asyncio.CancelledError:  # the loop ends by an error of its own
            raise
        except BaseException as error:  # noqa: BLE001 - raised again in the build's thread
            self.aborted = self.aborted or error
            return
        finally:
            allowance.settle(spent)
        if exchange.latencies:
            latency = exchange.latencies.pop()
            asking.latency_s += 0.2 * (latency - asking.latency_s) if asking.latency_s else latency
        self._count(outcomes, exchange.client)
        if self.aborted is None or asking.answered:
            for outcome in outcomes:
                self._outcomes.put(outcome)

    def _count(self, outcomes: Sequence[Outcome], client: openai.AsyncOpenAI) -> None:
        """Notice a server that answers nobody."""
        late = next((o for o in outcomes if isinstance(o, GenerationFailure) and o.kind == "rate"), None)
        if late is not None:
            self._ended = (UNASKED, f"not asked: the server's limit is used up: {late.message}")
        dead = [
            o for o in outcomes if isinstance(o, GenerationFailure) and o.kind in ("connection", "timeout", "server")
        ]
        if not dead:
            self._asking.answered = True
            self._silent = 0
            return
        self._silent += 1
        if dead[0].kind == "connection" and not self._asking.answered:
            self.aborted = self.aborted or Unavailable(
                f"no answer from {address(client)}: {dead[0].message}. "
                "Check enrichment.base_url, or build with --generator lexicon"
            )
        elif self._silent >= _GIVE_UP:
            self._ended = (
                UNASKED,
                f"not asked: {self._silent} requests in a row were not answered: {dead[0].message}",
            )

    def _fault(self, fault: Fault, pack: Sequence[Question], client: openai.AsyncOpenAI) -> None:
        """What every other request would meet too."""
        asking = self._asking
        if fault.kind == "quota" and asking.answered:
            self._ended = (UNASKED, f"not asked: {fault.message}")
            for question in pack:
                self._outcomes.put(GenerationFailure(question.record.tool_id, "quota", fault.message))
            return
        self.aborted = self.aborted or unusable(asking.settings.model, client, fault.message)


def _pack(left: "deque[Question]", size: int) -> list[Question]:
    """The next question; or the next few, whose names differ, where none is to be told apart from siblings."""
    pack = [left.popleft()]
    names = {pack[0].record.name}
    while len(pack) < size and left and not (pack[0].siblings or left[0].siblings) and left[0].record.name not in names:
        pack.append(left.popleft())
        names.add(pack[-1].record.name)
    return pack
