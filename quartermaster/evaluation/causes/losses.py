"""Split what the metrics of a measurement lack: between missed steps, and the order of what was found."""

from dataclasses import dataclass

from quartermaster.evaluation.causes.missed_step import missed_places
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
