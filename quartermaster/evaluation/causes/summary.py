"""Count the missed steps of a measurement by cause, as JSON, with what each cause costs and examples."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from quartermaster.evaluation.causes.cause import Cause
from quartermaster.evaluation.causes.missed_step import NO_LIST, MissedStep, missed_places, missed_steps
from quartermaster.evaluation.causes.rules import decide
from quartermaster.evaluation.measurement import FUSED, JudgedResult, Measurement
from quartermaster.evaluation.metrics import NDCG, FullRecall, K, missing_gain

FULL, QUALITY = FullRecall(K), NDCG(K)


@dataclass(frozen=True, slots=True)
class Loss:
    """What one request takes from the means. `full` and `ndcg` are for each missed step, `order` is of nDCG.

    Right tools that are missing cost the missed steps alike; where every step is met, they count as `order`.
    """

    full: float = 0.0
    ndcg: float = 0.0
    order: float = 0.0


def losses(measured: Measurement) -> list[Loss]:
    """Return the loss of each request; over all requests and missed steps they add up to 1 - the mean."""
    judgements = measured.judgements
    with_full = sum(map(FULL.applies, judgements))
    with_ndcg = sum(map(QUALITY.applies, judgements))
    return [_loss(result, with_full, with_ndcg) for result in measured.results]


def _loss(result: JudgedResult, with_full: int, with_ndcg: int) -> Loss:
    judgement, ranking = result.judgement, result.lists[FUSED].ids
    missed = len(missed_places(result))
    full = 1 / len(judgement.steps) / with_full if missed else 0.0
    if not QUALITY.applies(judgement):
        return Loss(full)
    lost = (1 - QUALITY.compute(ranking, judgement)) / with_ndcg
    missing = missing_gain(ranking, judgement) / with_ndcg if missed else 0.0
    return Loss(full, missing / max(missed, 1), max(0.0, lost - missing))


_EXAMPLES = 2
_MAX_TOOLS = 3  # named of a step, and of what stood instead


@dataclass(frozen=True, slots=True)
class _Miss:
    """A missed step with its cause and the evidence, and what its request takes from the means."""

    missed: MissedStep
    cause: Cause
    evidence: str
    loss: Loss


def causes(measured: Measurement) -> dict[str, Any]:
    """Return as JSON the missed steps of a measurement by cause: all causes, in the order of their rules.

    `lost` of a cause is what the means of the metrics lack because of its steps. `order` is the rest of the lost nDCG:
    right tools that stand too low, and alternatives that are missing though every step is met.
    """
    by_request = losses(measured)
    misses = _misses(measured, by_request)
    return {
        "steps": sum(len(judgement.steps) for judgement in measured.judgements if judgement.kind != "none"),
        "missed": len(misses),
        "requests": _requests(misses),
        "lost": _lost(misses),
        "by_cause": {
            str(cause): _of_cause(cause, [miss for miss in misses if miss.cause == cause], len(misses), measured.lists)
            for cause in Cause
        },
        "order": {
            "requests": sum(loss.order > 0 for loss in by_request),
            "lost": {QUALITY.key: math.fsum(loss.order for loss in by_request)},
        },
        "abstention": _abstention(measured),
    }


def cause_changes(first: Measurement, second: Measurement) -> dict[str, dict[str, int]]:
    """Return by cause the steps that each of two measurements misses, and what the first mends and breaks.

    Both are of the same requests. `mended` counts steps that only the second misses, by its cause; `broken` those that
    only the first misses, by its own.
    """
    first_causes, second_causes = _cause_by_step(first), _cause_by_step(second)
    counts = {
        "first": Counter(first_causes.values()),
        "second": Counter(second_causes.values()),
        "mended": Counter(cause for step, cause in second_causes.items() if step not in first_causes),
        "broken": Counter(cause for step, cause in first_causes.items() if step not in second_causes),
    }
    return {str(cause): {name: of[cause] for name, of in counts.items()} for cause in Cause}


def _cause_by_step(measured: Measurement) -> dict[tuple[str, int], Cause]:
    return {(missed.judgement.id, missed.place): decide(missed)[0] for missed in missed_steps(measured)}


def _misses(measured: Measurement, by_request: Sequence[Loss]) -> list[_Miss]:
    loss = {judgement.id: loss for judgement, loss in zip(measured.judgements, by_request, strict=True)}
    return [_Miss(missed, *decide(missed), loss[missed.judgement.id]) for missed in missed_steps(measured)]


def _requests(misses: Sequence[_Miss]) -> int:
    return len({miss.missed.judgement.id for miss in misses})


def _lost(misses: Sequence[_Miss]) -> dict[str, float]:
    return {
        FULL.key: math.fsum(miss.loss.full for miss in misses),
        QUALITY.key: math.fsum(miss.loss.ndcg for miss in misses),
    }


def _of_cause(cause: Cause, misses: Sequence[_Miss], total: int, lists: Sequence[str]) -> dict[str, Any]:
    nearest = Counter(miss.missed.nearest for miss in misses)
    names = [*(str(name) for name in lists if name != FUSED), NO_LIST]
    return {
        "steps": len(misses),
        "share": len(misses) / total if total else 0.0,
        "requests": _requests(misses),
        "lost": _lost(misses),
        "nearest": {name: nearest[name] for name in names},
        "meaning": cause.meaning,
        "way_out": cause.way_out,
        "examples": _examples(misses),
    }


def _examples(misses: Sequence[_Miss]) -> list[dict[str, Any]]:
    """Return the misses that cost the most, of different requests."""
    order = sorted(misses, key=lambda m: (-m.loss.ndcg, -m.loss.full, m.missed.judgement.id, m.missed.place))
    by_request: dict[str, _Miss] = {}
    for miss in order:
        by_request.setdefault(miss.missed.judgement.id, miss)
    return [_example(miss) for miss in list(by_request.values())[:_EXAMPLES]]


def _example(miss: _Miss) -> dict[str, Any]:
    missed = miss.missed
    ranks = {name: rank for name, rank in missed.ranks.items() if name != FUSED}
    return {
        "id": missed.judgement.id,
        "request": missed.judgement.request,
        "missed": [missed.tool_id] if missed.tool_id else sorted(missed.step)[:_MAX_TOOLS],
        "rank": missed.ranks.get(FUSED),
        "ranks": ranks,
        "nearest": missed.nearest,
        "evidence": miss.evidence,
        "instead": list(missed.wrong[:_MAX_TOOLS]),
    }


def _abstention(measured: Measurement) -> dict[str, int] | None:
    """Count the requests that no tool answers and the others, and what the router takes wrongly for the other sort.

    None where the snapshot gives no probability that some tool fits.
    """
    told = [result for result in measured.results if result.fits is not None]
    if not told:
        return None
    none = [result for result in told if result.judgement.kind == "none"]
    return {
        "unanswerable": len(none),
        "answered": sum(not result.none_fits for result in none),
        "answerable": len(told) - len(none),
        "refused": sum(result.none_fits for result in told) - sum(result.none_fits for result in none),
    }
