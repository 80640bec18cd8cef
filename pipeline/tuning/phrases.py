"""A catalog's phrases asked as requests, each as if its tool did not have it."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pipeline.enrichment.lexicon import LexiconGenerator
from pipeline.tuning.cohort import Asked, Asker
from router.contract import Expanded, Signal
from router.retrievers import DenseView, Ranking

# Enough to place a share of them: one in forty is 25 of 1,000.
MAX_PHRASES = 1000


def ask_phrases(asker: Asker) -> list[Asked]:
    """The answers to a catalog's phrases, evenly drawn from tools with two or more of their own, at most MAX_PHRASES.

    A phrase's own vector is kept out of the dense list. The expansion's list is left out: it holds the phrase's words.
    Nothing where there are no vectors, or where the phrases are the lexicon's, made of the records' own words.
    """
    snapshot = asker.snapshot
    if snapshot.dense is None or not set(snapshot.manifest.generators) - {LexiconGenerator.name}:
        return []
    vectors, view = asker.vectors, snapshot.recipe.dense_view
    counts = np.diff(vectors.offsets) - 1
    owners = np.repeat(np.arange(len(counts)), counts)
    positions = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    asked = counts[owners] > 1
    if snapshot.expanded is not None:
        asked &= snapshot.expanded[owners] == Expanded.YES
    places = np.flatnonzero(asked)
    if not len(places):
        return []
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
    return [replace(one, rankings=_without_expansion(one.rankings)) for one in answers]


def _without_expansion(rankings: Mapping[Signal, Ranking]) -> dict[Signal, Ranking]:
    return {signal: ranking for signal, ranking in rankings.items() if signal is not Signal.EXPANSION}
