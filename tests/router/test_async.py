"""Routing beside an event loop, which goes on meanwhile."""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from router import RequestInvalid, Router
from router.answer.executor import THREADS
from router.snapshot.snapshot import Snapshot
from tests.support.fake_encoder import FakeEncoder
from tests.support.threads import Own

REQUEST = "give the customer their money back"


class Held(FakeEncoder):
    """An encoder that ends when it is let go, and holds no lock meanwhile, as ONNX Runtime holds none."""

    def __init__(self, dim: int) -> None:
        self._dim = dim
        self.calls = 0
        self.go = threading.Event()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls += 1
        assert self.go.wait(30)
        return np.ones((len(texts), self._dim), np.float32)

    async def reached(self, calls: int) -> None:
        """Wait until so many calls are under way."""
        async with asyncio.timeout(30):
            while self.calls < calls:
                await asyncio.sleep(0.001)


@pytest.fixture
def held(snapshot: Path) -> Iterator[tuple[Router, Held]]:
    """A router whose encoder waits."""
    opened = Snapshot.open(snapshot)
    assert opened.manifest.encoder is not None
    encoder = Held(opened.manifest.encoder.dim)
    with Router(replace(opened, encoder=encoder)) as router:
        yield router, encoder
        encoder.go.set()


@pytest.fixture(autouse=True)
def own() -> Own:
    """Made before the router of a test."""
    return Own()


def threads(own: Own) -> int:
    return len(own.names("quartermaster-route"))


def test_answers_and_errors_are_those_of_the_methods_without_async(router: Router) -> None:
    async def ask() -> None:
        assert await router.route_async(REQUEST, k=3, explain=True) == router.route(REQUEST, k=3, explain=True)
        assert await router.route_many_async([REQUEST], k=2) == router.route_many([REQUEST], k=2)
        with pytest.raises(RequestInvalid, match="empty"):
            await router.route_async(" ")

    asyncio.run(ask())


def test_the_loop_ticks_on_while_fifty_requests_run_on_a_few_threads(held: tuple[Router, Held], own: Own) -> None:
    router, encoder = held

    async def ask() -> None:
        answers = asyncio.gather(*(router.route_async(f"{REQUEST} {number}") for number in range(50)))
        await encoder.reached(THREADS)
        for _ in range(30):
            await asyncio.sleep(0.001)
        assert encoder.calls == threads(own) == THREADS and not answers.done()
        encoder.go.set()
        assert len(await answers) == 50

    asyncio.run(ask())


def test_a_cancelled_request_that_waits_is_never_asked_and_the_others_are_answered(held: tuple[Router, Held]) -> None:
    router, encoder = held

    async def ask() -> list[bool]:
        tasks = [asyncio.create_task(router.route_async(REQUEST)) for _ in range(THREADS + 10)]
        await encoder.reached(THREADS)
        for task in tasks[THREADS:-1]:
            task.cancel()
        await asyncio.gather(*tasks[THREADS:-1], return_exceptions=True)
        encoder.go.set()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        return [isinstance(answer, asyncio.CancelledError) for answer in answers]

    assert asyncio.run(ask()) == [*[False] * THREADS, *[True] * 9, False]
    assert encoder.calls == THREADS + 1


def test_closing_waits_for_what_is_under_way_and_refuses_what_waits(held: tuple[Router, Held], own: Own) -> None:
    router, encoder = held

    async def ask() -> None:
        *running, waiting = (asyncio.create_task(router.route_async(REQUEST)) for _ in range(THREADS + 1))
        await encoder.reached(THREADS)
        closing = asyncio.create_task(router.aclose())
        with pytest.raises(RequestInvalid, match="closed"):
            await waiting
        assert not closing.done()
        encoder.go.set()
        await closing
        assert threads(own) == 0
        assert all([len(await task) for task in running])

    asyncio.run(ask())


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
    for ask in (lambda: router.route(REQUEST), lambda: router.route_many([REQUEST])):
        with pytest.raises(RequestInvalid, match="the router is closed: open another"):
            ask()
