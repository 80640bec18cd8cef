"""Measure what each signal is worth to the fused list, by leaving it out."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from quartermaster.evaluation.comparison import compared
from quartermaster.evaluation.measurement import Measurement, ask
from quartermaster.evaluation.metrics import means
from router.contract import Signal


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
