"""Compare measurements of the same requests, and tell differences from chance."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from quartermaster.evaluation.abstention import auc, auc_difference
from quartermaster.evaluation.causes import cause_changes
from quartermaster.evaluation.measurement import FUSED, Measurement, ask
from quartermaster.evaluation.metrics import METRICS, NDCG, K, by_key, means
from quartermaster.evaluation.resampling import Difference, Floats, differences, holm, intervals
from quartermaster.evaluation.slices import judged_slices, slices
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


def _changes(first: Floats, second: Floats) -> dict[str, Any]:
    """Return as JSON by metric how much better the first table of metrics is than the second."""
    return by_key(change and change.to_json() for change in differences(first, second))


def against(first: Measurement, second: Measurement) -> dict[str, Any]:
    """Return as JSON the second measurement's figures, the differences (first less second), and what moved.

    `moved` lists the requests whose nDCG differs most, either way; `causes` counts what became of missed steps; `by`
    are the differences by slice, `no_tool` is that of the AUCs.
    """
    metric = NDCG(K)
    tables = first.scores(), second.scores()
    moved = (tables[0] - tables[1])[:, METRICS.index(metric)]
    order = [i for i in np.argsort(-np.abs(moved), kind="stable").tolist() if abs(moved[i]) > 0]  # NaN > 0 is false
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
        "difference": _changes(*tables),
        "by": compared_slices(first, second),
        "no_tool": compared_abstention(first, second),
        "moved": rows,
        "causes": cause_changes(first, second),
    }


def compared_slices(first: Measurement, second: Measurement) -> dict[str, dict[str, Any]]:
    """Return the differences of the fused lists (first less second) by sort of slice and slice, as JSON.

    A slice has `queries`, the metrics of the `first` and the `second`, and the `difference` by metric, whose p is
    corrected for the number of slices (Holm). "slice" are the slices that the judgements name; a slice without a
    request that some tool answers is left out.
    """
    judgements, tables = first.judgements, (first.scores(), second.scores())
    sorts = {"slice": judged_slices(judgements), **slices(judgements, first.provider_of)}
    found: dict[str, dict[str, Any]] = {}
    for sort, of_sort in sorts.items():
        for name, places in of_sort.items():
            here, there = (table[places] for table in tables)
            if not np.isnan(here).all():
                row = {"queries": len(places), "first": means(here), "second": means(there)}
                found.setdefault(sort, {})[name] = {**row, "difference": _changes(here, there)}
    _correct_for_number([row["difference"] for of_sort in found.values() for row in of_sort.values()])
    return found


def compared_abstention(first: Measurement, second: Measurement) -> dict[str, Any] | None:
    """Return as JSON the AUCs of the `first` and the `second` probability that some tool fits, and the `difference`.

    None where one of them gives no probability, or no request is of kind none.
    """
    pairs = [
        (one.fits, other.fits, one.judgement.kind != "none")
        for one, other in zip(first.results, second.results, strict=True)
        if one.fits is not None and other.fits is not None
    ]
    answerable = np.array([fitting for _, _, fitting in pairs], np.bool_)
    if not answerable.any() or answerable.all():
        return None
    here, there = (np.array(column, np.float64) for column in list(zip(*pairs, strict=True))[:2])
    difference = auc_difference(here, there, answerable)
    return {"first": auc(here, answerable), "second": auc(there, answerable), "difference": difference}


def _correct_for_number(changes: Sequence[Mapping[str, Any]]) -> None:
    """Correct the p of each metric, in place, for the number of comparisons that have the metric (Holm)."""
    for metric in METRICS:
        of_metric = [change[metric.key] for change in changes if change[metric.key]]
        for change, p in zip(of_metric, holm([change["p"] for change in of_metric]), strict=True):
            change["p"] = p


def comparison_row(measured: Measurement) -> dict[str, Any]:
    """Return the fused list of a measurement in short: snapshot, recipe, encoder, metrics with intervals, latency."""
    table = measured.scores()
    return {
        "snapshot": measured.router.manifest.snapshot,
        "recipe": measured.recipe.name,
        "encoder": measured.encoder,
        "tools": len(measured.router),
        "metrics": means(table),
        "intervals": by_key(intervals(table)),
        "latency_ms": measured.latency(),
    }


def comparison_rows(measurements: Sequence[Measurement]) -> list[dict[str, Any]]:
    """Return measurements of the same requests as rows of a comparison.

    Each row but the first has its `difference` from the first by metric, where `p` is corrected for the number of rows
    (Holm).
    """
    first, *others = (measured.scores() for measured in measurements)
    changes = [_changes(table, first) for table in others]
    _correct_for_number(changes)
    pairs = zip(measurements, [None, *changes], strict=True)
    return [{**comparison_row(measured), "difference": change} for measured, change in pairs]


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
    """Return the recipes of these names, where a signal's name means only that signal.

    Without names, return all that the snapshot has signals for. Raises SettingsInvalid for an unknown name, or for a
    signal that the snapshot lacks.
    """
    available = router.manifest.signals
    if not names:
        names = [name for name, recipe in RECIPES.items() if any(map(recipe.weights.get, available))]
        names = [*names, *available]
    return [_signal_alone(router, Signal(n)) if n in tuple(Signal) else router.recipe(n) for n in names]


def _signal_alone(router: Router, signal: Signal) -> Recipe:
    """Return the snapshot's own recipe with one signal left: same depth, same vectors."""
    manifest = router.manifest
    if signal not in manifest.signals:
        has = ", ".join(manifest.signals)
        raise SettingsInvalid(f"the snapshot {manifest.snapshot} has no {signal} list: it has {has}")
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
    by_signal, whole = {}, measured.scores()
    for left_out in removable_signals(measured):
        weights = {signal: weight for signal, weight in measured.recipe.weights.items() if signal != left_out}
        recipe = replace(measured.recipe, name=f"{measured.recipe.name} without {left_out}", weights=weights)
        table = ask(measured.router, measured.judgements, recipe, whole=False, advance=advance).scores()
        by_signal[str(left_out)] = {"metrics": means(table), "difference": _changes(table, whole)}
    return by_signal
