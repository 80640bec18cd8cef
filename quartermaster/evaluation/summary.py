"""Summarise a measurement as JSON, from which every table, page and file of the evaluation is made."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quartermaster.evaluation.abstention import auc, auc_interval, refused_at_95, reliability
from quartermaster.evaluation.causes import causes
from quartermaster.evaluation.judgements import Judgement
from quartermaster.evaluation.measurement import JudgedResult, Measurement, ask, encoder_json
from quartermaster.evaluation.metrics import METRICS, FullRecall, Metric, Success, by_key, first_rank, means
from quartermaster.evaluation.misses import misses, unknown_tools
from quartermaster.evaluation.resampling import intervals
from quartermaster.evaluation.slices import judged_slices, slices
from router.retrieval.recipe import Recipe
from router.router import Router

CURVE = tuple(range(1, 21))  # cutoffs of the curves: past twenty tools a prompt is long, and models choose worse
# Upper edges of the bars of the rank distribution; past the last a tool was not found.
RANKS = (1, 2, 3, 5, 10, 20, 50, 100)


def measure(
    router: Router,
    judgements: Sequence[Judgement],
    *,
    bench: str,
    recipe: str | Recipe | None = None,
    advance: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Put judged requests to a router and return `figures`. `advance` is called once a request."""
    return figures(ask(router, judgements, recipe, advance=advance), bench)


def figures(measured: Measurement, bench: str) -> dict[str, Any]:
    """Return a measurement as JSON: means by list and by slice, intervals, abstention, curves, ranks, causes of misses.

    A signal that the snapshot or the recipe lacks has None for every metric. `slices` and `by` are of the fused list.
    """
    table = measured.scores()
    by_list = {name: measured.scores(name) for name in measured.lists}
    sliced = slices(measured.judgements, measured.provider_of)
    positions = judged_slices(measured.judgements)
    no_tool, reliable = _abstention(measured.results)
    return {
        "bench": bench,
        "tools": len(measured.router),
        "queries": len(measured.results),
        "snapshot": measured.router.manifest.snapshot,
        "recipe": measured.recipe.name,
        "latency_ms": measured.latency(),
        "signals": {str(name): means(of_list) for name, of_list in by_list.items()},
        "slices": {name: _slice(measured.results, table, places) for name, places in positions.items()},
        "no_tool": no_tool,
        "intervals": _by_list({str(name): of_list for name, of_list in by_list.items() if len(of_list)}),
        "by": {
            sort: {name: _slice(measured.results, table, places) for name, places in of_sort.items()}
            for sort, of_sort in sliced.items()
        },
        "reliability": reliable,
        "recall_by_k": {str(name): _curve(list(measured.pairs(name))) for name in measured.lists},
        "ranks": {str(name): _ranks(list(measured.pairs(name))) for name in measured.lists},
        "misses": misses(measured),
        "unknown": unknown_tools(measured),
        "causes": causes(measured),
        "encoder": encoder_json(measured),
    }


def _slice(results: Sequence[JudgedResult], table: NDArray[np.float64], positions: Sequence[int]) -> dict[str, Any]:
    of_slice = table[list(positions)]
    refused = [results[i].none_fits for i in positions if results[i].fits is not None]
    return {
        "queries": len(positions),
        **means(of_slice),
        "intervals": _intervals(of_slice),
        "refused": sum(refused) / len(refused) if refused else None,
    }


def _by_list(tables: Mapping[str, NDArray[np.float64]]) -> dict[str, dict[str, list[float] | None]]:
    """Return the intervals of each list's metrics, from one bootstrap for all of them."""
    if not tables:
        return {}
    bounds = iter(intervals(np.hstack(list(tables.values()))))
    return {name: by_key(list(interval) if (interval := next(bounds)) else None for _ in METRICS) for name in tables}


def _intervals(table: NDArray[np.float64]) -> dict[str, list[float] | None]:
    return _by_list({"": table})[""]


def _abstention(results: Sequence[JudgedResult]) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Return `no_tool` and `reliability`.

    Both are None where the snapshot gives no probability, or no request is of kind none.
    """
    results = [result for result in results if result.fits is not None]
    fits = np.array([result.fits for result in results], np.float64)
    answerable = np.array([result.judgement.kind != "none" for result in results], np.bool_)
    if not answerable.any() or answerable.all():
        return None, None
    refused = np.array([result.none_fits for result in results], np.bool_)
    no_tool = {
        "auc": auc(fits, answerable),
        "refused_at_95": refused_at_95(fits, answerable),
        "auc_interval": list(auc_interval(fits, answerable)),
        # By the router's own threshold: of those that no tool answers, and wrongly of the others.
        "refused": float(refused[~answerable].mean()),
        "refused_wrongly": float(refused[answerable].mean()),
    }
    return no_tool, reliability(fits, answerable)


def _curve(pairs: Sequence[tuple[Sequence[str], Judgement]]) -> dict[str, list[float]] | None:
    """Return Success@k ("recall") and full recall ("full") at each k of CURVE."""
    success, full = _means_by_cutoff(pairs, Success), _means_by_cutoff(pairs, FullRecall)
    return {"recall": success, "full": full} if success and full else None


def _means_by_cutoff(pairs: Sequence[tuple[Sequence[str], Judgement]], metric: type[Metric]) -> list[float]:
    pairs = [pair for pair in pairs if metric(1).applies(pair[1])]
    return [float(np.mean([metric(k).compute(*pair) for pair in pairs])) for k in CURVE] if pairs else []


def _ranks(pairs: Sequence[tuple[Sequence[str], Judgement]]) -> Mapping[str, int] | None:
    """Count requests by the rank of their first acceptable tool; "beyond" are those past the last edge of RANKS."""
    ranks = [first_rank(*pair) for pair in pairs if Success(1).applies(pair[1])]
    if not ranks:
        return None
    counts = dict.fromkeys([str(edge) for edge in RANKS] + ["beyond"], 0)
    for rank in ranks:
        edge = next((edge for edge in RANKS if rank and rank <= edge), "beyond")
        counts[str(edge)] += 1
    return counts
