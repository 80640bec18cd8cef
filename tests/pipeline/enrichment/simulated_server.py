"""A server with limits on a simulated clock: the real generator asks 800 tools in a second."""

import asyncio
import json
import selectors
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from random import Random
from threading import Event
from typing import Any
from unittest import mock

from pydantic import SecretStr

from pipeline.enrichment.generator import GenerationFailure, Outcome, TokenUsage
from pipeline.enrichment.openai import DirectGenerator, direct
from pipeline.enrichment.openai.chat import Completion, Fault, retry_after
from pipeline.settings import EnrichmentSettings
from tests.pipeline.enrichment.limits import Limit
from tests.support.factories import make_record

_START = 1_000.0  # 40 s into a fixed window of a minute


class _Selector(selectors.SelectSelector):
    """Advances the clock instead of waiting."""

    now = _START

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        assert timeout is not None, "everything waits for something that never comes"
        self.now += max(0.0, timeout)
        return super().select(0)


class SimulatedLoop(asyncio.SelectorEventLoop):
    """An event loop whose time passes at once."""

    def __init__(self) -> None:
        self._simulated = _Selector()
        super().__init__(self._simulated)

    def time(self) -> float:
        """Return the simulated moment, in seconds."""
        return self._simulated.now


@dataclass
class SimulatedServer:
    """A server's limits by kind, and how it tells them.

    `headers` makes the headers of a response from the limits and the moment; `wait_told` makes the Retry-After of a
    refusal from the true wait. `events` change the server some seconds after the start. `neighbour_per_minute`
    requests of another client count too.
    """

    limits: Mapping[str, Limit]
    headers: Callable[[Mapping[str, Limit], float], dict[str, str]] = lambda _, __: {}
    wait_told: Callable[[float], str | None] = lambda wait: f"{wait:.3f}"
    latency: tuple[float, float] = (0.2, 0.6)
    output_tokens: tuple[int, int] = (150, 250)
    events: Mapping[float, Callable[["SimulatedServer"], None]] = field(default_factory=dict)
    neighbour_per_minute: float = 0.0
    random: Random = field(default_factory=lambda: Random(7))
    accepted: list[tuple[float, float]] = field(default_factory=list)  # moment and tokens
    refused: list[float] = field(default_factory=list)
    most_in_flight: int = 0
    stop: Event = field(default_factory=Event)
    stop_after_s: float = 3_600.0
    _in_flight: int = 0
    _disturbing: asyncio.Task[None] | None = None

    async def complete(self, _: object, body: Mapping[str, Any], __: float) -> Completion:
        """Answer a request as `chat.complete` does, or refuse it."""
        loop = asyncio.get_running_loop()
        if self._disturbing is None:
            self._disturbing = asyncio.create_task(self.disturb())
            loop.call_later(self.stop_after_s, self.stop.set)
        await asyncio.sleep(self.random.uniform(0.02, 0.06))
        prompt, completed = 1_000, self.random.randint(*self.output_tokens)
        needs = {"requests": 1.0, "tokens": float(prompt + completed)}
        now = loop.time()
        wait = max(limit.wait(now, needs[kind]) for kind, limit in self.limits.items())
        if wait > 0:
            self.refused.append(now)
            told = self.wait_told(wait)
            headers = self.headers(self.limits, now) | ({} if told is None else {"retry-after": told})
            raise Fault("rate", "Rate limit reached", retry_after(headers))
        for kind, limit in self.limits.items():
            limit.take(now, needs[kind])
        self.accepted.append((now, needs["tokens"]))
        headers = self.headers(self.limits, now)
        self._in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self._in_flight)
        await asyncio.sleep(self.random.uniform(*self.latency))
        self._in_flight -= 1
        row = {"tool": json.loads(body["messages"][1]["content"])["tool"]["name"], "user_phrases": ["do it"]}
        return Completion(json.dumps(row), usage=TokenUsage(prompt, 0, completed), headers=headers)

    async def disturb(self) -> None:
        """Let the neighbour ask, and the events happen."""
        loop = asyncio.get_running_loop()
        for after_s, event in self.events.items():
            loop.call_at(_START + after_s, event, self)
        while self.neighbour_per_minute:
            if all(limit.wait(loop.time(), 1.0) == 0 for limit in self.limits.values()):
                for limit in self.limits.values():
                    limit.take(loop.time(), 1.0)
            await asyncio.sleep(60 / self.neighbour_per_minute)


def ask(server: SimulatedServer, tools: int = 800, seconds: float = 3_600, **settings: Any) -> list[Outcome]:
    """Ask the server about so many tools, for so many simulated seconds at most, and return the outcomes."""
    generator = DirectGenerator(EnrichmentSettings(base_url="http://simulated/v1", api_key=SecretStr("k"), **settings))
    questions = [generator.question(make_record(f"tool_{n}"), "") for n in range(tools)]
    server.stop_after_s = seconds
    with (
        mock.patch.object(direct, "complete", server.complete),
        mock.patch.object(direct, "connection", lambda _: {"api_key": "k", "http_client": _http_client()}),
        mock.patch.object(asyncio, "Runner", partial(asyncio.Runner, loop_factory=SimulatedLoop)),
    ):
        return [outcome for group in generator.generate(questions, server.stop) for outcome in group]


def _http_client() -> Any:
    """Return a client that reads no certificates, which takes longer than a simulated build."""
    import httpx

    return httpx.AsyncClient(verify=False)  # it is never used


def share(server: SimulatedServer, per_minute: float, kind: str = "requests", after_s: float = 0.0) -> float:
    """Return the share of a rate that was accepted from so many seconds on."""
    took = [(moment, tokens) for moment, tokens in server.accepted if moment >= _START + after_s]
    amount = sum(1.0 if kind == "requests" else tokens for _, tokens in took[1:])
    return 60 * amount / (took[-1][0] - took[0][0]) / per_minute


def refused_after(server: SimulatedServer, seconds: float) -> int:
    """Return how many requests were refused so many seconds after the first was accepted."""
    return sum(moment > server.accepted[0][0] + seconds for moment in server.refused)


def failures(outcomes: list[Outcome]) -> list[GenerationFailure]:
    """Return the outcomes that are failures."""
    return [outcome for outcome in outcomes if isinstance(outcome, GenerationFailure)]
