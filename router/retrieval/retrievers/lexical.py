"""Lexical signals: BM25 over the index of a field."""

import math
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Protocol

import tantivy

from router.contract import TEXT_FIELD, Manifest, Signal, text_field
from router.errors import SnapshotInvalid
from router.files import remove_links
from router.refusals import damage_refused
from router.retrieval.retrievers.retriever import EMPTY, NO_FORMS, Admitted, EncodedQuery, Forms, Ranking, Retriever
from router.retrieval.retrievers.term_search import Clause, Hits, TermSearch
from router.text import ENGLISH, LANGUAGES, terms_by_language

# A request of thousands of words would make a query of thousands of clauses: the first terms carry it.
MAX_QUERY_TERMS = 256
_MARGIN = 1.5  # over the hits that hold enough admitted tools on average


class Lexical(Retriever, Protocol):
    """Ranks tools by BM25 over one field of each, from an index or an index with an overlay.

    `languages` are those of the index's fields.
    """

    languages: tuple[str, ...]

    def rank_terms(
        self, request_terms: Sequence[str], depth: int, admitted: Admitted | None = None, forms: Forms = NO_FORMS
    ) -> Ranking:
        """Return the `depth` best admitted tools that share a term or a form with the request."""
        ...

    def rank_by_language(
        self, words: Iterable[Mapping[str, str]], depth: int, admitted: Admitted | None = None, forms: Forms = NO_FORMS
    ) -> Ranking:
        """Return the same over the fields of several languages, by the words that `terms_by_language` returns."""
        ...


class LexicalRetriever:
    """Ranks tools by BM25 (k1 = 1.2, b = 0.75, fixed in Tantivy) over one field of each.

    The spread of a ranking is that of a tool drawn at random if the request's terms fell on tools independently:
    sqrt(Σ p (1 - p) idf²), p a term's share of the tools. A term that no tool has adds to it, so a list that knows few
    of the request's words is less sure of its best. The center is 0, the score of a tool without any of the terms.
    See docs/decisions/fusion.md.
    """

    needs_vector = False

    def __init__(self, index: tantivy.Index, languages: Sequence[str] = (ENGLISH,)) -> None:
        """Internal: use `open`."""
        self.languages = tuple(languages)
        self._search = TermSearch(index)

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
            if language not in LANGUAGES or not retriever._search.has_field(text_field(language)):
                raise SnapshotInvalid(f"the index {folder} has no phrases in the language {language!r}")
        return retriever

    def rank(self, query: EncodedQuery, depth: int, admitted: Admitted | None = None) -> Ranking:
        """Return the `depth` best admitted tools that share a term with the query, in any of the index's languages."""
        if len(self.languages) > 1:
            return self.rank_by_language(terms_by_language(query.text, self.languages), depth, admitted, query.forms)
        return self.rank_terms(query.terms, depth, admitted, query.forms)

    def rank_terms(
        self, request_terms: Sequence[str], depth: int, admitted: Admitted | None = None, forms: Forms = NO_FORMS
    ) -> Ranking:
        """Return the `depth` best admitted tools that share a term or a form with the request.

        A term counts once, however often it occurs in the request (BM25 with k3 = 0). `forms` are further terms with
        their weights.
        """
        terms = dict.fromkeys(request_terms[:MAX_QUERY_TERMS])
        clauses = [self._search.clause(TEXT_FIELD, term) for term in terms]
        return self._best(clauses + self._forms(forms), depth, admitted)

    def rank_by_language(
        self, words: Iterable[Mapping[str, str]], depth: int, admitted: Admitted | None = None, forms: Forms = NO_FORMS
    ) -> Ranking:
        """Return the `depth` best admitted tools over the fields of several languages.

        `words` are those that `terms_by_language` returns. A word counts only in the language that it scores best in,
        because names such as "Slack" are the same in all of them.
        """
        clauses = [self._word(word) for word in islice(words, MAX_QUERY_TERMS)]
        return self._best(clauses + self._forms(forms), depth, admitted)

    @property
    def tools(self) -> int:
        """Return how many tools there are, with a text or without."""
        return self._search.tools

    def doc_freq(self, term: str) -> int:
        """Return how many tools' English text has a term."""
        return self._search.doc_freq(TEXT_FIELD, term)

    def _word(self, word: Mapping[str, str]) -> Clause:
        """Return the clause of a word, given as its term by language."""
        return self._search.best_clause([(text_field(language), term) for language, term in word.items()])

    def _forms(self, forms: Forms) -> list[Clause]:
        return [self._search.clause(TEXT_FIELD, form, weight) for form, weight in forms.items()]

    def _best(self, clauses: Sequence[Clause], depth: int, admitted: Admitted | None) -> Ranking:
        """Return the best tools by the clauses of a request's words."""
        if not clauses or (admitted is not None and not len(admitted)):
            return EMPTY
        hits = self._search.hits(clauses, depth) if admitted is None else self._admitted(clauses, depth, admitted)
        return Ranking.of(*hits, spread=math.sqrt(sum(clause.variance for clause in clauses)))

    def _admitted(self, clauses: Sequence[Clause], depth: int, admitted: Admitted) -> Hits:
        """Return the first `depth` admitted hits.

        The first search asks for as many hits as contain them if filter and request are independent; further ones ask
        for more.
        """
        tools = self.tools
        wanted = min(depth, len(admitted))
        rejected = len(admitted.mask) - len(admitted)  # at most this many hits are rejected
        limit = min(math.ceil(_MARGIN * wanted / admitted.share), wanted + rejected, tools)
        while True:
            ordinals, scores = self._search.hits(clauses, limit)
            is_admitted = admitted.mask[ordinals]
            if is_admitted.sum() >= wanted or len(ordinals) < limit or limit == tools:
                return ordinals[is_admitted][:depth], scores[is_admitted][:depth]
            limit = min(4 * limit, tools)


def open_lexical(signal: Signal, folder: Path, manifest: Manifest, tools: int) -> LexicalRetriever:
    """Open the index of one lexical signal; only the expansion's has the fields of all of the catalog's languages.

    Raises SnapshotInvalid as `LexicalRetriever.open` does.
    """
    languages = manifest.languages if signal is Signal.EXPANSION else (ENGLISH,)
    return LexicalRetriever.open(folder / signal, tools, languages)


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
        remove_links(links)
