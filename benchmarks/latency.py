"""Time one route: `python -m benchmarks.latency SNAPSHOT [--requests FILE] [--busy] [--against STORED]`.

One thread, one request at a time, no request asked twice; explained, ten tools, each tool's record read. By recipe,
apart for requests that the router finds one step in and for those of several. "encoding" is the encoder alone on the
same text, right after each route: no router with vectors is faster, and p50 is also given as a multiple of it. Then by
stage, in a second pass whose timers add some microseconds a stage. `--busy` gives the other core to a process that
never sleeps. `--cpu` counts the process's CPU time: on a machine that others use as well, how often it is put off says
nothing of the router.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.support.measuring import Clock, about, on_one_thread, percentiles, report, seconds
from benchmarks.support.stages import watched
from benchmarks.support.timed_requests import busy_neighbour, read_whole, requests_of, timing_arguments
from router import Router
from router.query.steps import find_steps
from router.retrieval.recipe import Recipe
from router.search.search import needed_encoder
from router.snapshot.snapshot import Snapshot

WARM_UP = 20


def measure(snapshot: Path, requests: Sequence[str], recipes: Sequence[str], clock: Clock) -> dict[str, Any]:
    """Percentiles in milliseconds by recipe and kind of request, and by stage."""
    opened = Snapshot.open(snapshot)
    router = Router(opened)
    figures: dict[str, Any] = {}
    for name in recipes:
        recipe = router.recipe(name)

        def route(request: str, recipe: Recipe = recipe) -> int:
            return read_whole(router.route(request, k=10, explain=True, recipe=recipe))

        seconds(route, requests[-WARM_UP:])
        taken, encoding = _alternately(route, _encoding(opened, recipe), requests, clock)
        several = [recipe.steps and len(find_steps(request)) > 1 for request in requests]
        with watched(opened, clock) as watch:
            stages = watch.laps(route, requests)
        groups = {
            "all": taken,
            "one step": _those(taken, several, False),
            "several steps": _those(taken, several, True),
            "encoding": encoding,
            "encoding of one step": _those(encoding, several, False),
            "encoding of several steps": _those(encoding, several, True),
        }
        by_stage = {f"stage {name}": values for name, values in sorted(stages.items(), key=lambda row: -sum(row[1]))}
        figures[name] = {
            part: {**percentiles(values), "requests": len(values)}
            for part, values in (groups | by_stage).items()
            if values
        }
        _add_multiples(figures[name])
    return figures


def _encoding(snapshot: Snapshot, recipe: Recipe) -> Callable[[str], object] | None:
    """What encodes one text as the recipe needs it; None where it needs no vector."""
    encoder = needed_encoder(snapshot, recipe)
    return None if encoder is None else lambda request: encoder.encode_requests([request])


def _alternately(
    route: Callable[[str], object], encode: Callable[[str], object] | None, requests: Sequence[str], clock: Clock
) -> tuple[list[float], list[float]]:
    """Seconds of each request's route, and of its encoding alone right after it, where there is any."""
    routed, encoded = [], []
    for request in requests:
        routed += seconds(route, [request], clock)
        encoded += seconds(encode, [request], clock) if encode else [0.0]
    return routed, encoded if encode else []


def _add_multiples(groups: dict[str, Any]) -> None:
    """Add to groups their p50 as a multiple of that of another."""
    for name, column, other in (
        ("all", "× encoding", "encoding"),
        ("one step", "× encoding", "encoding of one step"),
        ("several steps", "× encoding", "encoding of several steps"),
        ("several steps", "× one step", "one step"),
    ):
        if name in groups and other in groups:
            groups[name][column] = round(groups[name]["p50"] / groups[other]["p50"], 3)


def _those(taken: Sequence[float], several: Sequence[bool], wanted: bool) -> list[float]:
    return [value for value, held in zip(taken, several, strict=False) if held is wanted]


def main() -> None:
    """Measure, print, write."""
    on_one_thread()
    parser = timing_arguments(__doc__, 1000)
    parser.add_argument("--recipe", action="append", help="default and lexical, if none is named")
    parser.add_argument("--busy", action="store_true")
    parser.add_argument("--cpu", action="store_true")
    asked = parser.parse_args()
    found = about(asked.snapshot)
    requests = requests_of(asked)
    with busy_neighbour(asked.busy):
        clock = time.process_time if asked.cpu else time.perf_counter
        figures = measure(asked.snapshot, requests, asked.recipe or ("default", "lexical"), clock)
    title = f"ms {'of CPU ' if asked.cpu else ''}a route{', a busy neighbour' if asked.busy else ''}"
    report(title, found, figures, asked.json, asked.against)


if __name__ == "__main__":
    main()
