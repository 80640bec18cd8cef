"""Measure what needs bring: `python -m benchmarks.needs BENCH=SNAPSHOT … [--json FILE]`.

BENCH is a folder in the benchmark format, whose name names a file of `benchmarks/data/needs`: needs that a language
model wrote from each request alone, without a catalog. Each request that has needs is asked alone, with them, with one
more of another request, and with nothing but itself in other case; then the time of requests with three needs, as a
multiple of the same requests' without steps.
"""

import random
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median
from typing import Any

from msgspec.structs import replace as with_fields

from benchmarks.support.measuring import about, arguments, report
from quartermaster.evaluation import Judgement, K, ask, evaluate, judgements_of, read_judgements, with_needs
from router import Router

NEEDS = Path(__file__).with_name("data") / "needs"
METRICS = ("full@10", "ndcg@10")
_TIMED = 100
_REPEATS = 5


def measure(bench: Path, router: Router) -> dict[str, Any]:
    """Metrics by what is asked, and the multiple of three needs."""
    path = judgements_of(bench)
    assert path, f"{bench} holds no judged requests"
    judged = [one for one in with_needs(read_judgements(path), NEEDS / f"{bench.name}.jsonl") if one.kind != "none"]
    drawn, others = random.Random(0), [need for one in judged for need in one.needs]
    variants = {
        "alone": [with_fields(one, needs=()) for one in judged],
        "needs": judged,
        "one wrong": [with_fields(one, needs=(*one.needs[:11], drawn.choice(others))) for one in judged],
        "repeated": [with_fields(one, needs=(f"{one.request.upper()}!",)) for one in judged],
    }
    figures: dict[str, Any] = {"requests": len(judged), "needs": round(fmean(len(one.needs) for one in judged), 2)}
    for name, asked in variants.items():
        found = evaluate(ask(router, asked, whole=False).pairs())
        figures[name] = {metric: round(value, 4) for metric in METRICS if (value := found[metric]) is not None}
    figures["multiple of three needs"] = _multiple(router, [one for one in judged if len(one.needs) == 3][:_TIMED])
    return figures


def _multiple(router: Router, judged: Sequence[Judgement]) -> float | None:
    """Return the median of the quickest times with needs over those without steps; None without such requests."""
    plain = replace(router.recipe(), steps=False)
    ratios = []
    for one in judged:
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(_REPEATS):
            for kept, needs in zip(times, (one.needs, ()), strict=True):
                began = time.perf_counter()
                router.route(one.request, needs=needs, k=K, recipe=plain)
                kept.append(time.perf_counter() - began)
        ratios.append(min(times[0]) / min(times[1]))
    return round(median(ratios), 2) if ratios else None


def main() -> None:
    """Measure and report."""
    parser = arguments(__doc__)
    parser.add_argument("pairs", nargs="+", metavar="BENCH=SNAPSHOT")
    asked = parser.parse_args()
    figures = {}
    for pair in asked.pairs:
        bench, _, snapshot = pair.partition("=")
        with Router.open(snapshot) as router:
            name = f"{Path(bench).name}{'' if router.manifest.counts.get('phrases') else ', no phrases'}"
            figures[name] = measure(Path(bench), router)
    report("needs", about(), figures, asked.json, None)


if __name__ == "__main__":
    main()
