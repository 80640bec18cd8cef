"""A soak test: threads route without a pause, and compare each answer with the known one of its snapshot."""

import random
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from router import RoutedTools, Router

_BATCH = 4
# A vector from a batch differs from that of the request alone by up to 1e-7.
_TOLERANCE = 1e-4

KnownAnswers = Mapping[str, Mapping[str, RoutedTools]]


@dataclass
class SoakResult:
    """The number of answers by snapshot, the seconds of each route, and descriptions of wrong answers and errors."""

    answers: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def known_answers(snapshots: Iterable[Path], requests: Sequence[str]) -> KnownAnswers:
    """Return the answers of routers over each snapshot alone, by snapshot and request."""
    known = {}
    for folder in snapshots:
        router = Router.open(folder)
        known[router.manifest.snapshot] = {request: router.route(request) for request in requests}
    return known


@contextmanager
def routing_threads(router: Router, known: KnownAnswers, threads: int) -> Iterator[SoakResult]:
    """Route on some threads until the block ends. The first thread routes several requests at a time."""
    result, ended = SoakResult(), threading.Event()
    requests = sorted(next(iter(known.values())))
    running = [
        threading.Thread(target=_route, args=(router, known, requests, number, result, ended))
        for number in range(threads)
    ]
    for thread in running:
        thread.start()
    try:
        yield result
    finally:
        ended.set()
        for thread in running:
            thread.join()


def _route(
    router: Router,
    known: KnownAnswers,
    requests: Sequence[str],
    number: int,
    result: SoakResult,
    ended: threading.Event,
) -> None:
    draw = random.Random(number)
    while not ended.is_set():
        batch = draw.sample(requests, 1 if number else min(_BATCH, len(requests)))
        begun = time.perf_counter()
        try:
            answers = router.route_many(batch) if len(batch) > 1 else [router.route(batch[0])]
        except Exception as error:  # noqa: BLE001 - any error is a finding
            result.errors.append(f"{type(error).__name__}: {error}")
            continue
        if len(batch) == 1:
            result.seconds.append(time.perf_counter() - begun)
        if len({answer.snapshot for answer in answers}) > 1:
            result.wrong.append("one call was answered by two snapshots")
        for request, answer in zip(batch, answers, strict=True):
            result.answers[answer.snapshot] += 1
            if not answers_equal(answer, known[answer.snapshot][request]):
                result.wrong.append(f"{answer.snapshot} to {request!r}: {answer.ids}")


def answers_equal(one: RoutedTools, other: RoutedTools) -> bool:
    """Return True where two answers are equal, apart from the last digits of the scores."""
    same = (one.snapshot, one.recipe, one.steps, one.none_fits, one.ids) == (
        other.snapshot,
        other.recipe,
        other.steps,
        other.none_fits,
        other.ids,
    )
    return same and all(
        a.record == b.record and abs(a.score - b.score) < _TOLERANCE for a, b in zip(one, other, strict=True)
    )
