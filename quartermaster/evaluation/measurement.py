"""Put judged requests to a router, and keep its lists, its probabilities and its times."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quartermaster.evaluation.judgements import Judgement
from quartermaster.evaluation.metrics import K, scores
from router.contract import DOCUMENT_SIGNALS, Signal
from router.retrieval.recipe import Recipe
from router.router import Router

FUSED = "fused"
LISTS = (*Signal, FUSED)
# Tools kept of each list: other evaluation tools expect so many in a run, and ranks are counted up to here.
DEPTH = 100
_WARM_UP = 10


@dataclass(frozen=True, slots=True)
class RankedList:
    """A list of tools for one request, best first: ids and their scores."""

    ids: tuple[str, ...]
    scores: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class JudgedResult:
    """A router's result for one judged request.

    `lists` are by name; `fits` is the probability that some tool fits, None where the snapshot has none; `none_fits`
    says whether the router would refuse; `milliseconds` is the time of one route of K tools.
    """

    judgement: Judgement
    lists: dict[str, RankedList]
    fits: float | None
    none_fits: bool
    milliseconds: float


@dataclass(frozen=True)
class Measurement:
    """A router's results for judged requests, by one recipe."""

    router: Router
    recipe: Recipe
    results: tuple[JudgedResult, ...]

    @property
    def lists(self) -> tuple[str, ...]:
        """The lists that figures are given for; the intent list only where the snapshot has one."""
        intent = (Signal.INTENT,) if Signal.INTENT in self.router.manifest.signals else ()
        return (*DOCUMENT_SIGNALS, *intent, FUSED)

    @property
    def judgements(self) -> list[Judgement]:
        """The requests, in order."""
        return [result.judgement for result in self.results]

    def provider_of(self, tool_id: str) -> str | None:
        """Return the provider of a tool; None where the snapshot lacks the tool, or the tool a provider."""
        record = self.router.record(tool_id)
        return record.provider if record else None

    def pairs(self, name: str = FUSED) -> Iterator[tuple[tuple[str, ...], Judgement]]:
        """Return the rankings of a list with their judgements; none where the recipe or the snapshot lacks the list."""
        return ((r.lists[name].ids, r.judgement) for r in self.results if name in r.lists)

    def scores(self, name: str = FUSED) -> NDArray[np.float64]:
        """Return a list's metrics by request, shape (requests, metrics); (0, metrics) where there is no such list."""
        return scores(self.pairs(name))

    def latency(self) -> dict[str, float | None]:
        """Return p50 and p95 of a route of K tools in milliseconds, encoding included.

        The first ten are left out as warm-up where there are more.
        """
        timed = [result.milliseconds for result in self.results]
        timed = timed[_WARM_UP:] or timed
        return {f"p{p}": round(float(np.percentile(timed, p)), 3) if timed else None for p in (50, 95)}


def ask(
    router: Router,
    judgements: Sequence[Judgement],
    recipe: str | Recipe | None = None,
    *,
    whole: bool = True,
    advance: Callable[[], None] = lambda: None,
) -> Measurement:
    """Put each request to the router. `advance` is called once a request.

    With `whole`, keep DEPTH tools of every list; without, only the K fused tools, which takes a third of the time.
    Raises SettingsInvalid for an unknown recipe.
    """
    # Duplicates are listed one by one: judgements may name any of them.
    chosen = replace(router.recipe(recipe), collapse=False)
    tool_id = cache(router.tool_id)
    results = []
    for judgement in judgements:
        started = time.perf_counter()
        routed = router.route(judgement.request, k=K, recipe=chosen)
        milliseconds = (time.perf_counter() - started) * 1e3
        lists = {FUSED: RankedList(routed.ids, tuple(tool.score for tool in routed))}
        if whole:
            lists |= whole_lists(router, judgement.request, chosen, tool_id)
        results.append(JudgedResult(judgement, lists, routed.fits, routed.none_fits, milliseconds))
        advance()
    return Measurement(router, chosen, tuple(results))


def encoder_json(measured: Measurement) -> dict[str, Any] | None:
    """Return the encoder that the snapshot was built with, as its manifest tells it; None without vectors."""
    encoder = measured.router.manifest.encoder
    return asdict(encoder) if encoder else None


def whole_lists(
    router: Router, request: str, recipe: Recipe, tool_id: Callable[[int], str] | None = None
) -> dict[str, RankedList]:
    """Return DEPTH tools of every list for a request, the fused one last. `tool_id` reads ids, by default the router.

    Raises RequestInvalid for a blank request.
    """
    rankings, fused = router.lists(request, recipe=recipe)
    lists = {}
    for name, ranking in (*rankings.items(), (FUSED, fused)):
        ordinals, values = ranking.ordinals[:DEPTH].tolist(), ranking.scores[:DEPTH].tolist()
        lists[name] = RankedList(tuple(map(tool_id or router.tool_id, ordinals)), tuple(values))
    return lists
