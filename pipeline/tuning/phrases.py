"""A catalog's phrases asked as requests, each as if its tool did not have it."""

from collections.abc import Iterator

import numpy as np

from pipeline.enrichment.lexicon import LexiconGenerator
from pipeline.tuning.cohort import Asked, Asker
from router import contract
from router.contract import Expanded, Signal
from router.retrievers import DenseView, Ranking

# Enough to place a share of them: one in forty is 25 of 1,000.
MAX_PHRASES = 1000


def ask_phrases(asker: Asker) -> Iterator[Asked]:
    """The answers to a catalog's phrases, evenly drawn from tools with two or more of their own, at most MAX_PHRASES.

    A phrase's own vector is kept out of the dense list. The expansion's list is left out: it holds the phrase's words.
    Nothing where there are no vectors, or where the phrases are the lexicon's, made of the records' own words.
    """
    snapshot = asker.snapshot
    if snapshot.dense is None or not set(snapshot.manifest.generators) - {LexiconGenerator.name}:
        return
    offsets = np.load(snapshot.folder / contract.PHRASE_OFFSETS)
    vectors = np.load(snapshot.folder / contract.PHRASE_VECTORS, mmap_mode="r")
    documents = np.load(snapshot.folder / contract.DOCUMENT_VECTORS, mmap_mode="r")
    encoder = snapshot.manifest.encoder
    same = encoder is not None and not encoder.query_prefix  # then a request is encoded as a phrase is
    counts = np.diff(offsets)
    owners = np.repeat(np.arange(len(counts)), counts)
    asked = counts[owners] > 1
    if snapshot.expanded is not None:
        asked &= snapshot.expanded[owners] == Expanded.YES
    places = np.flatnonzero(asked)
    drawn = places[np.linspace(0, len(places) - 1, min(len(places), MAX_PHRASES)).astype(int)] if len(places) else []
    for place in drawn:
        owner = int(owners[place])
        first, last = int(offsets[owner]), int(offsets[owner + 1])
        answer = asker.ask(snapshot.records.entry(owner).phrases[place - first], vectors[place] if same else None)
        assert answer.vector is not None
        others = np.delete(vectors[first:last] @ answer.vector, place - first)
        score = float(others.max())
        if snapshot.recipe.dense_view is DenseView.MEAN:
            score = (score + float(documents[owner] @ answer.vector)) / 2
        rankings: dict[Signal, Ranking] = {s: r for s, r in answer.rankings.items() if s is not Signal.EXPANSION}
        if snapshot.recipe.dense_view is not DenseView.DOCUMENT:
            rankings[Signal.DENSE] = _rescored(rankings[Signal.DENSE], owner, score)
        yield Asked(rankings, answer.terms, answer.vector).cut(snapshot.recipe.depth)


def _rescored(ranking: Ranking, ordinal: int, score: float) -> Ranking:
    return Ranking.of(ranking.ordinals, np.where(ranking.ordinals == ordinal, score, ranking.scores))
