"""Rank a catalog's phrases as requests, each without itself in the index, and without its tool."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from pipeline.learning.no_answer_calibration.batch_ranking import BatchRanker, RankedQuery
from router.contract import Expanded, Signal
from router.retrieval.no_answer_calibration import MEAN_COSINE, NEAREST
from router.retrieval.retrievers import DenseView, LexicalRetriever, Ranking
from router.retrieval.retrievers.indexing import index_field
from router.tools.field_text import FieldDocuments
from router.tools.foreign_text import request_language

MAX_PHRASES = 1000  # enough to place a quantile: one in forty is 25
MAX_TRANSLATIONS = 300  # of a language: each must be encoded, which takes milliseconds
_MOST_FOLDS = 4  # of translations, where few tools have any
HeldOut = list[tuple[RankedQuery, RankedQuery]]  # ranked phrases, each with the same ranked without its tool


def rank_held_out_phrases(ranker: BatchRanker) -> dict[str, HeldOut]:
    """Return the ranked phrases of a catalog by language.

    At most MAX_PHRASES are drawn, evenly, from tools with two or more phrases of their own. A phrase's own vector is
    kept out of the dense list; its tool is kept out of the expansion's list, which has the phrase's words. The second
    rankings have no fitting tool, or only another that fits too: they are the hardest to refuse. Empty without
    vectors or phrases.
    """
    snapshot = ranker.snapshot
    if snapshot.dense is None:
        return {}
    vectors, view = ranker.vectors, snapshot.recipe.dense_view
    counts = np.diff(vectors.offsets) - 1
    owners = np.repeat(np.arange(len(counts)), counts)
    positions = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    eligible = counts[owners] > 1
    if snapshot.expanded is not None:
        eligible &= snapshot.expanded[owners] == Expanded.YES
    places = np.flatnonzero(eligible)
    if not len(places):
        return {}
    drawn = places[_evenly(len(places), MAX_PHRASES)]
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
    by_language = defaultdict[str, HeldOut](list)
    for text, query, (owner, position) in zip(texts, ranked, drawn_of, strict=True):
        toolless = without_tools(ranker, query, {owner})
        lists = dict(toolless.rankings)
        lists.pop(Signal.EXPANSION, None)
        pair = _without_phrase(ranker, query, owner, position), replace(toolless, rankings=lists)
        by_language[request_language(text)].append(pair)
    return by_language


def rank_held_out_translations(
    ranker: BatchRanker, documents: Sequence[FieldDocuments], enough: int
) -> dict[str, HeldOut]:
    """Return translations by language, each ranked by an index without it, from tools with two or more.

    `documents` are those of all tools. One translation of each tool is held out at a time, until there are `enough`.
    """
    by_language, snapshot = defaultdict[str, HeldOut](list), ranker.snapshot
    languages = snapshot.manifest.languages
    for place in range(_MOST_FOLDS):
        owners = {
            code: [o for o, one in enumerate(documents) if len(one.translations.get(code, ())) > max(place, 1)]
            for code in languages
            if len(by_language[code]) < enough
        }
        if not any(owners.values()):
            break
        shorter = (
            {code: texts[:place] + texts[place + 1 :] for code, texts in one.translations.items()} for one in documents
        )
        rest = [replace(one, translations=left) for one, left in zip(documents, shorter, strict=True)]
        retriever = LexicalRetriever(index_field(Signal.EXPANSION, rest, languages).index, languages)
        without = BatchRanker(replace(snapshot, retrievers={**snapshot.retrievers, Signal.EXPANSION: retriever}))
        for code, of in owners.items():
            drawn = [of[row] for row in _evenly(len(of), MAX_TRANSLATIONS)]
            queries = without.rank([documents[owner].translations[code][place] for owner in drawn])
            toolless = (without_tools(without, query, {o}) for query, o in zip(queries, drawn, strict=True))
            by_language[code] += zip(queries, toolless, strict=True)
    return {code: pairs for code, pairs in by_language.items() if pairs}


def _evenly(count: int, most: int) -> NDArray[np.int64]:
    """Return at most `most` rows of `count`, evenly."""
    return np.linspace(0, count - 1, min(count, most)).astype(int)


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


def without_tools(ranker: BatchRanker, query: RankedQuery, tools: Collection[int]) -> RankedQuery:
    """Return a ranked request as if some tools, with their duplicates, were not in the catalog."""
    duplicates, removed = ranker.snapshot.duplicates, set(tools)
    if duplicates is not None:
        removed = set(np.flatnonzero(np.isin(duplicates, duplicates[list(tools)])).tolist())
    rankings = {signal: _without(ranking, removed) for signal, ranking in query.rankings.items()}
    return RankedQuery(rankings, query.terms, query.vector, ranker.evidence(rankings, query.vector))


def _without(ranking: Ranking, tools: Collection[int]) -> Ranking:
    """Return a ranking without some tools."""
    kept = ~np.isin(ranking.ordinals, list(tools))
    return structs.replace(ranking, ordinals=ranking.ordinals[kept], scores=ranking.scores[kept])
