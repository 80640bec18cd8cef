"""Count the missed steps of a measurement by cause, as JSON, with what each cause costs and examples.

`missed_step` holds what is known of one missed step, `rules` names the causes and decides, by fixed rules in a fixed
order. See docs/decisions/evaluation.md.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from quartermaster.evaluation.causes.missed_step import NO_LIST, MissedStep, missed_places, missed_steps
from quartermaster.evaluation.causes.rules import Cause, decide
from quartermaster.evaluation.measurement import FUSED, Measurement
from quartermaster.evaluation.metrics import NDCG, FullRecall, K

__all__ = ["Cause", "cause_changes", "causes"]

_FULL, _QUALITY = FullRecall(K), NDCG(K)
_EXAMPLES = 2
_MAX_TOOLS = 3  # named of a step, and of what stood instead


@dataclass(frozen=True, slots=True)
class _Loss:
    """What one request takes from the means. `full` and `ndcg` are for each missed step, `order` is of nDCG.

    Right tools that are missing cost the missed steps alike; where every step is met, they count as `order`.
    """

    full: float = 0.0
    ndcg: float = 0.0
    order: float = 0.0


@dataclass(frozen=True, slots=True)
class _Miss:
    """A missed step with its cause and the evidence, and what its request takes from the means."""

    missed: MissedStep
    cause: Cause
    evidence: str
    loss: _Loss


def causes(measured: Measurement) -> dict[str, Any]:
    """Return as JSON the missed steps of a measurement by cause: all causes, in the order of their rules.

    `lost` of a cause is what the means of the metrics lack because of its steps. `order` is the rest of the lost nDCG:
    right tools that stand too low, and alternatives that are missing though every step is met.
    """
    losses = _losses(measured)
    misses = [_Miss(step, *decide(step), losses[step.judgement.id]) for step in missed_steps(measured)]
    orders = [loss.order for loss in losses.values()]
    names = [*(name for name in measured.lists if name != FUSED), NO_LIST]
    by_cause: dict[str, Any] = {}
    for cause in Cause:
        of_cause = [miss for miss in misses if miss.cause == cause]
        nearest = Counter(miss.missed.nearest for miss in of_cause)
        by_cause[str(cause)] = {
            "steps": len(of_cause),
            "share": len(of_cause) / len(misses) if misses else 0.0,
            **_cost(of_cause),
            "nearest": {name: nearest[name] for name in names},
            "meaning": cause.meaning,
            "way_out": cause.remedy,
            "examples": _examples(of_cause),
        }
    return {
        "steps": sum(len(judgement.steps) for judgement in measured.judgements if judgement.kind != "none"),
        "missed": len(misses),
        **_cost(misses),
        "by_cause": by_cause,
        "order": {"requests": sum(order > 0 for order in orders), "lost": {_QUALITY.key: math.fsum(orders)}},
        "abstention": _abstention(measured),
    }


def cause_changes(first: Measurement, second: Measurement) -> dict[str, dict[str, int]]:
    """Return by cause the steps that each of two measurements misses, and what the first mends and breaks.

    Both are of the same requests. `mended` counts steps that only the second misses, by its cause; `broken` those that
    only the first misses, by its own.
    """
    here, there = (
        {(step.judgement.id, step.place): decide(step)[0] for step in missed_steps(measured)}
        for measured in (first, second)
    )
    counts = {
        "first": Counter(here.values()),
        "second": Counter(there.values()),
        "mended": Counter(cause for step, cause in there.items() if step not in here),
        "broken": Counter(cause for step, cause in here.items() if step not in there),
    }
    return {str(cause): {name: of[cause] for name, of in counts.items()} for cause in Cause}


def _losses(measured: Measurement) -> dict[str, _Loss]:
    """Return the loss of each request by id; over all requests and missed steps they add up to 1 - the mean."""
    with_full, with_ndcg = (sum(map(metric.applies, measured.judgements)) for metric in (_FULL, _QUALITY))
    losses = {}
    for result in measured.results:
        judgement, ranking = result.judgement, result.lists[FUSED].ids
        missed = len(missed_places(result))
        full = 1 / len(judgement.steps) / with_full if missed else 0.0
        lost = missing = 0.0
        if _QUALITY.applies(judgement):
            lost = (1 - _QUALITY.compute(ranking, judgement)) / with_ndcg
            missing = _QUALITY.missing(ranking, judgement) / with_ndcg if missed else 0.0
        losses[judgement.id] = _Loss(full, missing / max(missed, 1), max(0.0, lost - missing))
    return losses


def _cost(misses: Sequence[_Miss]) -> dict[str, Any]:
    full, ndcg = (math.fsum(getattr(miss.loss, name) for miss in misses) for name in ("full", "ndcg"))
    requests = len({miss.missed.judgement.id for miss in misses})
    return {"requests": requests, "lost": {_FULL.key: full, _QUALITY.key: ndcg}}


def _examples(misses: Sequence[_Miss]) -> list[dict[str, Any]]:
    """Return the misses that cost the most, of different requests."""
    order = sorted(misses, key=lambda m: (-m.loss.ndcg, -m.loss.full, m.missed.judgement.id, m.missed.place))
    by_request: dict[str, _Miss] = {}
    for miss in order:
        by_request.setdefault(miss.missed.judgement.id, miss)
    return [_example(miss.missed, miss.evidence) for miss in list(by_request.values())[:_EXAMPLES]]


def _example(missed: MissedStep, evidence: str) -> dict[str, Any]:
    return {
        "id": missed.judgement.id,
        "request": missed.judgement.request,
        "missed": [missed.tool_id] if missed.tool_id else sorted(missed.step)[:_MAX_TOOLS],
        "rank": missed.ranks.get(FUSED),
        "ranks": {name: rank for name, rank in missed.ranks.items() if name != FUSED},
        "nearest": missed.nearest,
        "evidence": evidence,
        "instead": list(missed.wrong[:_MAX_TOOLS]),
    }


def _abstention(measured: Measurement) -> dict[str, int] | None:
    """Count the requests that no tool answers and the others, and what the router takes wrongly for the other sort.

    None where the snapshot gives no probability that some tool fits.
    """
    results = (result for result in measured.results if result.fits is not None)
    counts = Counter((result.judgement.kind != "none", result.none_fits) for result in results)
    if not counts:
        return None
    return {
        "unanswerable": counts[False, False] + counts[False, True],
        "answered": counts[False, False],
        "answerable": counts[True, False] + counts[True, True],
        "refused": counts[True, True],
    }
