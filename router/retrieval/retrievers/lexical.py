"""Lexical signals: BM25 over the index of a field."""

import math
import shutil
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import tantivy
from numpy.typing import NDArray
from tantivy import Occur, Query

from router.contract import ORDINAL_FIELD, TEXT_FIELD, Manifest, Signal, text_field
from router.errors import SnapshotInvalid
from router.refusals import DAMAGE, damage_refused, described, is_panic
from router.retrieval.retrievers.ranking import EMPTY, Ranking
from router.retrieval.retrievers.retriever import Admitted, EncodedQuery, Retriever
from router.text import ENGLISH, LANGUAGES, terms_by_language

# A request of thousands of words would make a query of thousands of clauses: the first terms carry it.
MAX_QUERY_TERMS = 256
_MARGIN = 1.5  # over the hits that hold enough admitted tools on average
_MOST_KEPT_TERMS = 8_192  # an index's terms whose query and variance are kept: some 300 bytes each


class Lexical(Retriever, Protocol):
    """Ranks tools by BM25 over one field of each, from an index or an index with an overlay."""

    def rank_terms(self, request_terms: Sequence[str], depth: int, admitted: Admitted | None = None) -> Ranking:
        """Return the `depth` best admitted tools that share a term with the request."""
        ...

    def rank_by_language(
        self, words: Iterable[Mapping[str, str]], depth: int, admitted: Admitted | None = None
    ) -> Ranking:
        """Return the same over the fields of several languages, by the words that `terms_by_language` returns."""
        ...


class LexicalRetriever:
    """Ranks tools by BM25 (k1 = 1.2, b = 0.75, fixed in Tantivy) over one field of each.

    The spread of a ranking is that of a tool drawn at random if the request's terms fell on tools independently:
    sqrt(Σ p (1 - p) idf²), p a term's share of the tools. A term that no tool has adds to it, so a list that knows few
    of the request's words is less sure of its best. The center is 0, the score of a tool without any of the terms.
    See docs/decisions/0016-lexical-ranking.md.
    """

    needs_vector = False

    def __init__(self, index: tantivy.Index, languages: Sequence[str] = (ENGLISH,)) -> None:
        """Internal: use `open`."""
        self.languages = tuple(languages)
        self._schema = index.schema
        self._searcher = index.searcher()
        self._tools = int(self._searcher.num_docs)
        # Not a method: the cache would hold the retriever, and its files would stay mapped after a reload.
        self._clause = lru_cache(_MOST_KEPT_TERMS)(partial(_clause, self._schema, self._searcher))

    @classmethod
    def open(cls, folder: Path, expected: int, languages: Sequence[str] = (ENGLISH,)) -> "LexicalRetriever":
        """Open a Tantivy index.

        Raises SnapshotInvalid where it cannot be read, holds another number of tools, or lacks a language's field.
        """
        with damage_refused(f"the index {folder} cannot be opened"):
            retriever = cls(_open_through_links(folder), languages)
        if retriever.tools != expected:
            raise SnapshotInvalid(f"the index {folder} holds {retriever.tools} tools, not {expected}")
        for language in (ENGLISH, *languages):
            if language not in LANGUAGES or not retriever._has(text_field(language)):
                raise SnapshotInvalid(f"the index {folder} has no phrases in the language {language!r}")
        return retriever

    def rank(self, query: EncodedQuery, depth: int, admitted: Admitted | None = None) -> Ranking:
        """Return the `depth` best admitted tools that share a term with the query, in any of the index's languages."""
        if len(self.languages) > 1:
            return self.rank_by_language(terms_by_language(query.text, self.languages), depth, admitted)
        return self.rank_terms(query.terms, depth, admitted)

    def rank_terms(self, request_terms: Sequence[str], depth: int, admitted: Admitted | None = None) -> Ranking:
        """Return the `depth` best admitted tools that share a term with the request.

        A term counts once, however often it occurs in the request (BM25 with k3 = 0).
        """
        terms = dict.fromkeys(request_terms[:MAX_QUERY_TERMS])
        return self._best([self._clause(TEXT_FIELD, term) for term in terms], depth, admitted)

    def rank_by_language(
        self, words: Iterable[Mapping[str, str]], depth: int, admitted: Admitted | None = None
    ) -> Ranking:
        """Return the `depth` best admitted tools over the fields of several languages.

        `words` are those that `terms_by_language` returns. A word counts only in the language that it scores best in,
        because names such as "Slack" are the same in all of them.
        """
        return self._best([self._word(word) for word in islice(words, MAX_QUERY_TERMS)], depth, admitted)

    @property
    def tools(self) -> int:
        """Return how many tools there are, with a text or without."""
        return self._tools

    def doc_freq(self, term: str) -> int:
        """Return how many tools' English text has a term."""
        return int(self._searcher.doc_freq(text_field(ENGLISH), term))

    def _word(self, word: Mapping[str, str]) -> "_Clause":
        """Return the clause of a word, given as its term by language: that of its best language."""
        clauses = [self._clause(text_field(language), term) for language, term in word.items()]
        if len(clauses) == 1:
            return clauses[0]
        best = Query.disjunction_max_query([clause.query for clause in clauses])
        return _Clause(best, max(clause.variance for clause in clauses))

    def _has(self, field: str) -> bool:
        try:
            _term_query(self._schema, field, "")
        except ValueError:
            return False
        return True

    def _best(self, clauses: Sequence["_Clause"], depth: int, admitted: Admitted | None) -> Ranking:
        """Return the best tools by the clauses of a request's words."""
        if not clauses or (admitted is not None and not len(admitted)):
            return EMPTY
        query = Query.boolean_query([(Occur.Should, clause.query) for clause in clauses])
        ordinals, scores = self._hits(query, depth) if admitted is None else self._admitted(query, depth, admitted)
        return Ranking.of(ordinals, scores, spread=math.sqrt(sum(clause.variance for clause in clauses)))

    def _admitted(self, query: Query, depth: int, admitted: Admitted) -> "_Hits":
        """Return the first `depth` admitted hits.

        The first search asks for as many hits as contain them if filter and request are independent; further ones ask
        for more.
        """
        tools = self._tools
        wanted = min(depth, len(admitted))
        rejected = len(admitted.mask) - len(admitted)  # at most so many hits are of no use
        limit = min(math.ceil(_MARGIN * wanted / admitted.share), wanted + rejected, tools)
        while True:
            ordinals, scores = self._hits(query, limit)
            is_admitted = admitted.mask[ordinals]
            if is_admitted.sum() >= wanted or len(ordinals) < limit or limit == tools:
                return ordinals[is_admitted][:depth], scores[is_admitted][:depth]
            limit = min(4 * limit, tools)

    def _hits(self, query: Query, limit: int) -> "_Hits":
        """Return the best hits. Raises SnapshotInvalid where the index is damaged, of which opening reads little."""
        try:
            hits = self._searcher.search(query, limit, count=False).hits
            if not hits:
                return _NO_HITS
            found, addresses = zip(*hits, strict=True)
            values: list[Any] = self._searcher.fast_field_values(ORDINAL_FIELD, list(addresses))
            within = 0 <= min(values) and max(values) < self._tools
            ordinals, scores = np.array(values, np.int64), np.array(found, np.float64)
        except BaseException as error:
            if not isinstance(error, DAMAGE) and not is_panic(error):
                raise
            raise SnapshotInvalid(f"an index of the snapshot is damaged: {described(error)}") from error
        if not within:
            raise SnapshotInvalid(
                "an index of the snapshot is damaged: it gives a tool that the snapshot does not have"
            )
        return ordinals, scores


class _Clause(NamedTuple):
    """One word of a request: what it searches for, and its part of the variance of the scores."""

    query: Query
    variance: float


def _clause(schema: tantivy.Schema, searcher: tantivy.Searcher, field: str, term: str) -> _Clause:
    """Return the clause of a field's term; its share of the tools is smoothed like BM25's idf."""
    tools, matching = searcher.num_docs, searcher.doc_freq(field, term)
    share = (matching + 0.5) / (tools + 1)
    variance = share * (1 - share) * math.log(1 + (tools - matching + 0.5) / (matching + 0.5)) ** 2
    return _Clause(_term_query(schema, field, term), variance)


def _term_query(schema: tantivy.Schema, field: str, term: str) -> Query:
    return Query.term_query(schema, field, term, "freq")


def open_lexical(signal: Signal, folder: Path, manifest: Manifest, tools: int) -> LexicalRetriever:
    """Open the index of one lexical signal; only the expansion's has the fields of all of the catalog's languages.

    Raises SnapshotInvalid as `LexicalRetriever.open` does.
    """
    languages = manifest.languages if signal is Signal.EXPANSION else (ENGLISH,)
    return LexicalRetriever.open(folder / signal, tools, languages)


_Hits = tuple[NDArray[np.int64], NDArray[np.float64]]  # ordinals and scores, best first
_NO_HITS: _Hits = (np.empty(0, np.int64), np.empty(0, np.float64))


def _open_through_links(folder: Path) -> tantivy.Index:
    """Open an index without writing into its folder, which may be read-only and shared.

    Tantivy makes a lock file beside an index that it opens. So the index is opened through links in a temporary folder,
    which can be removed once the files are mapped.
    """
    links = Path(tempfile.mkdtemp(prefix="quartermaster-"))
    try:
        for path in folder.iterdir():
            if not path.name.endswith(".lock"):
                (links / path.name).symlink_to(path.absolute())  # not resolved: it may lead to a descriptor
        return tantivy.Index.open(str(links))
    finally:
        _remove(links)


def _remove(folder: Path) -> None:
    """Remove the folder of links; try again where Tantivy's own thread has just put its lock file there."""
    for _ in range(100):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.001)
