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
from router.retrieval.retrievers import Admitted, LexicalRetriever, Ranking, term_search
from router.retrieval.retrievers.term_search import Clause, TermSearch, optional_clauses
from router.tools.field_text import FieldDocuments

TOOLS = 2_000
WORDS = [f"word{number}" for number in range(60)]  # the n-th is in one of n + 2 texts, so the first ones are frequent


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> LexicalRetriever:
    draw, folder = np.random.default_rng(7), tmp_path_factory.mktemp("terms")
    counts = draw.poisson(1 / np.arange(2, 62), (TOOLS, 60))
    texts = [" ".join(word for word, n in zip(WORDS, row, strict=True) for _ in range(n)) for row in counts.tolist()]
    write_lexical([FieldDocuments(f"t{i}", text, "", "", "", ()) for i, text in enumerate(texts)], folder, ("en",), 900)
    return LexicalRetriever.open(folder / "name", TOOLS)


def ranked(
    index: LexicalRetriever, words: list[str], depth: int, least_visits: int, admitted: Admitted | None = None
) -> Ranking:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(term_search, "_MIN_VISITS", least_visits)
        return index.rank_terms(words, depth, admitted)


@pytest.mark.parametrize("guess", [0.05, 0.3, 0.95])
@pytest.mark.parametrize("depth", [5, 40])
def test_pruned_hits_are_those_of_all_terms(
    index: LexicalRetriever, depth: int, guess: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(term_search, "_GUESSED_SHARE", guess)
    draw, admitted = np.random.default_rng(depth), Admitted(np.arange(TOOLS) % 3 == 0)
    for _ in range(40):
        words = draw.choice(WORDS, 6, replace=False).tolist() + WORDS[:2]
        for filtered in (None, admitted):
            every, pruned = (ranked(index, words, depth, least, filtered) for least in (10**9, 0))
            assert pruned.scores.tolist() == pytest.approx(every.scores.tolist(), rel=1e-6)
            assert pruned.spread == every.spread
            # Tools that differ stand at a tie: sums of 32 bits in another order differ in the last bit.
            last = every.scores[-1] * (1 + 1e-6)
            assert set(every.ordinals[every.scores > last].tolist()) <= set(pruned.ordinals.tolist())


def test_a_guess_too_high_is_searched_again(index: LexicalRetriever, monkeypatch: pytest.MonkeyPatch) -> None:
    searches: list[int] = []
    search = TermSearch._searched

    def counted(self: TermSearch, required: Sequence[Clause], optional: Sequence[Clause], limit: int) -> Any:
        searches.append(len(optional))
        return search(self, required, optional, limit)

    monkeypatch.setattr(TermSearch, "_searched", counted)
    monkeypatch.setattr(term_search, "_GUESSED_SHARE", 10.0)
    words = [WORDS[0], WORDS[1], WORDS[2], WORDS[59]]
    assert ranked(index, words, 400, 0).ordinals.tolist() == ranked(index, words, 400, 10**9).ordinals.tolist()
    # One in 61 texts has the rarest word, fewer than are wanted: nothing is proven, and all terms are required.
    assert searches == [3, 0, 0]


def clause(matching: int, bound: float) -> Clause:
    return Clause(Query.all_query(), 0.0, matching, bound)


def test_the_most_frequent_terms_are_optional_while_they_add_less_than_the_last_hit() -> None:
    rare, common, everywhere = clause(10, 9.0), clause(40_000, 3.0), clause(90_000, 1.0)
    assert optional_clauses([common, rare, everywhere], 8.0) == [everywhere, common]
    assert optional_clauses([common, rare, everywhere], 4.0) == []  # everywhere alone would spare too little
    assert optional_clauses([rare, everywhere], 1.0) == []  # a tool with that one alone might be the last hit
    assert optional_clauses([rare], 100.0) == []


def test_a_word_of_several_languages_is_always_required() -> None:
    assert optional_clauses([clause(10, 9.0), clause(90_000, math.inf)], 1_000.0) == []


def test_a_term_is_looked_up_once(index: LexicalRetriever) -> None:
    assert index._search.clause("text", WORDS[0]) is index._search.clause("text", WORDS[0])


def test_a_damaged_dictionary_of_terms_is_refused_at_the_request(tmp_path: Path) -> None:
    """Opening reads little of it. Tantivy panics over some bytes and raises ValueError over others."""
    texts = [f"word{number} word{number + 1}" for number in range(400)]
    write_lexical([FieldDocuments(f"t{i}", text, "", "", "", ()) for i, text in enumerate(texts)], tmp_path)
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
    write_lexical([FieldDocuments("t", "alpha", "", "", "", ())], tmp_path)
    retriever = LexicalRetriever.open(tmp_path / "name", 1)
    assert len(retriever.rank_terms(["alpha"], 1)) == 1
    gc.disable()
    try:
        search = weakref.ref(retriever._search)
        del retriever
        assert search() is None  # without the collector: its mapped files go at once
    finally:
        gc.enable()
