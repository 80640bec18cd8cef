"""A catalog's phrases asked as requests: each as if its tool did not have it, and as if there were no such tool."""

from collections.abc import Collection
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pipeline.enrichment.lexicon import LexiconGenerator
from pipeline.learning.calibration.cohort import Asked, Asker
from router.contract import Expanded, Signal
from router.retrieval.features import MEAN_COSINE, NEAREST
from router.retrieval.retrievers import DenseView, Ranking

# Enough to place a share of them: one in forty is 25 of 1,000.
MAX_PHRASES = 1000


def ask_phrases(asker: Asker) -> tuple[list[Asked], list[Asked]]:
    """Return the answers to a catalog's phrases, and to the same phrases without their tools.

    The phrases are evenly drawn from tools with two or more of their own, at most MAX_PHRASES. A phrase's own vector is
    kept out of the dense list; the expansion's list, which holds the phrase's words, leaves out its tool. The second
    answers have no fitting tool, or only another's: the hardest requests to refuse. Nothing where there are no vectors,
    or where the phrases are the lexicon's, made of the records' own words.
    """
    snapshot = asker.snapshot
    if snapshot.dense is None or not set(snapshot.manifest.generators) - {LexiconGenerator.name}:
        return [], []
    vectors, view = asker.vectors, snapshot.recipe.dense_view
    counts = np.diff(vectors.offsets) - 1
    owners = np.repeat(np.arange(len(counts)), counts)
    positions = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    asked = counts[owners] > 1
    if snapshot.expanded is not None:
        asked &= snapshot.expanded[owners] == Expanded.YES
    places = np.flatnonzero(asked)
    if not len(places):
        return [], []
    drawn = places[np.linspace(0, len(places) - 1, min(len(places), MAX_PHRASES)).astype(int)]
    drawn_of = list(zip(owners[drawn].tolist(), positions[drawn].tolist(), strict=True))
    encoder = snapshot.manifest.encoder
    own = None
    if encoder is not None and not encoder.query_prefix:  # then a request is encoded as a phrase is
        own = np.stack([vectors.of_tools(owner, owner + 1)[1 + position] for owner, position in drawn_of])
        own /= np.linalg.norm(own, axis=1, keepdims=True)

    def without_it(rows: slice, requests: NDArray[np.float32], scores: NDArray[np.float64]) -> None:
        if view is DenseView.DOCUMENT:
            return
        for column, ((owner, position), request) in enumerate(zip(drawn_of[rows], requests, strict=True)):
            cosines = vectors.of_tools(owner, owner + 1) @ request
            score = float(np.delete(cosines[1:], position).max())
            scores[owner, column] = (score + float(cosines[0])) / 2 if view is DenseView.MEAN else score

    texts = [snapshot.records.entry(owner).phrases[position] for owner, position in drawn_of]
    answers = asker.ask(texts, own, without_it)
    found = [_found(asker, answer, *of) for answer, of in zip(answers, drawn_of, strict=True)]
    absent = [_absent(asker, answer, owner) for answer, (owner, _) in zip(answers, drawn_of, strict=True)]
    return found, absent


def _found(asker: Asker, answer: Asked, owner: int, position: int) -> Asked:
    """An answer to a phrase that its tool does not have."""
    rankings = dict(answer.rankings)
    others = _without(rankings.pop(Signal.EXPANSION, None), {owner})
    known = rankings if others is None else {**rankings, Signal.EXPANSION: others}
    told = asker.evidence(known, answer.vector)
    if MEAN_COSINE in told and answer.vector is not None:
        told[MEAN_COSINE] -= _share_of_it(asker, rankings[Signal.DENSE], answer.vector, owner, position)
    return Asked(rankings, answer.terms, answer.vector, told)


def _share_of_it(asker: Asker, nearest: Ranking, vector: NDArray[np.float32], owner: int, position: int) -> float:
    """What the phrase's own vector adds to the mean cosine of the nearest tools' texts."""
    among = nearest.ordinals[:NEAREST]
    if owner not in among:
        return 0.0
    cosines = (asker.vectors.of_tools(owner, owner + 1) @ vector).astype(np.float64)
    return float(cosines.mean() - np.delete(cosines, 1 + position).mean()) / len(among)


def _absent(asker: Asker, answer: Asked, owner: int) -> Asked:
    """An answer to a phrase whose tool, with its duplicates, is not there."""
    duplicates = asker.snapshot.duplicates
    gone = {owner} if duplicates is None else set(np.flatnonzero(duplicates == duplicates[owner]).tolist())
    rankings = {s: left for s, ranking in answer.rankings.items() if (left := _without(ranking, gone)) is not None}
    told = asker.evidence(rankings, answer.vector)
    rankings.pop(Signal.EXPANSION, None)
    return Asked(rankings, answer.terms, answer.vector, told)


def _without(ranking: Ranking | None, tools: Collection[int]) -> Ranking | None:
    """A list without some tools."""
    if ranking is None:
        return None
    kept = ~np.isin(ranking.ordinals, list(tools))
    return replace(ranking, ordinals=ranking.ordinals[kept], scores=ranking.scores[kept])
