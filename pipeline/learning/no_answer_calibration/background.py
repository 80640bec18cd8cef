"""Background queries: everyday requests that ship with the project, and what they score on each tool of a catalog.

A request's scores are normalised by theirs. They are in background.txt.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from pipeline.learning.no_answer_calibration.batch_ranking import BatchRanker, RankedQuery, lexical_scores
from router.contract import Signal
from router.retrieval.score_normalization import BackgroundScores, length_normalized


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


def score_background(
    ranker: BatchRanker, background: Sequence[BackgroundQuery]
) -> tuple[BackgroundScores, list[RankedQuery]]:
    """Return the background scores of a catalog, and the ranked background queries in their order.

    A list that no background query reaches has no scale, and is left out.
    """
    dense = ScoreMoments(len(ranker.snapshot.records))
    requests = [query.request for query in background]
    ranked = ranker.rank(requests, on_scores=lambda _rows, _vectors, scores: dense.add(scores))
    statistics = lexical_statistics(ranker, [query.terms for query in ranked])
    if dense.squares.any():
        statistics[Signal.DENSE] = dense.statistics()
    direction = None  # from the mean of talk to the mean of errands
    if found := [query.vector for query in ranked if query.vector is not None]:
        vectors, is_errand = np.stack(found), np.array([query.is_errand for query in background])
        direction = vectors[is_errand].mean(axis=0) - vectors[~is_errand].mean(axis=0)
    return BackgroundScores(statistics, direction), ranked


def lexical_statistics(
    ranker: BatchRanker, request_terms: Sequence[Sequence[str]]
) -> dict[Signal, NDArray[np.float32]]:
    """Return the statistics of a snapshot's BM25 lists over requests, given as their terms.

    A list that no request reaches is left out. All tools are measured, because the rarity of a word depends on the
    whole catalog; among 10,000 tools this takes half a second.
    """
    tools = len(ranker.snapshot.records)
    statistics = {}
    for signal, retriever in ranker.snapshot.lexical.items():
        moments = ScoreMoments(tools)
        for words, scores in zip(request_terms, lexical_scores(retriever, request_terms, tools), strict=True):
            moments.add(length_normalized(signal, scores, words)[:, None])
        if moments.squares.any():
            statistics[signal] = moments.statistics()
    return statistics


class ScoreMoments:
    """Sums of each tool's scores over requests; a tool that shares no word with a request scores 0."""

    def __init__(self, tools: int) -> None:
        self.count = 0
        self.sums: NDArray[np.float64] = np.zeros(tools)
        self.squares: NDArray[np.float64] = np.zeros(tools)

    def add(self, scores: NDArray[np.float64]) -> None:
        """Add scores of shape (tools, requests)."""
        self.count += scores.shape[1]
        self.sums += scores.sum(axis=1)
        self.squares += np.einsum("tr,tr->t", scores, scores)

    def statistics(self, mean_deviation: float | None = None) -> NDArray[np.float32]:
        """Return mean and standard deviation of each tool, shape (2, tools).

        Deviations are shrunk halfway towards `mean_deviation`, by default the mean over these tools: a tool that few of
        400 queries touch has next to none. See docs/decisions/abstention.md.
        """
        mean = self.sums / self.count
        deviation = np.sqrt(np.maximum(self.squares / self.count - mean**2, 0))
        target = deviation.mean() if mean_deviation is None else mean_deviation
        return np.stack([mean, (deviation + target) / 2]).astype(np.float32)
