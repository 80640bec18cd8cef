"""Searches a Tantivy index for the tools with the best sums of BM25 scores over some terms.

Tantivy's Python package visits every tool that has any of the terms; it has no pruning. In a large catalog the frequent
terms make nearly all of that work and little of the scores. So the rarer terms are required and the most frequent ones
only add to the scores of tools that have one of those (MaxScore: Turtle and Flood, Information Processing & Management
31, 1995). The hits are those of all terms: a tool without a required term scores less than the last hit, or the search
is done again. See docs/decisions/large-catalogs.md.
"""

import math
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
import tantivy
from numpy.typing import NDArray
from tantivy import Occur, Query

from router.contract import ORDINAL_FIELD
from router.errors import SnapshotInvalid
from router.refusals import damage_refused

_MOST_KEPT_TERMS = 8_192  # whose clauses an index keeps: some 300 bytes each
_MOST_SCORE = 2.2  # times idf, that a term can add: k1 + 1, which it nears where a text says it very often
_SLACK = 1.001  # over the rounding of sums in 32 bits

# Nanoseconds, measured: to score a tool that has a term, and to look one up in the list of an optional term.
_VISIT, _LOOK_UP = 5.0, 13.0
_MIN_VISITS = 30_000  # that are worth planning for
_WORTHWHILE = 0.5  # of the time of visiting all: beyond that, pruning is left
# The last hit's score in most searches is more than this share of what all terms could add.
_GUESSED_SHARE = 0.3

Hits = tuple[NDArray[np.int64], NDArray[np.float64]]  # ordinals and scores, best first
_DAMAGED = "an index of the snapshot is damaged"
_NO_HITS: Hits = (np.empty(0, np.int64), np.empty(0, np.float64))


class Clause(NamedTuple):
    """One word of a request.

    `query` is what it searches for, and `variance` its part of the variance of the scores. `matching` tools have it,
    and it adds no more than `bound` to a score.
    """

    query: Query
    variance: float
    matching: int
    bound: float


class TermSearch:
    """An index's searcher, with the clauses of the terms that requests have used."""

    def __init__(self, index: tantivy.Index) -> None:
        self._schema = index.schema
        self._searcher = index.searcher()
        self.tools = int(self._searcher.num_docs)
        # Not a method: the cache would hold this object, and its files would stay mapped after a reload.
        self._clause = lru_cache(_MOST_KEPT_TERMS)(partial(_term_clause, self._schema, self._searcher))

    def has_field(self, field: str) -> bool:
        """Return whether the index has a field of text."""
        try:
            _term_query(self._schema, field, "")
        except ValueError:
            return False
        return True

    def doc_freq(self, field: str, term: str) -> int:
        """Return how many tools' texts in a field have a term."""
        return self._clause(field, term).matching

    def clause(self, field: str, term: str, weight: float = 1.0) -> Clause:
        """Return the clause of one term, which adds `weight` times its score."""
        clause = self._clause(field, term)
        if weight == 1:
            return clause
        query = Query.boost_query(clause.query, weight)
        return Clause(query, clause.variance * weight**2, clause.matching, clause.bound * weight)

    def best_clause(self, terms: Sequence[tuple[str, str]]) -> Clause:
        """Return the clause of a word, given as its term by field: a tool's score is that of the best field."""
        clauses = [self._clause(field, term) for field, term in terms]
        if len(clauses) == 1:
            return clauses[0]
        query = Query.disjunction_max_query([clause.query for clause in clauses])
        variance = max(clause.variance for clause in clauses)
        # Without a bound, it is always required: looking tools up in several lists at once is not quick.
        return Clause(query, variance, sum(clause.matching for clause in clauses), math.inf)

    def hits(self, clauses: Sequence[Clause], limit: int) -> Hits:
        """Return the best hits, at most `limit`; equal scores by ordinal.

        Raises SnapshotInvalid where the index is damaged, of which opening reads little.
        """
        with damage_refused(_DAMAGED):
            hits = self._pruned(clauses, limit)
            if not hits:
                return _NO_HITS
            scores, addresses = zip(*hits, strict=True)
            values: list[Any] = self._searcher.fast_field_values(ORDINAL_FIELD, list(addresses))
            is_within = min(values) >= 0 and max(values) < self.tools
            found = np.array(values, np.int64), np.array(scores, np.float64)
        if not is_within:
            raise SnapshotInvalid(f"{_DAMAGED}: it gives a tool that the snapshot does not have")
        return found

    def _pruned(self, clauses: Sequence[Clause], limit: int) -> list[tuple[Any, tantivy.DocAddress]]:
        """Return the best hits, found in the order of expected work: with optional terms first, where that pays."""
        if sum(clause.matching for clause in clauses) < _MIN_VISITS:
            return self._searched(clauses, (), limit)
        known = [clause for clause in clauses if clause.matching]
        least = _GUESSED_SHARE * sum(clause.bound for clause in known if clause.bound < math.inf)
        while optional := optional_clauses(known, least):
            hits = self._searched([clause for clause in known if clause not in optional], optional, limit)
            least = hits[-1][0] if len(hits) >= limit else 0.0
            if _added_by(optional) < least:
                return hits
        return self._searched(clauses, (), limit)

    def _searched(
        self, required: Sequence[Clause], optional: Sequence[Clause], limit: int
    ) -> list[tuple[Any, tantivy.DocAddress]]:
        """Return the best tools that have any of the required terms; the optional ones add to their scores."""
        query = Query.boolean_query([(Occur.Should, clause.query) for clause in required])
        # One in another: Tantivy skips through the list of a single optional term, and visits all tools of several.
        for clause in optional:
            query = Query.boolean_query([(Occur.Must, query), (Occur.Should, clause.query)])
        return self._searcher.search(query, limit, count=False).hits


def optional_clauses(clauses: Sequence[Clause], least: float) -> list[Clause]:
    """Return the most frequent clauses, as many as make the search quickest, which together add less than `least`.

    Empty where a search with all of them required takes about as long.
    """
    by_frequency = sorted(clauses, key=lambda clause: -clause.matching)
    visits = sum(clause.matching for clause in clauses)
    best, quickest = 0, _WORTHWHILE * _VISIT * visits
    for count in range(1, len(by_frequency)):
        if _added_by(by_frequency[:count]) >= least:
            break
        visits -= by_frequency[count - 1].matching
        if (time := visits * (_VISIT + _LOOK_UP * count)) < quickest:
            best, quickest = count, time
    return by_frequency[:best]


def _added_by(clauses: Sequence[Clause]) -> float:
    """Return more than the clauses add to any score."""
    return _SLACK * sum(clause.bound for clause in clauses)


def _term_clause(schema: tantivy.Schema, searcher: tantivy.Searcher, field: str, term: str) -> Clause:
    """Return the clause of a field's term; its share of the tools is smoothed like BM25's idf.

    Raises SnapshotInvalid where the index's dictionary is damaged: this is the first to read it.
    """
    with damage_refused(_DAMAGED):
        tools, matching = searcher.num_docs, searcher.doc_freq(field, term)
    share = (matching + 0.5) / (tools + 1)
    idf = math.log(1 + (tools - matching + 0.5) / (matching + 0.5))
    return Clause(_term_query(schema, field, term), share * (1 - share) * idf**2, matching, _MOST_SCORE * idf)


def _term_query(schema: tantivy.Schema, field: str, term: str) -> Query:
    return Query.term_query(schema, field, term, "freq")
