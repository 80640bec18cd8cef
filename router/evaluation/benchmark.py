"""A router measured on judged requests: each signal alone and fused, by slice, with what chance may explain."""

from collections.abc import Callable, Sequence
from typing import Any

from router.evaluation import Judgement
from router.evaluation.ablation import ablate, removable
from router.evaluation.answers import FUSED, Measurement, ask
from router.evaluation.comparison import against, compared, in_short, mean, ranked, recipes
from router.evaluation.misses import unknown, worst
from router.evaluation.result_runs import write_runs
from router.evaluation.summary import figures
from router.retrieval.recipe import Recipe
from router.router import Router

__all__ = [
    "FUSED",
    "Measurement",
    "ablate",
    "against",
    "ask",
    "compared",
    "figures",
    "in_short",
    "mean",
    "measure",
    "ranked",
    "recipes",
    "removable",
    "unknown",
    "worst",
    "write_runs",
]


def measure(
    router: Router,
    judgements: Sequence[Judgement],
    *,
    bench: str,
    recipe: str | Recipe | None = None,
    advance: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """The evaluation as JSON: bench, tools, queries, snapshot, recipe, latency_ms, signals, slices, no_tool, and what
    `figures` adds.

    A signal that the snapshot or the recipe lacks has None for every metric. Latency is that of whole routes of K
    tools, encoding included, the first ten of them left out as warm-up where there are more.
    """
    return figures(ask(router, judgements, recipe, advance=advance), bench)
