"""Rank a catalog's phrases as requests, each without itself in the index, and without its tool."""

from collections.abc import Collection
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pipeline.learning.no_answer_calibration.batch_ranking import BatchRanker, RankedQuery
from router.contract import Expanded, Signal
from router.retrieval.no_answer_calibration import MEAN_COSINE, NEAREST
from router.retrieval.retrievers import DenseView, Ranking

MAX_PHRASES = 1000  # enough to place a quantile: one in forty is 25


def rank_held_out_phrases(ranker: BatchRanker) -> tuple[list[RankedQuery], list[RankedQuery]]:
    """Return the ranked phrases of a catalog, and the same phrases ranked without their tools.

    At most MAX_PHRASES are drawn, evenly, from tools with two or more phrases of their own. A phrase's own vector is
    kept out of the dense list; its tool is kept out of the expansion's list, which has the phrase's words. The second
    rankings have no fitting tool, or only another that fits too: they are the hardest to refuse. Both are empty without
    vectors or phrases.
    """
    snapshot = ranker.snapshot
    if snapshot.dense is None:
        return [], []
    vectors, view = ranker.vectors, snapshot.recipe.dense_view
    counts = np.diff(vectors.offsets) - 1
    owners = np.repeat(np.arange(len(counts)), counts)
    positions = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    eligible = counts[owners] > 1
    if snapshot.expanded is not None:
        eligible &= snapshot.expanded[owners] == Expanded.YES
    places = np.flatnonzero(eligible)
    if not len(places):
        return [], []
    drawn = places[np.linspace(0, len(places) - 1, min(len(places), MAX_PHRASES)).astype(int)]
    drawn_of = list(zip(owners[drawn].tolist(), positions[drawn].tolist(), strict=True))
    encoder = snapshot.manifest.encoder
    phrase_vectors = None
    if encoder is not None and not encoder.query_prefix:  # a request is then encoded as a phrase is
        phrase_vectors = np.stack([vectors.of_tools(owner, owner + 1)[1 + position] for owner, position in drawn_of])
        phrase_vectors /= np.linalg.norm(phrase_vectors, axis=1, keepdims=True)

    def without_itself(rows: slice, requests: NDArray[np.float32], scores: NDArray[np.float64]) -> None:
        if view is DenseView.DOCUMENT:
            return
        for column, ((owner, position), request) in enumerate(zip(drawn_of[rows], requests, strict=True)):
            cosines = vectors.of_tools(owner, owner + 1) @ request
            score = float(np.delete(cosines[1:], position).max())
            scores[owner, column] = (score + float(cosines[0])) / 2 if view is DenseView.MEAN else score

    texts = [snapshot.records.entry(owner).phrases[position] for owner, position in drawn_of]
    ranked = ranker.rank(texts, ranker.query_vectors(texts, phrase_vectors), without_itself)
    held_out = [_without_phrase(ranker, query, *of) for query, of in zip(ranked, drawn_of, strict=True)]
    toolless = [_without_tool(ranker, query, owner) for query, (owner, _) in zip(ranked, drawn_of, strict=True)]
    return held_out, toolless


def _without_phrase(ranker: BatchRanker, query: RankedQuery, owner: int, position: int) -> RankedQuery:
    """Return a ranked phrase as if its tool did not have it."""
    rankings, known = dict(query.rankings), dict(query.rankings)
    if expansion := rankings.pop(Signal.EXPANSION, None):
        known[Signal.EXPANSION] = _without(expansion, {owner})
    evidence = ranker.evidence(known, query.vector)
    if MEAN_COSINE in evidence and query.vector is not None:
        # What the phrase's own vector adds to the mean cosine of the nearest tools' texts.
        among = rankings[Signal.DENSE].ordinals[:NEAREST]
        if owner in among:
            cosines = (ranker.vectors.of_tools(owner, owner + 1) @ query.vector).astype(np.float64)
            own = float(cosines.mean() - np.delete(cosines, 1 + position).mean())
            evidence[MEAN_COSINE] -= own / len(among)
    return RankedQuery(rankings, query.terms, query.vector, evidence)


def _without_tool(ranker: BatchRanker, query: RankedQuery, owner: int) -> RankedQuery:
    """Return a ranked phrase as if its tool, with its duplicates, were not in the catalog."""
    duplicates = ranker.snapshot.duplicates
    removed = {owner} if duplicates is None else set(np.flatnonzero(duplicates == duplicates[owner]).tolist())
    rankings = {signal: _without(ranking, removed) for signal, ranking in query.rankings.items()}
    evidence = ranker.evidence(rankings, query.vector)
    rankings.pop(Signal.EXPANSION, None)
    return RankedQuery(rankings, query.terms, query.vector, evidence)


def _without(ranking: Ranking, tools: Collection[int]) -> Ranking:
    """Return a ranking without some tools."""
    kept = ~np.isin(ranking.ordinals, list(tools))
    return replace(ranking, ordinals=ranking.ordinals[kept], scores=ranking.scores[kept])
