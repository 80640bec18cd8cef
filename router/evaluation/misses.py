"""Where answers go wrong: the worst requests with the reasons, and whether retrieval or fusion is at fault."""

from collections.abc import Callable
from typing import Any

from router.contract import DOCUMENT_SIGNALS
from router.evaluation import METRICS, Judgement, K
from router.evaluation.answers import DEPTH, FUSED, Answer, Measurement
from router.evaluation.metrics import of_request

_TOOLS = 8  # of a request that are told: a workflow of a dozen steps would fill the page


def misses(measured: Measurement) -> dict[str, int]:
    """Steps that the K fused tools leave unmet, by what is at fault.

    `absent`: no tool of the step is in the snapshot. `fusion`: a list had one among its own first K, and fusion lost
    it. `retrieval`: no list had. `steps` are all that were asked for.
    """
    found = {"steps": 0, "fusion": 0, "retrieval": 0, "absent": 0}
    for answer in measured.answers:
        if answer.judgement.kind == "none":
            continue
        top = set(answer.lists[FUSED].ids[:K])
        by_signal = set[str]().union(*(hits.ids[:K] for name, hits in answer.lists.items() if name != FUSED))
        for step in answer.judgement.steps:
            found["steps"] += 1
            if step & top:
                continue
            known = any(measured.router.record(tool_id) for tool_id in step)
            found["fusion" if step & by_signal else "retrieval" if known else "absent"] += 1
    return found


def worst(measured: Measurement, count: int) -> list[dict[str, Any]]:
    """The requests with the lowest nDCG, then the lowest full recall: what was required, its rank in every whole list,
    why it is not further up, and what was returned instead. Requests answered without fault are no part of it."""
    scored = [(answer, of_request(answer.lists[FUSED].ids, answer.judgement)) for answer in measured.answers]
    faulty = [(a, s) for a, s in scored if any(s[m] is not None and s[m] != 1 for m in ("ndcg@10", "full@10"))]
    faulty.sort(key=lambda pair: (_or_one(pair[1]["ndcg@10"]), _or_one(pair[1]["full@10"]), pair[0].judgement.id))
    return [_told(measured, answer, found) for answer, found in faulty[:count]]


def _told(measured: Measurement, answer: Answer, found: dict[str, float | None]) -> dict[str, Any]:
    judgement = answer.judgement
    asked = sorted(judgement.required.union(*judgement.groups) or judgement.acceptable)
    returned = measured.router.route(judgement.request, k=3, explain=True, recipe=measured.recipe)
    return {
        "id": judgement.id,
        "request": judgement.request,
        "kind": judgement.kind,
        "slice": judgement.slice,
        "fits": answer.fits,
        **{metric: found[metric] for metric in METRICS},
        "required": [_tool(measured, judgement, tool_id) for tool_id in asked[:_TOOLS]],
        "required_left_out": len(asked[_TOOLS:]),
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


def _tool(measured: Measurement, judgement: Judgement, tool_id: str) -> dict[str, Any]:
    if measured.router.record(tool_id) is None:
        return {"tool_id": tool_id, "rank": None, "ranks": {}, "phrase": None, "why": "not in this snapshot"}
    tool, rank = measured.router.explain(judgement.request, tool_id, recipe=measured.recipe)
    ranks = {str(signal): place for signal, place in tool.ranks.items()}
    return {"tool_id": tool_id, "rank": rank, "ranks": ranks, "phrase": tool.phrase, "why": why(rank, ranks)}


def why(rank: int | None, ranks: dict[str, int]) -> str:
    """Why a tool stands at a fused rank, from its ranks in the lists: a few words."""
    if not ranks:
        return "in no list: it has no word in common with the request"
    best = min((place, name) for name, place in ranks.items())
    nearest = f"{best[1]} ranks it {best[0]:,}"
    if rank is not None and rank <= K:
        return "returned" if rank == 1 else f"returned at {rank}: {nearest}"
    if best[0] <= K:
        absent = [signal for signal in DOCUMENT_SIGNALS if signal not in ranks]
        lost = f", {' and '.join(absent)} not at all" if absent else ""
        return f"lost in fusion: {nearest}{lost}"
    return f"below the first {K} of every list: {nearest}" if best[0] <= DEPTH else f"far down in every list: {nearest}"


def unknown(measured: Measurement) -> list[str]:
    """Tools that the judgements name and the snapshot does not hold, in order of id."""
    known: Callable[[str], object] = measured.router.record
    named = set[str]().union(*(judgement.tools for judgement in measured.judgements))
    return sorted(tool_id for tool_id in named if known(tool_id) is None)


def _or_one(value: float | None) -> float:
    return 1.0 if value is None else value
