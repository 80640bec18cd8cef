"""Threads that ask a router without a pause, and hold each answer against what its snapshot is known to answer."""

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
# Vectors of a batch differ by 1e-7 from those of a request alone.
_TOLERANCE = 1e-4

Known = Mapping[str, Mapping[str, RoutedTools]]


@dataclass
class Soak:
    """What came of it: answers by snapshot id, seconds of each route, answers that were wrong and errors, in words."""

    answers: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def known_answers(snapshots: Iterable[Path], requests: Sequence[str]) -> Known:
    """By snapshot id and request the answer of a router over that snapshot alone."""
    known = {}
    for folder in snapshots:
        router = Router.open(folder)
        known[router.manifest.snapshot] = {request: router.route(request) for request in requests}
    return known


@contextmanager
def asking(router: Router, known: Known, threads: int) -> Iterator[Soak]:
    """Ask on so many threads until the block ends; the first of them asks several requests at a time."""
    soak, ended = Soak(), threading.Event()
    requests = sorted(next(iter(known.values())))
    running = [
        threading.Thread(target=_ask, args=(router, known, requests, which, soak, ended)) for which in range(threads)
    ]
    for thread in running:
        thread.start()
    try:
        yield soak
    finally:
        ended.set()
        for thread in running:
            thread.join()


def _ask(router: Router, known: Known, requests: Sequence[str], which: int, soak: Soak, ended: threading.Event) -> None:
    draw = random.Random(which)
    while not ended.is_set():
        batch = draw.sample(requests, 1 if which else min(_BATCH, len(requests)))
        begun = time.perf_counter()
        try:
            routed = router.route_many(batch) if len(batch) > 1 else [router.route(batch[0])]
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what is looked for
            soak.errors.append(f"{type(error).__name__}: {error}")
            continue
        if len(batch) == 1:
            soak.seconds.append(time.perf_counter() - begun)
        if len({answer.snapshot for answer in routed}) > 1:
            soak.wrong.append("one call was answered by two snapshots")
        for request, answer in zip(batch, routed, strict=True):
            soak.answers[answer.snapshot] += 1
            if not alike(answer, known[answer.snapshot][request]):
                soak.wrong.append(f"{answer.snapshot} to {request!r}: {answer.ids}")


def alike(one: RoutedTools, other: RoutedTools) -> bool:
    """Whether two answers are the same but for what the encoder's last digits make of the scores."""
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
