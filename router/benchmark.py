"""A router measured on judged requests: each signal alone and fused, and how long a route takes."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from router.contract import Signal
from router.evaluation import METRICS, Judgement, K, evaluate
from router.recipe import Recipe
from router.retrievers import Ranking
from router.router import Router

FUSED = "fused"


def measure(
    router: Router,
    judgements: Sequence[Judgement],
    *,
    bench: str,
    recipe: str | Recipe | None = None,
    advance: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """The evaluation as JSON: bench, tools, queries, snapshot, recipe, latency_ms, signals, slices, no_tool.

    A signal that the snapshot or the recipe lacks has None for every metric. `slices` has the fused metrics, and the
    number of requests, for each slice that the judgements name. Latency is that of whole routes of K
    tools, encoding included, the first ten of them left out as warm-up where there are more.
    """
    chosen = router.recipe(recipe)
    ids = [router.tool_id(ordinal) for ordinal in range(len(router))]
    found: dict[str, list[tuple[list[str], Judgement]]] = {signal: [] for signal in (*Signal, FUSED)}
    milliseconds = []
    for judgement in judgements:
        started = time.perf_counter()
        routed = router.route(judgement.request, k=K, recipe=chosen)
        milliseconds.append((time.perf_counter() - started) * 1e3)
        found[FUSED].append((list(routed.ids), judgement))
        for signal, ranking in router.rankings(judgement.request, recipe=chosen).items():
            found[signal].append((_top(ranking, ids), judgement))
        advance()
    slices = sorted({judgement.slice for judgement in judgements} - {""})
    timed = milliseconds[10:] or milliseconds
    return {
        "bench": bench,
        "tools": len(router),
        "queries": len(judgements),
        "snapshot": router.manifest.snapshot,
        "recipe": chosen.name,
        "latency_ms": {f"p{p}": round(float(np.percentile(timed, p)), 3) if timed else None for p in (50, 95)},
        "signals": {signal: evaluate(pairs) if pairs else dict.fromkeys(METRICS) for signal, pairs in found.items()},
        "slices": {name: _of_slice(name, found[FUSED]) for name in slices},
        # Scored once the router gives a calibrated probability that some tool fits; a raw score is none.
        "no_tool": None,
    }


def _of_slice(name: str, pairs: Sequence[tuple[list[str], Judgement]]) -> dict[str, float | None]:
    chosen = [pair for pair in pairs if pair[1].slice == name]
    return {"queries": len(chosen), **evaluate(chosen)}


def _top(ranking: Ranking, ids: Sequence[str]) -> list[str]:
    return [ids[ordinal] for ordinal in ranking.ordinals[:K]]
