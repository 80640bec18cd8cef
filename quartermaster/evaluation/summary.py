"""Summarise a measurement as JSON, from which every table, page and file of the evaluation is made."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from quartermaster.evaluation.abstention import auc, auc_interval, refused_at_95, reliability
from quartermaster.evaluation.causes import causes
from quartermaster.evaluation.causes.missed_step import missed_places
from quartermaster.evaluation.judgements import Judgement
from quartermaster.evaluation.measurement import DEPTH, FUSED, JudgedResult, Measurement
from quartermaster.evaluation.metrics import (
    METRICS,
    NDCG,
    FullRecall,
    K,
    Metric,
    Success,
    by_key,
    first_rank,
    means,
    metrics_at,
    of_request,
)
from quartermaster.evaluation.resampling import Floats, intervals
from quartermaster.evaluation.slices import Slices, judged_slices, slices
from router.contract import DOCUMENT_SIGNALS

CURVE = tuple(range(1, 21))  # cutoffs of the curves: past twenty tools a prompt is long, and models choose worse
# Upper edges of the bars of the rank distribution; past the last a tool was not found.
RANKS = (1, 2, 3, 5, 10, 20, 50, 100)
_MOST_TOOLS = 8  # shown of a request: a workflow of a dozen steps would fill the page


def figures(measured: Measurement, bench: str, cutoffs: Sequence[int] = ()) -> dict[str, Any]:
    """Return a measurement as JSON: means by list and by slice, intervals, abstention, curves, ranks, causes of misses.

    A signal that the snapshot or the recipe lacks has None for every metric. `slices` and `by` are of the fused list.
    `at` has the means and the fused list's intervals at other `cutoffs` than K, at most DEPTH.
    """
    by_list = {name: measured.scores(name) for name in measured.lists}
    sorts = slices(measured.judgements, measured.provider_of)
    no_tool, reliable = _abstention(measured.results)
    return {
        "bench": bench,
        "tools": len(measured.router),
        "queries": len(measured.results),
        "snapshot": measured.router.manifest.snapshot,
        "recipe": measured.recipe.name,
        "latency_ms": measured.latency(),
        "signals": {name: means(table) for name, table in by_list.items()},
        "slices": _sliced(measured, by_list[FUSED], judged_slices(measured.judgements)),
        "no_tool": no_tool,
        "intervals": _intervals({name: table for name, table in by_list.items() if len(table)}),
        "at": {str(k): _at(measured, metrics_at(k)) for k in cutoffs},
        "by": {sort: _sliced(measured, by_list[FUSED], of_sort) for sort, of_sort in sorts.items()},
        "reliability": reliable,
        "recall_by_k": {name: _curve(list(measured.pairs(name))) for name in measured.lists},
        "ranks": {name: _rank_counts(measured.pairs(name)) for name in measured.lists},
        "misses": misses(measured),
        "unknown": unknown_tools(measured),
        "causes": causes(measured),
        "encoder": measured.encoder,
    }


def _at(measured: Measurement, metrics: Sequence[Metric]) -> dict[str, Any]:
    """Return the lists' means of some metrics, and the intervals of the fused list."""
    by_list = {name: measured.scores(name, metrics) for name in measured.lists}
    return {
        "signals": {name: means(table, metrics) for name, table in by_list.items()},
        "intervals": {FUSED: by_key(intervals(by_list[FUSED]), metrics)},
    }


def _sliced(measured: Measurement, table: Floats, positions: Slices) -> dict[str, Any]:
    rows = {}
    for name, places in positions.items():
        of_slice = table[places]
        refused = [measured.results[i].none_fits for i in places if measured.results[i].fits is not None]
        rows[name] = {
            "queries": len(places),
            **means(of_slice),
            "intervals": by_key(intervals(of_slice)),
            "refused": sum(refused) / len(refused) if refused else None,
        }
    return rows


def _intervals(tables: Mapping[str, Floats]) -> dict[str, dict[str, list[float] | None]]:
    """Return the intervals of each list's metrics, from one bootstrap for all of them."""
    bounds = iter(intervals(np.hstack(list(tables.values()))) if tables else ())
    return {name: by_key(next(bounds) for _ in METRICS) for name in tables}


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
        "auc_interval": auc_interval(fits, answerable),
        # By the router's own threshold: of those that no tool answers, and wrongly of the others.
        "refused": float(refused[~answerable].mean()),
        "refused_wrongly": float(refused[answerable].mean()),
    }
    return no_tool, reliability(fits, answerable)


def _curve(pairs: Sequence[tuple[Sequence[str], Judgement]]) -> dict[str, list[float]] | None:
    """Return Success@k ("recall") and full recall ("full") at each k of CURVE."""
    curves: dict[str, list[float]] = {}
    metrics: dict[str, type[Metric]] = {"recall": Success, "full": FullRecall}
    for name, metric in metrics.items():
        judged = [pair for pair in pairs if metric(1).applies(pair[1])]
        if not judged:
            return None
        curves[name] = [float(np.mean([metric(k).compute(*pair) for pair in judged])) for k in CURVE]
    return curves


def _rank_counts(pairs: Iterable[tuple[Sequence[str], Judgement]]) -> Mapping[str, int] | None:
    """Count requests by the rank of their first acceptable tool; "beyond" are those past the last edge of RANKS."""
    ranks = [first_rank(*pair) for pair in pairs if Success(1).applies(pair[1])]
    counts = dict.fromkeys([*map(str, RANKS), "beyond"], 0)
    for rank in ranks:
        counts[str(next((edge for edge in RANKS if rank and rank <= edge), "beyond"))] += 1
    return counts if ranks else None


def misses(measured: Measurement) -> dict[str, int]:
    """Count the steps that the K fused tools leave unmet, by what is at fault.

    `absent`: no tool of the step is in the snapshot. `fusion`: a list had one among its own first K, and fusion lost
    it. `retrieval`: no list had one. `steps` counts all steps, met or not.
    """
    counts = {"steps": 0, "fusion": 0, "retrieval": 0, "absent": 0}
    for result in measured.results:
        steps = result.judgement.steps if result.judgement.kind != "none" else ()
        counts["steps"] += len(steps)
        by_signal = set[str]().union(*(ranked.ids[:K] for name, ranked in result.lists.items() if name != FUSED))
        for step in (steps[place] for place in missed_places(result)):
            known = any(map(measured.router.record, step))
            counts["fusion" if step & by_signal else "retrieval" if known else "absent"] += 1
    return counts


def unknown_tools(measured: Measurement) -> list[str]:
    """Return the tools that the judgements name and the snapshot lacks, in the order of their ids."""
    named = set[str]().union(*(judgement.tools for judgement in measured.judgements))
    return sorted(tool_id for tool_id in named if measured.router.record(tool_id) is None)


def worst(measured: Measurement, count: int) -> list[dict[str, Any]]:
    """Return as JSON the requests with the lowest nDCG, then the lowest full recall.

    Each has the required tools with their ranks in every whole list and the reason, and the tools returned instead.
    Requests answered without fault are left out.
    """
    faulty = []
    for result in measured.results:
        values = of_request(result.lists[FUSED].ids, result.judgement)
        full, quality = (1.0 if values[m.key] is None else values[m.key] for m in (FullRecall(K), NDCG(K)))
        if (quality, full) != (1, 1):
            faulty.append((quality, full, result.judgement.id, result, values))
    faulty.sort(key=lambda row: row[:3])
    return [_explained(measured, result, values) for *_, result, values in faulty[:count]]


def _explained(measured: Measurement, result: JudgedResult, values: dict[str, float | None]) -> dict[str, Any]:
    judgement = result.judgement
    required = sorted(judgement.primary)
    returned = measured.router.route(judgement.request, k=3, explain=True, recipe=measured.recipe)
    return {
        "id": judgement.id,
        "request": judgement.request,
        "kind": judgement.kind,
        "slice": judgement.slice,
        "fits": result.fits,
        **values,
        "required": [_required_tool(measured, judgement, tool_id) for tool_id in required[:_MOST_TOOLS]],
        "required_left_out": len(required[_MOST_TOOLS:]),
        "returned": [
            {
                "tool_id": tool.tool_id,
                "right": tool.tool_id in judgement.tools,
                "ranks": {str(signal): rank for signal, rank in tool.ranks.items()},
                "phrase": tool.phrase,
            }
            for tool in returned
        ],
    }


def _required_tool(measured: Measurement, judgement: Judgement, tool_id: str) -> dict[str, Any]:
    if measured.router.record(tool_id) is None:
        return {"tool_id": tool_id, "rank": None, "ranks": {}, "phrase": None, "why": "not in this snapshot"}
    found = measured.router.diagnose(judgement.request, tool_id, recipe=measured.recipe)
    tool, rank = found.tool, found.rank
    ranks = {str(signal): place for signal, place in tool.ranks.items()}
    return {"tool_id": tool_id, "rank": rank, "ranks": ranks, "phrase": tool.phrase, "why": why(rank, ranks)}


def why(rank: int | None, ranks: dict[str, int]) -> str:
    """Return in a few words why a tool has its fused rank, from its ranks in the lists by name."""
    if not ranks:
        return "in no list: it has no word in common with the request"
    best_rank, best_list = min((place, name) for name, place in ranks.items())
    nearest = f"{best_list} ranks it {best_rank:,}"
    if rank is not None and rank <= K:
        return "returned" if rank == 1 else f"returned at {rank}: {nearest}"
    if best_rank <= K:
        absent = [signal for signal in DOCUMENT_SIGNALS if signal not in ranks]
        lost = f", {' and '.join(absent)} not at all" if absent else ""
        return f"lost in fusion: {nearest}{lost}"
    where = f"below the first {K} of" if best_rank <= DEPTH else "far down in"
    return f"{where} every list: {nearest}"
