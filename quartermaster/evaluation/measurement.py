"""Put queries with qrels to a router: its lists, probabilities and times are kept, and written as TREC files.

Every retrieval evaluation tool reads TREC files. A line of qrels is `request 0 tool relevance`, of a run
`request Q0 tool rank score list`. Spaces and percent signs inside an id are percent-encoded.
"""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from quartermaster.evaluation.judgements import Judgement
from quartermaster.evaluation.metrics import METRICS, K, Metric, scores
from router.contract import DOCUMENT_SIGNALS, Signal
from router.retrieval.recipe import Recipe
from router.router import Router
from router.tools.naming import former_ids

FUSED = "fused"
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
    """A router's result for one judgement.

    `lists` are by name; `fits` is the probability that some tool fits, None where the snapshot has none; `none_fits`
    says whether the router would abstain; `milliseconds` is the time of one route of K tools.
    """

    judgement: Judgement
    lists: dict[str, RankedList]
    fits: float | None
    none_fits: bool
    milliseconds: float


@dataclass(frozen=True)
class Measurement:
    """A router's results for queries with qrels, by one recipe."""

    router: Router
    recipe: Recipe
    results: tuple[JudgedResult, ...]

    @property
    def lists(self) -> tuple[str, ...]:
        """The lists that figures are given for; the intent list only where the snapshot has one."""
        intent = (Signal.INTENT,) if Signal.INTENT in self.router.manifest.signals else ()
        return tuple(str(name) for name in (*DOCUMENT_SIGNALS, *intent, FUSED))

    @property
    def judgements(self) -> list[Judgement]:
        """The judgements, in order."""
        return [result.judgement for result in self.results]

    @property
    def encoder(self) -> dict[str, Any] | None:
        """The encoder that the snapshot was built with, as JSON; None without vectors."""
        encoder = self.router.manifest.encoder
        return asdict(encoder) if encoder else None

    def provider_of(self, tool_id: str) -> str | None:
        """Return the provider of a tool; None where the snapshot lacks the tool, or the tool a provider."""
        record = self.router.record(tool_id)
        return record.provider if record else None

    def pairs(self, name: str = FUSED) -> Iterator[tuple[tuple[str, ...], Judgement]]:
        """Return the rankings of a list with their judgements; none where the recipe or the snapshot lacks the list."""
        return ((r.lists[name].ids, r.judgement) for r in self.results if name in r.lists)

    def scores(self, name: str = FUSED, metrics: Sequence[Metric] = METRICS) -> NDArray[np.float64]:
        """Return a list's metrics by request, shape (requests, metrics); (0, metrics) where there is no such list."""
        return scores(self.pairs(name), metrics)

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
    for judgement in following(judgements, router):
        started = time.perf_counter()
        routed = router.route(judgement.request, needs=judgement.needs, k=K, recipe=chosen)
        milliseconds = (time.perf_counter() - started) * 1e3
        lists = {FUSED: RankedList(routed.ids, tuple(tool.score for tool in routed))}
        if whole:
            lists |= whole_lists(router, judgement.request, chosen, tool_id, judgement.needs)
        results.append(JudgedResult(judgement, lists, routed.fits, routed.none_fits, milliseconds))
        advance()
    return Measurement(router, chosen, tuple(results))


def following(judgements: Sequence[Judgement], router: Router) -> list[Judgement]:
    """Return judgements with the ids that tools have in the router in place of those that they may have elsewhere."""
    named = frozenset[str]().union(*(judgement.tools for judgement in judgements))
    ids = {} if all(map(router.record, named)) else former_ids(router.tools)
    return [judgement.with_ids(ids) for judgement in judgements]


def whole_lists(
    router: Router, request: str, recipe: Recipe, tool_id: Callable[[int], str] | None = None, needs: Sequence[str] = ()
) -> dict[str, RankedList]:
    """Return DEPTH tools of every list for a request, the fused one last. `tool_id` reads ids, by default the router.

    Raises RequestInvalid for a blank request.
    """
    rankings, fused = router.lists(request, needs=needs, recipe=recipe)
    lists = {}
    for name, ranking in (*rankings.items(), (FUSED, fused)):
        ordinals, values = ranking.ordinals[:DEPTH].tolist(), ranking.scores[:DEPTH].tolist()
        lists[str(name)] = RankedList(tuple(map(tool_id or router.tool_id, ordinals)), tuple(values))
    return lists


def write_runs(folder: Path, measured: Measurement) -> list[Path]:
    """Write `qrels.txt` and a `<list>.run` for each list of the measurement; return their paths.

    Makes the folder where there is none, replaces files of the same names, and removes the run of a list that this
    measurement lacks.
    """
    folder.mkdir(exist_ok=True)
    texts = {"qrels.txt": qrels(measured.judgements)}
    for name in (*Signal, FUSED):
        rows = [(r.judgement, r.lists[name].ids, r.lists[name].scores) for r in measured.results if name in r.lists]
        if rows:
            texts[f"{name}.run"] = run(name, rows)
        else:
            (folder / f"{name}.run").unlink(missing_ok=True)
    for file, text in texts.items():
        (folder / file).write_text(text, encoding="utf-8")
    return [folder / file for file in texts]


def qrels(judgements: Iterable[Judgement]) -> str:
    """Return the relevant tools of each request as qrels, with relevance 1, as nDCG counts them.

    Requests that no tool answers have no line, so that other tools leave them out too.
    """
    return "".join(
        f"{_escaped(judgement.id)} 0 {_escaped(tool_id)} 1\n"
        for judgement in judgements
        if judgement.kind != "none"
        for tool_id in sorted(judgement.relevant)
    )


def run(name: str, rows: Iterable[tuple[Judgement, Sequence[str], Sequence[float]]]) -> str:
    """Return a list's tools and scores for each request as a run, best first.

    Other tools order a run only by score, as 32-bit floats, and break ties their own way. Equal scores are therefore
    lowered by the least step, which keeps our order.
    """
    lines = []
    for judgement, ids, values in rows:
        if judgement.kind == "none":
            continue
        last = np.float32(np.inf)
        for rank, (tool_id, score) in enumerate(zip(ids, values, strict=True), 1):
            last = min(np.float32(score), np.nextafter(last, np.float32(-np.inf)))
            lines.append(f"{_escaped(judgement.id)} Q0 {_escaped(tool_id)} {rank} {float(last):.9g} {name}\n")
    return "".join(lines)


def _escaped(text: str) -> str:
    return re.sub(r"[\s%\x00-\x1f]", lambda match: quote(match[0], safe=""), text) or "%"
