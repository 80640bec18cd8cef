"""BM25 of registered tools beside a snapshot's index, by the index's own statistics, so that scores compare."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from router.retrieval.retrievers import MAX_QUERY_TERMS, Admitted, EncodedQuery, LexicalRetriever, Ranking
from router.text import ENGLISH, terms_by_language

# Tantivy's, which are fixed there.
_K1, _B = 1.2, 0.75
# Lengths that Lucene's byte has room for beside those of three bits and an exponent.
_FREE = 24


class Postings:
    """Which of some texts have a term, and what its frequency counts for in them.

    `texts` are terms with their counts. `mean_length` is that of the index that they stand beside, in terms; None,
    where that is not known, takes their own.
    """

    def __init__(self, texts: Sequence[Counter[str]], mean_length: float | None) -> None:
        lengths = np.array([text.total() for text in texts], np.float64)
        mean = mean_length or (lengths.mean() if lengths.any() else 1.0)
        norms = _K1 * (1 - _B + _B * np.array([_kept(int(length)) for length in lengths]) / mean)
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

    def scores(self, terms: Iterable[str], index: LexicalRetriever) -> NDArray[np.float64]:
        """The BM25 score of each text, (texts,), 0 where it has none of the terms.

        A term is as rare as the index says; of one that the index has not, as these texts say.
        """
        scores = np.zeros(self._count)
        for term in terms:
            first, last = self._bounds.get(term, (0, 0))
            if first < last:
                held = index.doc_freq(term) or last - first
                idf = math.log(1 + (max(index.tools - held, 0) + 0.5) / (held + 0.5))
                scores[self._texts[first:last]] += idf * self._weights[first:last]
        return scores


class OverlaidLexical:
    """A snapshot's index and, with ordinals from `first` on, English texts of registered tools."""

    def __init__(
        self, index: LexicalRetriever, texts: Sequence[Counter[str]], first: int, mean_length: float | None
    ) -> None:
        self._index = index
        self._postings = Postings(texts, mean_length)
        self._first = first

    needs_vector = False

    def rank(self, query: EncodedQuery, depth: int, admitted: Admitted | None = None) -> Ranking:
        """As `LexicalRetriever.rank`."""
        if len(self._index.languages) > 1:
            return self.rank_by_language(terms_by_language(query.text, self._index.languages), depth, admitted)
        return self.rank_terms(query.terms, depth, admitted)

    def rank_terms(self, request_terms: Sequence[str], depth: int, admitted: Admitted | None = None) -> Ranking:
        """As `LexicalRetriever.rank_terms`."""
        found = self._index.rank_terms(request_terms, depth, admitted)
        return self._with_texts(found, dict.fromkeys(request_terms[:MAX_QUERY_TERMS]), depth, admitted)

    def rank_by_language(
        self, words: Iterable[Mapping[str, str]], depth: int, admitted: Admitted | None = None
    ) -> Ranking:
        """As `LexicalRetriever.rank_by_language`."""
        words = list(words)
        found = self._index.rank_by_language(words, depth, admitted)
        english = [word[ENGLISH] for word in words[:MAX_QUERY_TERMS] if ENGLISH in word]
        return self._with_texts(found, english, depth, admitted)

    def _with_texts(self, found: Ranking, terms: Iterable[str], depth: int, admitted: Admitted | None) -> Ranking:
        """A ranking of the index with the texts that share a term; its spread is that of the index alone."""
        scores = self._postings.scores(terms, self._index)
        # Of a full ranking's, only those count that are better than its last: most often none is.
        hits = np.flatnonzero(scores > (found.scores[-1] if len(found) >= depth else 0))
        ordinals = hits + self._first
        if admitted is not None:
            within = admitted.mask[ordinals]
            hits, ordinals = hits[within], ordinals[within]
        if not len(hits):
            return found
        both = np.concatenate([found.ordinals, ordinals]), np.concatenate([found.scores, scores[hits]])
        return Ranking.of(*both, found.center, found.spread).cut(depth)


def _kept(length: int) -> int:
    """A text's length as Tantivy keeps it, in one byte: exact to 40, then rounded down, as Lucene's SmallFloat does."""
    beyond = max(length - _FREE, 0)
    shift = max(beyond.bit_length() - 4, 0)
    return min(length, _FREE) + (beyond >> shift << shift)
