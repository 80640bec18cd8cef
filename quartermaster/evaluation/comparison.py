"""Compare measurements of the same requests, and tell differences from chance."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from quartermaster.evaluation.causes import cause_changes
from quartermaster.evaluation.measurement import FUSED, Measurement, ask, encoder_json
from quartermaster.evaluation.metrics import METRICS, NDCG, K, by_key, means
from quartermaster.evaluation.resampling import Difference, differences, intervals
from quartermaster.evaluation.slices import compared_abstention, compared_slices, correct_for_number
from router.contract import Signal
from router.errors import SettingsInvalid
from router.retrieval.recipe import RECIPES, Recipe
from router.router import Router

_MOST_MOVED = 10  # requests listed, of those that moved most


def compared(first: Measurement, second: Measurement) -> dict[str, Difference | None]:
    """Return by metric how much better the first fused list is than the second; None for a metric without requests.

    Both measurements are of the same requests in the same order.
    """
    return by_key(differences(first.scores(), second.scores()))


def against(first: Measurement, second: Measurement) -> dict[str, Any]:
    """Return as JSON the second measurement's figures, the differences (first less second), and what moved.

    `moved` lists the requests whose nDCG differs most, either way; `causes` counts what became of missed steps; `by`
    are the differences by slice, `no_tool` is that of the AUCs.
    """
    metric = NDCG(K)
    column = METRICS.index(metric)
    moved = first.scores()[:, column] - second.scores()[:, column]
    order = [int(i) for i in np.argsort(-np.abs(moved), kind="stable") if abs(moved[i]) > 0]  # NaN > 0 is false
    rows = [
        {
            "id": first.results[i].judgement.id,
            "request": first.results[i].judgement.request,
            metric.key: float(moved[i]),
            "first": list(first.results[i].lists[FUSED].ids[:3]),
            "second": list(second.results[i].lists[FUSED].ids[:3]),
        }
        for i in order[:_MOST_MOVED]
    ]
    return {
        **comparison_row(second),
        "difference": {key: d.to_json() if d else None for key, d in compared(first, second).items()},
        "by": compared_slices(first, second),
        "no_tool": compared_abstention(first, second),
        "moved": rows,
        "causes": cause_changes(first, second),
    }


def comparison_row(measured: Measurement) -> dict[str, Any]:
    """Return the fused list of a measurement in short: snapshot, recipe, encoder, metrics with intervals, latency."""
    table = measured.scores()
    return {
        "snapshot": measured.router.manifest.snapshot,
        "recipe": measured.recipe.name,
        "encoder": encoder_json(measured),
        "tools": len(measured.router),
        "metrics": means(table),
        "intervals": by_key(list(interval) if interval else None for interval in intervals(table)),
        "latency_ms": measured.latency(),
    }


def comparison_rows(measurements: Sequence[Measurement]) -> list[dict[str, Any]]:
    """Return measurements of the same requests as rows of a comparison.

    Each row but the first has its `difference` from the first by metric, where `p` is corrected for the number of rows
    (Holm).
    """
    rows = [{**comparison_row(measured), "difference": None} for measured in measurements]
    compared_rows = [compared(measured, measurements[0]) for measured in measurements[1:]]
    changes: list[dict[str, Any]] = [
        {key: d.to_json() if d else None for key, d in row.items()} for row in compared_rows
    ]
    correct_for_number(changes)
    for row, change in zip(rows[1:], changes, strict=True):
        row["difference"] = change
    return rows


def mean_rows(benches: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]] | None:
    """Return each recipe's mean of each metric over several benches; None for one bench.

    Every bench counts alike. A bench that lacks a metric is left out of its mean; a recipe that a bench lacks has none.
    """
    if len(benches) < 2:
        return None
    by_recipe = [{row["recipe"]: row for row in bench["rows"]} for bench in benches]
    averaged = []
    for name in by_recipe[0]:
        rows = [of_bench[name] for of_bench in by_recipe if name in of_bench]
        if len(rows) == len(benches):
            columns = ([v for row in rows if (v := row["metrics"][metric.key]) is not None] for metric in METRICS)
            metrics = by_key(sum(values) / len(values) if values else None for values in columns)
            averaged.append({"recipe": name, "metrics": metrics})
    return averaged


def recipes_to_compare(router: Router, names: Sequence[str] | None = None) -> list[Recipe]:
    """Return the recipes of these names, where a signal's name means that signal alone.

    Without names, return all that the snapshot has signals for. Raises SettingsInvalid for an unknown name, or for a
    signal that the snapshot lacks.
    """
    available = router.manifest.signals
    if not names:
        named = [recipe for recipe in RECIPES.values() if any(map(recipe.weights.get, available))]
        return [*named, *(_alone(router, signal) for signal in available)]
    chosen = []
    for name in names:
        if name not in tuple(Signal):
            chosen.append(router.recipe(name))
        elif name in available:
            chosen.append(_alone(router, Signal(name)))
        else:
            raise SettingsInvalid(
                f"the snapshot {router.manifest.snapshot} has no {name} list: it has {', '.join(available)}"
            )
    return chosen


def _alone(router: Router, signal: Signal) -> Recipe:
    """Return the snapshot's own recipe with one signal left: same depth, same vectors."""
    return replace(router.recipe(), name=str(signal), weights={signal: 1.0})


def removable_signals(measured: Measurement) -> list[Signal]:
    """Return the signals that the recipe weighs and the snapshot has; none where there is only one."""
    available = measured.router.manifest.signals
    weighed = [signal for signal in Signal if signal in available and measured.recipe.weights.get(signal)]
    return weighed if len(weighed) > 1 else []


def ablate(measured: Measurement, advance: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """Return by signal the metrics of the fused list without it, and their difference from the list with it.

    Routes every request once for each removable signal; `advance` is called after each route.
    """
    by_signal = {}
    for left_out in removable_signals(measured):
        weights = {signal: weight for signal, weight in measured.recipe.weights.items() if signal != left_out}
        recipe = replace(measured.recipe, name=f"{measured.recipe.name} without {left_out}", weights=weights)
        without = ask(measured.router, measured.judgements, recipe, whole=False, advance=advance)
        by_signal[str(left_out)] = {
            "metrics": means(without.scores()),
            "difference": {key: d.to_json() if d else None for key, d in compared(without, measured).items()},
        }
    return by_signal
