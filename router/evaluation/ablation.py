"""What a signal is worth to the fused list: the list without it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from router.contract import Signal
from router.evaluation.answers import Measurement, ask
from router.evaluation.comparison import compared
from router.evaluation.metrics import means


def removable(measured: Measurement) -> list[Signal]:
    """The signals that the recipe weighs and the snapshot has, where there is another one to stand without it."""
    held = measured.router.manifest.signals
    weighed = [signal for signal in Signal if signal in held and measured.recipe.weights.get(signal)]
    return weighed if len(weighed) > 1 else []


def ablate(measured: Measurement, advance: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """By signal: the metrics of the fused list without it, and how much they fall short of the list with it.

    Each takes a route a request. `advance` is called once a request and signal.
    """
    found = {}
    for left_out in removable(measured):
        weights = {signal: weight for signal, weight in measured.recipe.weights.items() if signal != left_out}
        recipe = replace(measured.recipe, name=f"{measured.recipe.name} without {left_out}", weights=weights)
        without = ask(measured.router, measured.judgements, recipe, whole=False, advance=advance)
        found[str(left_out)] = {
            "metrics": means(without.scores()),
            "difference": {m: d.to_json() if d else None for m, d in compared(without, measured).items()},
        }
    return found
