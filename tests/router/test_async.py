"""Routing beside an event loop, which goes on meanwhile."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from router import RequestInvalid, Router, SettingsInvalid
from router.answer.executor import THREADS
from router.snapshot.snapshot import Snapshot
from tests.support.fake_encoder import FakeEncoder
from tests.support.threads import Own

REQUEST = "give the customer their money back"


@pytest.fixture
def router(snapshot: Path) -> Iterator[Router]:
    """A router of the test's own, closed after it."""
    with Router.open(snapshot) as opened:
        yield opened


class Slow(FakeEncoder):
    """An encoder of 20 ms, which holds no lock meanwhile, as ONNX Runtime holds none."""

    def __init__(self, dim: int) -> None:
        self._dim = dim
        self.under_way = self.most = self.calls = 0

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls += 1
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        time.sleep(0.02)
        self.under_way -= 1
        return np.ones((len(texts), self._dim), np.float32)


@pytest.fixture
def slow(snapshot: Path) -> Iterator[tuple[Router, Slow]]:
    """A router whose encoder takes its time."""
    opened = Snapshot.open(snapshot)
    assert opened.manifest.encoder is not None
    encoder = Slow(opened.manifest.encoder.dim)
    with Router(replace(opened, encoder=encoder)) as router:
        yield router, encoder


@pytest.fixture(autouse=True)
def own() -> Own:
    """Made before the router of a test."""
    return Own()


def threads(own: Own) -> int:
    return len(own.names("quartermaster-route"))


def test_answers_are_those_of_the_methods_without_async(router: Router) -> None:
    async def ask() -> None:
        assert await router.route_async(REQUEST, k=3, explain=True) == router.route(REQUEST, k=3, explain=True)
        assert await router.route_many_async([REQUEST], k=2) == router.route_many([REQUEST], k=2)
        assert await router.select_async(REQUEST, 3, token_budget=500) == router.select(REQUEST, 3, token_budget=500)

    asyncio.run(ask())


def test_the_loop_ticks_on_while_fifty_requests_run(slow: tuple[Router, Slow], own: Own) -> None:
    router, encoder = slow

    async def ask() -> int:
        answers = asyncio.gather(*(router.route_async(f"{REQUEST} {number}") for number in range(50)))
        ticks = 0
        while not answers.done():
            await asyncio.sleep(0.001)
            ticks += 1
        assert len(await answers) == 50
        return ticks

    # 50 × 20 ms on four threads at most are 250 ms: blocked, the loop would tick once.
    assert asyncio.run(ask()) > 30
    assert encoder.most <= THREADS
    assert 0 < threads(own) <= THREADS


def test_errors_come_as_they_do_without_async(router: Router) -> None:
    with pytest.raises(RequestInvalid, match="empty"):
        asyncio.run(router.route_async(" "))
    with pytest.raises(SettingsInvalid, match="no recipe"):
        asyncio.run(router.route_async(REQUEST, recipe="best"))


def test_a_cancelled_request_that_waits_is_never_asked_and_the_others_are_answered(slow: tuple[Router, Slow]) -> None:
    router, encoder = slow

    async def ask() -> None:
        tasks = [asyncio.create_task(router.route_async(REQUEST)) for _ in range(THREADS + 10)]
        await asyncio.sleep(0.005)
        for task in tasks[THREADS:-1]:
            task.cancel()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        assert [isinstance(answer, asyncio.CancelledError) for answer in answers] == [
            *([False] * THREADS),
            *([True] * 9),
            False,
        ]

    asyncio.run(ask())
    assert encoder.calls == THREADS + 1


def test_a_cancelled_request_under_way_ends_unheard(slow: tuple[Router, Slow]) -> None:
    router, encoder = slow

    async def ask() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(router.route_async(REQUEST), 0.005)
        assert len(await router.route_async(REQUEST, k=2)) == 2

    asyncio.run(ask())
    assert encoder.calls == 2


def test_threads_start_when_first_asked_for_and_end_with_close(snapshot: Path, own: Own) -> None:
    router = Router.open(snapshot)
    assert threads(own) == 0
    asyncio.run(router.route_async(REQUEST))
    assert threads(own) == 1
    router.close()
    router.close()
    assert threads(own) == 0
    with pytest.raises(RequestInvalid, match="closed"):
        asyncio.run(router.route_async(REQUEST))
    assert router.route(REQUEST).ids
