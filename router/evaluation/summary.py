"""A measurement as JSON: what every table, page and file of the evaluation is made from."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from router.evaluation import METRICS, Judgement, full_recall, intervals, recall
from router.evaluation.abstention import auc, auc_interval, refused_at_95, reliability
from router.evaluation.answers import Answer, Measurement
from router.evaluation.metrics import first_rank, means
from router.evaluation.misses import misses, unknown
from router.evaluation.slices import slices

CURVE = tuple(range(1, 21))  # k of the recall curve: past twenty tools a prompt is long, and models choose worse
# Up to which rank each bar of the rank distribution counts; past the last a tool was not found.
RANKS = (1, 2, 3, 5, 10, 20, 50, 100)


def figures(measured: Measurement, bench: str) -> dict[str, Any]:
    """The keys that README.md describes; `signals` and `slices` are means, `intervals` 95 % of the fused list's."""
    table = measured.scores()
    by_list = {name: measured.scores(name) for name in measured.lists}
    sliced = slices(measured.judgements, _provider_of(measured))
    judged = sorted({judgement.slice for judgement in measured.judgements} - {""})
    positions = {name: [i for i, j in enumerate(measured.judgements) if j.slice == name] for name in judged}
    no_tool, reliable = _abstention(measured.answers)
    return {
        "bench": bench,
        "tools": len(measured.router),
        "queries": len(measured.answers),
        "snapshot": measured.router.manifest.snapshot,
        "recipe": measured.recipe.name,
        "latency_ms": measured.latency(),
        "signals": {str(name): means(of_list) for name, of_list in by_list.items()},
        "slices": {name: _slice(measured.answers, table, held) for name, held in positions.items()},
        "no_tool": no_tool,
        "intervals": _by_list({str(name): of_list for name, of_list in by_list.items() if len(of_list)}),
        "by": {
            sort: {name: _slice(measured.answers, table, held) for name, held in of_sort.items()}
            for sort, of_sort in sliced.items()
        },
        "reliability": reliable,
        "recall_by_k": {str(name): _curve(list(measured.pairs(name))) for name in measured.lists},
        "ranks": {str(name): _ranks(list(measured.pairs(name))) for name in measured.lists},
        "misses": misses(measured),
        "unknown": unknown(measured),
    }


def _provider_of(measured: Measurement) -> Any:
    def provider(tool_id: str) -> str | None:
        record = measured.router.record(tool_id)
        return record.provider if record else None

    return provider


def _slice(answers: Sequence[Answer], table: NDArray[np.float64], positions: Sequence[int]) -> dict[str, Any]:
    of_slice = table[list(positions)]
    refused = [answers[i].none_fits for i in positions if answers[i].fits is not None]
    return {
        "queries": len(positions),
        **means(of_slice),
        "intervals": _intervals(of_slice),
        "refused": sum(refused) / len(refused) if refused else None,
    }


def _by_list(tables: Mapping[str, NDArray[np.float64]]) -> dict[str, dict[str, list[float] | None]]:
    """The intervals of each list's metrics; one bootstrap for all of them."""
    if not tables:
        return {}
    found = iter(intervals(np.hstack(list(tables.values()))))
    return {
        name: {metric: list(interval) if (interval := next(found)) else None for metric in METRICS} for name in tables
    }


def _intervals(table: NDArray[np.float64]) -> dict[str, list[float] | None]:
    return _by_list({"": table})[""]


def _abstention(answers: Sequence[Answer]) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """`no_tool` and `reliability`: None where the snapshot gives no probability, or no request is of kind none."""
    asked = [answer for answer in answers if answer.fits is not None]
    fits = np.array([answer.fits for answer in asked], np.float64)
    answerable = np.array([answer.judgement.kind != "none" for answer in asked], np.bool_)
    if not answerable.any() or answerable.all():
        return None, None
    refused = np.array([answer.none_fits for answer in asked], np.bool_)
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
    """Recall and full recall at each k of CURVE."""
    answerable = [pair for pair in pairs if pair[1].kind != "none"]
    found = [pair for pair in answerable if pair[1].acceptable]
    stepped = [pair for pair in answerable if pair[1].steps]
    if not found or not stepped:
        return None
    return {
        "recall": [float(np.mean([recall(*pair, k) for pair in found])) for k in CURVE],
        "full": [float(np.mean([full_recall(*pair, k) for pair in stepped])) for k in CURVE],
    }


def _ranks(pairs: Sequence[tuple[Sequence[str], Judgement]]) -> Mapping[str, int] | None:
    """How many requests have their first acceptable tool at which rank; "beyond" are those past the last."""
    ranks = [first_rank(*pair) for pair in pairs if pair[1].kind != "none" and pair[1].acceptable]
    if not ranks:
        return None
    counts = dict.fromkeys([str(edge) for edge in RANKS] + ["beyond"], 0)
    for rank in ranks:
        edge = next((edge for edge in RANKS if rank and rank <= edge), "beyond")
        counts[str(edge)] += 1
    return counts
