"""The stages of a route: every piece of the table exists, and their times add up to the whole."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

from benchmarks.support.stages import Stopwatch, watched
from router import Router
from router.contract import LEXICAL_SIGNALS
from router.retrieval.retrievers import LexicalRetriever
from router.snapshot.snapshot import Snapshot

REQUEST = "refund the last invoice of a customer"


def test_a_route_over_a_built_snapshot_passes_through_the_stages_that_each_request_has(snapshot: Path) -> None:
    opened = Snapshot.open(snapshot)
    router, own_rank = Router(opened), LexicalRetriever.rank
    ticks = count()
    with watched(opened, lambda: next(ticks)) as watch:
        stages = watch.laps(lambda request: router.route(request, k=10, explain=True), [REQUEST, REQUEST])
    assert {"steps", "terms", "encode", "dense", "fusion", "fits", "explain", "phrase", "records", "rest"} <= set(
        stages
    )
    assert {str(signal) for signal in LEXICAL_SIGNALS} <= set(stages)
    assert all(len(times) == 2 and times[0] == times[1] for times in stages.values())  # the clock counts its readings
    assert LexicalRetriever.rank is own_rank


def test_a_stage_is_told_without_the_stages_that_it_calls() -> None:
    clock: Iterator[float] = iter([0.0, 1.0, 3.0, 4.0, 9.0, 10.0])
    watch = Stopwatch(lambda: next(clock))
    inner = watch.timed(lambda: None, lambda *_: "inner")

    def outer(request: str) -> None:
        inner()
        inner()

    # The whole takes 10 s, the two inner calls 2 s and 5 s of them.
    assert watch.laps(outer, ["a request"]) == {"inner": [7.0], "rest": [3.0]}
