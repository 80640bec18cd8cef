"""BM25 of registered tools beside a snapshot's index. It uses the index's statistics, so that scores are comparable."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from router.retrieval.retrievers import MAX_QUERY_TERMS, Admitted, EncodedQuery, LexicalRetriever, Ranking
from router.retrieval.retrievers.retriever import NO_FORMS, Forms
from router.text import ENGLISH, terms_by_language

# Tantivy's values, which cannot be changed there.
_K1, _B = 1.2, 0.75
# Lucene's byte stores this many lengths exactly before those of three bits and an exponent.
_EXACT_LENGTHS = 24


class Postings:
    """The texts that have each term, with the term's BM25 weight in them.

    `texts` are counted terms. `mean_length` is the mean length of the index's texts in terms; None, where it is
    unknown, takes the mean of these texts.
    """

    def __init__(self, texts: Sequence[Counter[str]], mean_length: float | None) -> None:
        lengths = np.array([text.total() for text in texts], np.float64)
        mean = mean_length or (lengths.mean() if lengths.any() else 1.0)
        norms = _K1 * (1 - _B + _B * np.array([_stored_length(int(length)) for length in lengths]) / mean)
        numbers: dict[str, int] = {}
        term_of = np.array([numbers.setdefault(term, len(numbers)) for text in texts for term in text], np.int64)
        text_of = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
        counts = np.array([count for text in texts for count in text.values()], np.float64)
        order = np.argsort(term_of, kind="stable")
        self._texts = text_of[order]
        self._weights = ((_K1 + 1) * counts / (counts + norms[text_of]))[order]
        bounds = np.searchsorted(term_of[order], np.arange(len(numbers) + 1)).tolist()
        self._bounds = dict(zip(numbers, pairwise(bounds), strict=True))
        self._count = len(texts)

    def scores(self, weights: Mapping[str, float], index: LexicalRetriever) -> NDArray[np.float64]:
        """Return the BM25 score of each text by weighted terms, float64 (texts,); 0 where it has none of them.

        The document frequency of a term is the index's, or that of these texts where the index lacks the term.
        """
        scores = np.zeros(self._count)
        for term, weight in weights.items():
            first, last = self._bounds.get(term, (0, 0))
            if first < last:
                frequency = index.doc_freq(term) or last - first
                idf = math.log(1 + (max(index.tools - frequency, 0) + 0.5) / (frequency + 0.5))
                scores[self._texts[first:last]] += weight * idf * self._weights[first:last]
        return scores


class OverlaidLexical:
    """A snapshot's index together with English texts of registered tools, whose ordinals begin at `first`."""

    def __init__(
        self, index: LexicalRetriever, texts: Sequence[Counter[str]], first: int, mean_length: float | None
    ) -> None:
        self.languages = index.languages
        self._index = index
        self._postings = Postings(texts, mean_length)
        self._first = first

    needs_vector = False

    def rank(self, query: EncodedQuery, depth: int, admitted: Admitted | None = None) -> Ranking:
        """As `LexicalRetriever.rank`."""
        if len(self.languages) > 1:
            return self.rank_by_language(terms_by_language(query.text, self.languages), depth, admitted, query.forms)
        return self.rank_terms(query.terms, depth, admitted, query.forms)

    def rank_terms(
        self, request_terms: Sequence[str], depth: int, admitted: Admitted | None = None, forms: Forms = NO_FORMS
    ) -> Ranking:
        """As `LexicalRetriever.rank_terms`."""
        found = self._index.rank_terms(request_terms, depth, admitted, forms)
        return self._with_texts(
            found, {**dict.fromkeys(request_terms[:MAX_QUERY_TERMS], 1.0), **forms}, depth, admitted
        )

    def rank_by_language(
        self, words: Iterable[Mapping[str, str]], depth: int, admitted: Admitted | None = None, forms: Forms = NO_FORMS
    ) -> Ranking:
        """Return what `LexicalRetriever.rank_by_language` returns, of both."""
        words = list(words)
        ranking = self._index.rank_by_language(words, depth, admitted, forms)
        english = {word[ENGLISH]: 1.0 for word in words[:MAX_QUERY_TERMS] if ENGLISH in word}
        return self._with_texts(ranking, {**english, **forms}, depth, admitted)

    def _with_texts(
        self, ranking: Ranking, weights: Mapping[str, float], depth: int, admitted: Admitted | None
    ) -> Ranking:
        """Return the index's ranking with the texts that share a term. Its spread stays the index's."""
        scores = self._postings.scores(weights, self._index)
        # A full ranking only admits texts that beat its last tool, and most often none does.
        hits = np.flatnonzero(scores > (ranking.scores[-1] if len(ranking) >= depth else 0))
        ordinals = hits + self._first
        if admitted is not None:
            within = admitted.mask[ordinals]
            hits, ordinals = hits[within], ordinals[within]
        if not len(hits):
            return ranking
        both = np.concatenate([ranking.ordinals, ordinals]), np.concatenate([ranking.scores, scores[hits]])
        return Ranking.of(*both, ranking.center, ranking.spread).cut(depth)


def _stored_length(length: int) -> int:
    """Return a length as Tantivy stores it in one byte: exact up to 40, then rounded down like Lucene's SmallFloat."""
    beyond = max(length - _EXACT_LENGTHS, 0)
    shift = max(beyond.bit_length() - 4, 0)
    return min(length, _EXACT_LENGTHS) + (beyond >> shift << shift)
