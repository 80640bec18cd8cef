"""Frequent terms are left optional where they cannot decide, and the hits are those of all terms."""

import gc
import math
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tantivy import Query

from pipeline.indexing.lexical import write_lexical
from router.errors import SnapshotInvalid
from router.retrieval.retrievers import LexicalRetriever, term_search
from router.retrieval.retrievers.term_search import Clause, TermSearch, optional_clauses
from router.tools.field_text import FieldDocuments

TOOLS = 2_000
WORDS = [f"word{number}" for number in range(60)]  # the n-th is in one of n + 2 texts, so the first ones are frequent


def write(folder: Path, texts: Sequence[str]) -> LexicalRetriever:
    write_lexical([FieldDocuments(f"t{i}", text, "", "", "", ()) for i, text in enumerate(texts)], folder)
    return LexicalRetriever.open(folder / "name", len(texts))


def test_a_guess_too_high_is_searched_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = np.random.default_rng(7).poisson(1 / np.arange(2, 62), (TOOLS, 60))
    texts = [" ".join(word for word, n in zip(WORDS, row, strict=True) for _ in range(n)) for row in counts.tolist()]
    index = write(tmp_path, texts)
    words = [WORDS[0], WORDS[1], WORDS[2], WORDS[59]]
    monkeypatch.setattr(term_search, "_MIN_VISITS", 10**9)
    every = index.rank_terms(words, 400)
    searches: list[int] = []
    search = TermSearch._searched

    def counted(self: TermSearch, required: Sequence[Clause], optional: Sequence[Clause], limit: int) -> Any:
        searches.append(len(optional))
        return search(self, required, optional, limit)

    monkeypatch.setattr(TermSearch, "_searched", counted)
    monkeypatch.setattr(term_search, "_GUESSED_SHARE", 10.0)
    monkeypatch.setattr(term_search, "_MIN_VISITS", 0)
    assert index.rank_terms(words, 400).ordinals.tolist() == every.ordinals.tolist()
    # One in 61 texts has the rarest word, fewer than are wanted: nothing is proven, and all terms are required.
    assert searches == [3, 0]
    assert index._search.clause("text", WORDS[0]) is index._search.clause("text", WORDS[0])  # looked up once


def clause(matching: int, bound: float) -> Clause:
    return Clause(Query.all_query(), 0.0, matching, bound)


RARE, COMMON, EVERYWHERE = clause(10, 9.0), clause(40_000, 3.0), clause(90_000, 1.0)


@pytest.mark.parametrize(
    ("clauses", "least", "optional"),
    [
        ([COMMON, RARE, EVERYWHERE], 8.0, [EVERYWHERE, COMMON]),
        ([COMMON, RARE, EVERYWHERE], 4.0, []),  # everywhere alone would spare too little
        ([RARE, EVERYWHERE], 1.0, []),  # a tool with that one alone might be the last hit
        ([RARE], 100.0, []),
        ([RARE, clause(90_000, math.inf)], 1_000.0, []),  # a word of several languages
    ],
)
def test_the_most_frequent_terms_are_optional_while_they_add_less_than_the_last_hit(
    clauses: list[Clause], least: float, optional: list[Clause]
) -> None:
    assert optional_clauses(clauses, least) == optional


def test_a_damaged_dictionary_of_terms_is_refused_at_the_request(tmp_path: Path) -> None:
    """Opening reads little of it. Tantivy panics over some bytes and raises ValueError over others."""
    write(tmp_path, [f"word{number} word{number + 1}" for number in range(400)])
    (path,) = (tmp_path / "name").glob("*.term")
    whole, refused = path.read_bytes(), 0
    for place in range(0, len(whole), len(whole) // 10):
        path.write_bytes(whole[:place] + b"\xff" + whole[place + 1 :])
        try:
            LexicalRetriever.open(tmp_path / "name", 400).rank_terms(["word7", "word399"], 5)
        except SnapshotInvalid:
            refused += 1
    assert refused


def test_a_retriever_goes_with_its_last_reference(tmp_path: Path) -> None:
    retriever = write(tmp_path, ["alpha"])
    assert len(retriever.rank_terms(["alpha"], 1)) == 1
    gc.disable()
    try:
        search = weakref.ref(retriever._search)
        del retriever
        assert search() is None  # without the collector: its mapped files go at once
    finally:
        gc.enable()
