"""Find where results go wrong: the worst requests with the reasons, and steps lost by retrieval or by fusion."""

from typing import Any

from quartermaster.evaluation.judgements import Judgement
from quartermaster.evaluation.measurement import DEPTH, FUSED, JudgedResult, Measurement
from quartermaster.evaluation.metrics import HEADLINE_METRICS, NDCG, FullRecall, K, of_request
from router.contract import DOCUMENT_SIGNALS

_MOST_TOOLS = 8  # shown of a request: a workflow of a dozen steps would fill the page


def misses(measured: Measurement) -> dict[str, int]:
    """Count the steps that the K fused tools leave unmet, by what is at fault.

    `absent`: no tool of the step is in the snapshot. `fusion`: a list had one among its own first K, and fusion lost
    it. `retrieval`: no list had one. `steps` counts all steps, met or not.
    """
    counts = {"steps": 0, "fusion": 0, "retrieval": 0, "absent": 0}
    for result in measured.results:
        if result.judgement.kind == "none":
            continue
        top = set(result.lists[FUSED].ids[:K])
        by_signal = set[str]().union(*(ranked.ids[:K] for name, ranked in result.lists.items() if name != FUSED))
        for step in result.judgement.steps:
            counts["steps"] += 1
            if step & top:
                continue
            known = any(measured.router.record(tool_id) for tool_id in step)
            counts["fusion" if step & by_signal else "retrieval" if known else "absent"] += 1
    return counts


def worst(measured: Measurement, count: int) -> list[dict[str, Any]]:
    """Return as JSON the requests with the lowest nDCG, then the lowest full recall.

    Each has the required tools with their ranks in every whole list and the reason, and the tools returned instead.
    Requests answered without fault are left out.
    """
    scored = [(result, of_request(result.lists[FUSED].ids, result.judgement)) for result in measured.results]
    faulty = [(r, values) for r, values in scored if any(_or_one(values[m.key]) != 1 for m in HEADLINE_METRICS)]
    rank_quality, completeness = NDCG(K).key, FullRecall(K).key
    faulty.sort(key=lambda pair: (_or_one(pair[1][rank_quality]), _or_one(pair[1][completeness]), pair[0].judgement.id))
    return [_explained(measured, result, values) for result, values in faulty[:count]]


def _explained(measured: Measurement, result: JudgedResult, values: dict[str, float | None]) -> dict[str, Any]:
    judgement = result.judgement
    required = sorted(judgement.required.union(*judgement.groups) or judgement.acceptable)
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
    ranks = {str(signal): place for signal, place in found.tool.ranks.items()}
    phrase, reason = found.tool.phrase, why(found.rank, ranks)
    return {"tool_id": tool_id, "rank": found.rank, "ranks": ranks, "phrase": phrase, "why": reason}


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


def unknown_tools(measured: Measurement) -> list[str]:
    """Return the tools that the judgements name and the snapshot lacks, in the order of their ids."""
    named = set[str]().union(*(judgement.tools for judgement in measured.judgements))
    return sorted(tool_id for tool_id in named if measured.router.record(tool_id) is None)


def _or_one(value: float | None) -> float:
    return 1.0 if value is None else value
