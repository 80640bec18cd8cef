"""Background queries: everyday requests that ship with the project, and what they score on each tool of a catalog.

A request's scores are normalised by theirs. They are in background.txt; talk.txt has some in other languages.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from pipeline.learning.no_answer_calibration.batch_ranking import BatchRanker, dense_scores, lexical_scores
from router.contract import Signal
from router.retrieval.score_normalization import BackgroundScores, length_normalized
from router.search.search import clean_request
from router.text import terms


@dataclass(frozen=True, slots=True)
class BackgroundQuery:
    """An everyday request: an errand takes some tool, talk takes none."""

    request: str
    is_errand: bool


@cache
def background() -> tuple[BackgroundQuery, ...]:
    """Return the requests in the order of the file: those of the section [talk], then those of [errand]."""
    file = resources.files("pipeline.learning.no_answer_calibration").joinpath("background.txt")
    talk, errands = file.read_text(encoding="utf-8").split("\n[errand]\n")
    return tuple(
        BackgroundQuery(line.strip(), is_errand)
        for section, is_errand in ((talk, False), (errands, True))
        for line in section.split("\n")
        if line.strip() and not line.startswith(("#", "["))
    )


@cache
def talk() -> Mapping[str, tuple[str, ...]]:
    """Return what no tool answers by language, of the languages but English that have a section in the file."""
    file = resources.files("pipeline.learning.no_answer_calibration").joinpath("talk.txt")
    _, *sections = file.read_text(encoding="utf-8").split("\n[")
    parts = (section.split("]\n") for section in sections)
    return {language: tuple(filter(None, lines.split("\n"))) for language, lines in parts}


def score_background(
    ranker: BatchRanker, background: Sequence[BackgroundQuery], vectors: NDArray[np.float32] | None
) -> BackgroundScores:
    """Return what background queries score on each tool of a catalog.

    `vectors` (queries, dim) are those that the dense lists are ranked by; None without dense lists. All tools are
    measured; a tool that shares no word with a query scores 0. A list that no query reaches has no scale, and is left
    out.
    """
    snapshot = ranker.snapshot
    tools = len(snapshot.records)
    requests = [clean_request(query.request) for query in background]
    query_terms = list(map(terms, requests))
    moments = {}
    for signal, retriever in snapshot.lexical.items():
        moments[signal] = _Moments(tools)
        for words, scores in zip(query_terms, lexical_scores(retriever, requests, tools), strict=True):
            moments[signal].add(length_normalized(signal, scores, words)[:, None])
    direction = None  # from the mean of talk to the mean of errands
    if vectors is not None:
        moments[Signal.DENSE] = _Moments(tools)
        for _, scores in dense_scores(ranker.vectors, vectors, snapshot.recipe.dense_view):
            moments[Signal.DENSE].add(scores)
        is_errand = np.array([query.is_errand for query in background])
        direction = vectors[is_errand].mean(axis=0) - vectors[~is_errand].mean(axis=0)
    statistics = {signal: of.statistics() for signal, of in moments.items() if of.squares.any()}
    return BackgroundScores(statistics, direction)


class _Moments:
    """Sums of each tool's scores over requests."""

    def __init__(self, tools: int) -> None:
        self.count = 0
        self.sums: NDArray[np.float64] = np.zeros(tools)
        self.squares: NDArray[np.float64] = np.zeros(tools)

    def add(self, scores: NDArray[np.float64]) -> None:
        """Add scores of shape (tools, requests)."""
        self.count += scores.shape[1]
        self.sums += scores.sum(axis=1)
        self.squares += np.einsum("tr,tr->t", scores, scores)

    def statistics(self) -> NDArray[np.float32]:
        """Return mean and standard deviation of each tool, shape (2, tools).

        Deviations are shrunk halfway towards their mean: a tool that few of 400 queries touch has next to none. See
        docs/decisions/abstention.md.
        """
        mean = self.sums / self.count
        deviation = np.sqrt(np.maximum(self.squares / self.count - mean**2, 0))
        return np.stack([mean, (deviation + deviation.mean()) / 2]).astype(np.float32)
