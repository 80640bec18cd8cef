"""Two measurements of the same requests, or many against the first: differences, and whether chance explains them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from router.contract import Signal
from router.errors import SettingsInvalid
from router.evaluation import METRICS, differences, intervals
from router.evaluation.answers import FUSED, Measurement
from router.evaluation.metrics import means
from router.evaluation.resampling import Difference, holm
from router.retrieval.recipe import RECIPES, Recipe
from router.router import Router

_MOVED = 10  # requests that are told, of those that moved most


def compared(first: Measurement, second: Measurement) -> dict[str, Difference | None]:
    """By metric, how much better the fused list of the first is than that of the second. Both have the same requests
    in the same order; None for a metric without requests."""
    return dict(zip(METRICS, differences(first.scores(), second.scores()), strict=True))


def against(first: Measurement, second: Measurement) -> dict[str, Any]:
    """A measurement against another one as JSON: the other's own figures, the differences (the first less the other),
    and the requests whose nDCG moved most either way."""
    moved = first.scores()[:, METRICS.index("ndcg@10")] - second.scores()[:, METRICS.index("ndcg@10")]
    order = [int(i) for i in np.argsort(-np.abs(moved), kind="stable") if abs(moved[i]) > 0]  # no NaN is
    rows = [
        {
            "id": first.answers[i].judgement.id,
            "request": first.answers[i].judgement.request,
            "ndcg@10": float(moved[i]),
            "first": list(first.answers[i].lists[FUSED].ids[:3]),
            "second": list(second.answers[i].lists[FUSED].ids[:3]),
        }
        for i in order[:_MOVED]
    ]
    return {
        **in_short(second),
        "difference": {m: d.to_json() if d else None for m, d in compared(first, second).items()},
        "moved": rows,
    }


def in_short(measured: Measurement) -> dict[str, Any]:
    """The fused list of a measurement in short: snapshot, recipe, metrics with intervals, latency."""
    table = measured.scores()
    return {
        "snapshot": measured.router.manifest.snapshot,
        "recipe": measured.recipe.name,
        "tools": len(measured.router),
        "metrics": means(table),
        "intervals": dict(zip(METRICS, map(_listed, intervals(table)), strict=True)),
        "latency_ms": measured.latency(),
    }


def recipes(router: Router, names: Sequence[str] | None = None) -> list[Recipe]:
    """The recipes of these names, where a signal's name is that signal alone; without names, all that the snapshot has
    signals for. Raises SettingsInvalid for an unknown name, or a signal that the snapshot lacks.
    """
    held = router.manifest.signals
    if not names:
        named = [recipe for recipe in RECIPES.values() if any(map(recipe.weights.get, held))]
        return [*named, *(_alone(router, signal) for signal in held)]
    found = []
    for name in names:
        if name not in tuple(Signal):
            found.append(router.recipe(name))
        elif name in held:
            found.append(_alone(router, Signal(name)))
        else:
            raise SettingsInvalid(
                f"the snapshot {router.manifest.snapshot} has no {name} list: it has {', '.join(held)}"
            )
    return found


def _alone(router: Router, signal: Signal) -> Recipe:
    """The snapshot's own recipe with one signal left: same depth, same vectors."""
    return replace(router.recipe(), name=str(signal), weights={signal: 1.0})


def mean(benches: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]] | None:
    """Each recipe's mean of each metric over several benches, every bench alike; a metric that a bench lacks is left
    out of it. None for one bench; a recipe that a bench lacks has no mean."""
    if len(benches) < 2:
        return None
    by_recipe = [{row["recipe"]: row for row in bench["rows"]} for bench in benches]
    found = []
    for name in by_recipe[0]:
        rows = [rows[name] for rows in by_recipe if name in rows]
        if len(rows) == len(benches):
            values = {m: [row["metrics"][m] for row in rows if row["metrics"][m] is not None] for m in METRICS}
            found.append(
                {"recipe": name, "metrics": {m: sum(held) / len(held) if held else None for m, held in values.items()}}
            )
    return found


def ranked(rows: Sequence[Measurement]) -> list[dict[str, Any]]:
    """Measurements of the same requests as rows of a comparison. Each but the first has its `difference` from the
    first by metric, where `p` is corrected for the number of rows (Holm)."""
    found = [{**in_short(row), "difference": None} for row in rows]
    apart = [compared(row, rows[0]) for row in rows[1:]]
    told: list[dict[str, Any]] = [{m: d.to_json() if d else None for m, d in row.items()} for row in apart]
    for metric in METRICS:
        held = [row[metric] for row in told if row[metric]]
        for row, p in zip(held, holm([row["p"] for row in held]), strict=True):
            row["p"] = p
    for row, difference in zip(found[1:], told, strict=True):
        row["difference"] = difference
    return found


def _listed(interval: tuple[float, float] | None) -> list[float] | None:
    return list(interval) if interval else None
