"""Measure requests a second: `python -m benchmarks.throughput SNAPSHOT [--requests FILE] [--against STORED]`.

One router, ten tools each, explained, every record read, the request cache off. By recipe: one thread and two, and
`route_many`. The ways take turns, round by round, so that what else the machine does falls on all alike; `of one
thread` is the median over rounds. `cores` is CPU time over wall time: two threads that get no 2 cores say little.
"""

import itertools
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.support.measuring import about, on_one_thread, report
from benchmarks.support.timed_requests import read_whole, requests_of, timing_arguments
from router import Recipe, Router

MANY = 64  # requests of one route_many
Way = Callable[[float], int]


class Asked:
    """The ways of asking one router the same requests, over and over; each returns how many it had answered."""

    def __init__(self, router: Router, requests: Sequence[str], recipe: Recipe) -> None:
        self.router, self.requests, self.recipe = router, requests, recipe

    def one_by_one(self, until: float, start: int = 0) -> int:
        """Ask one request after the other until a time of `time.perf_counter`."""
        for asked, request in enumerate(self._endless(start)):
            if time.perf_counter() > until:
                return asked
            read_whole(self.router.route(request, explain=True, recipe=self.recipe))
        raise AssertionError("endless")

    def on_threads(self, until: float, threads: int = 2) -> int:
        """The same on several threads, each from another request on."""
        answered = [0] * threads

        def ask(which: int) -> None:
            answered[which] = self.one_by_one(until, which * len(self.requests) // threads)

        running = [threading.Thread(target=ask, args=(which,)) for which in range(threads)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        return sum(answered)

    def many(self, until: float) -> int:
        """MANY requests a call."""
        endless, answered = self._endless(0), 0
        while time.perf_counter() < until:
            batch = list(itertools.islice(endless, MANY))
            for routed in self.router.route_many(batch, explain=True, recipe=self.recipe):
                read_whole(routed)
            answered += MANY
        return answered

    def _endless(self, start: int) -> Iterator[str]:
        return itertools.islice(itertools.cycle(self.requests), start, None)


def measure(snapshot: Path, requests: Sequence[str], recipe: str, seconds: float, rounds: int) -> dict[str, Any]:
    """Requests a second by way of asking: the median over rounds."""
    with Router.open(snapshot) as router:
        asked = Asked(router, requests, router.recipe(recipe))
        ways: dict[str, Way] = {
            "one thread": asked.one_by_one,
            "two threads": asked.on_threads,
            f"route_many of {MANY}": asked.many,
        }
        for way in ways.values():
            way(time.perf_counter() + seconds / 10)
        taken = [{name: _rate(way, seconds) for name, way in ways.items()} for _ in range(rounds)]
    figures: dict[str, Any] = {}
    for name in ways:
        rates, cores = zip(*(round_[name] for round_ in taken), strict=True)
        ratios = [round_[name][0] / round_["one thread"][0] for round_ in taken]
        figures[name] = {
            "requests/s": round(statistics.median(rates), 1),
            "of one thread": round(statistics.median(ratios), 3),
            "cores": round(statistics.median(cores), 2),
        }
    return figures


def _rate(way: Way, seconds: float) -> tuple[float, float]:
    """Requests a second, and cores kept busy."""
    begun, cpu = time.perf_counter(), time.process_time()
    answered = way(begun + seconds)
    took = time.perf_counter() - begun
    return answered / took, (time.process_time() - cpu) / took


def main() -> None:
    """Measure, print, write."""
    on_one_thread()
    parser = timing_arguments(__doc__, 1000)
    parser.add_argument("--recipe", action="append", help="default and lexical, if none is named")
    parser.add_argument("--seconds", type=float, default=3.0, help="of each way in each round")
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    found = about(asked.snapshot)
    requests = requests_of(asked)
    recipes = asked.recipe or ("default", "lexical")
    figures = {name: measure(asked.snapshot, requests, name, asked.seconds, asked.rounds) for name in recipes}
    report("requests a second", found, figures, asked.json, asked.against)


if __name__ == "__main__":
    main()
