"""Judged requests put to a router: what each list held, how sure the router was, how long it took."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from router.contract import DOCUMENT_SIGNALS, Signal
from router.evaluation import Judgement, K, scores
from router.retrieval.recipe import Recipe
from router.router import Router

FUSED = "fused"
LISTS = (*Signal, FUSED)
# Tools of a list that are kept: what other evaluation tools expect of a run, and where ranks are counted to.
DEPTH = 100
_WARM_UP = 10


@dataclass(frozen=True, slots=True)
class Hits:
    """A list of tools for one request, best first: ids and their scores."""

    ids: tuple[str, ...]
    scores: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a router made of one request: its lists by name, the probability that some tool fits (None where the
    snapshot has none), whether it would refuse, and the milliseconds of one route of K tools."""

    judgement: Judgement
    lists: dict[str, Hits]
    fits: float | None
    none_fits: bool
    milliseconds: float


@dataclass(frozen=True)
class Measurement:
    """A router's answers to judged requests, by one recipe."""

    router: Router
    recipe: Recipe
    answers: tuple[Answer, ...]

    @property
    def lists(self) -> tuple[str, ...]:
        """The lists that its figures are of; that of past requests only where the snapshot has any."""
        others = (s for s in self.router.manifest.signals if s not in DOCUMENT_SIGNALS)
        return (*DOCUMENT_SIGNALS, *others, FUSED)

    @property
    def judgements(self) -> list[Judgement]:
        """The requests, in order."""
        return [answer.judgement for answer in self.answers]

    def pairs(self, name: str = FUSED) -> Iterator[tuple[tuple[str, ...], Judgement]]:
        """The rankings of a list with their judgements; none where the recipe or the snapshot lacks the list."""
        return ((a.lists[name].ids, a.judgement) for a in self.answers if name in a.lists)

    def scores(self, name: str = FUSED) -> NDArray[np.float64]:
        """The metrics of a list by request, shape (requests, 6); (0, 6) where the list is lacking."""
        return scores(self.pairs(name))

    def latency(self) -> dict[str, float | None]:
        """Milliseconds of a route of K tools, encoding included: p50 and p95, the first ten left out as warm-up."""
        timed = [answer.milliseconds for answer in self.answers]
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
    """Put each request to the router. Without `whole`, only the K fused tools are asked for: a third of the time.

    Raises SettingsInvalid for a recipe that is not known. `advance` is called once a request.
    """
    # Twins stand one by one: judgements may name any of them.
    chosen = replace(router.recipe(recipe), collapse=False)
    tool_id = cache(router.tool_id)
    answers = []
    for judgement in judgements:
        started = time.perf_counter()
        routed = router.route(judgement.request, k=K, recipe=chosen)
        milliseconds = (time.perf_counter() - started) * 1e3
        lists = {FUSED: Hits(routed.ids, tuple(tool.score for tool in routed))}
        if whole:
            rankings, fused = router.lists(judgement.request, recipe=chosen)
            for name, ranking in (*rankings.items(), (FUSED, fused)):
                ordinals, values = ranking.ordinals[:DEPTH].tolist(), ranking.scores[:DEPTH].tolist()
                lists[name] = Hits(tuple(map(tool_id, ordinals)), tuple(values))
        answers.append(Answer(judgement, lists, routed.fits, routed.none_fits, milliseconds))
        advance()
    return Measurement(router, chosen, tuple(answers))
