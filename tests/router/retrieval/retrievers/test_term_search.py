"""Frequent terms are left optional where they cannot decide, and the hits are those of all terms."""

import functools
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pipeline.indexing.lexical import write_lexical
from router.errors import SnapshotInvalid
from router.retrieval.retrievers import Admitted, LexicalRetriever, Ranking, term_search
from router.retrieval.retrievers.term_search import Clause, TermSearch
from router.text import terms_by_language
from router.tools.field_text import FieldDocuments
from tests.support.segments import in_two_segments

_ROUNDING = 1e-6  # of a score: sums of 32 bits depend on their order
WORDS = [f"rechnung{letter}" for letter in "abcd"]  # the same in both languages; the first are frequent
TOOLS = 120


@functools.cache
def index(seed: int) -> LexicalRetriever:
    """Texts of none to thirty words, each fifth with a copy; an even seed makes an index of two segments.

    Each third says one of the frequent words again and again: it scores near that word's bound, and by no other word.
    """
    draw = np.random.default_rng(seed)
    share = 0.8 / np.arange(1, len(WORDS) + 1) ** draw.uniform(0.3, 2)
    counts = draw.poisson(share * draw.choice([0, 1, 4], (TOOLS, 1)))
    counts[::3] = np.eye(len(WORDS), dtype=np.int64)[draw.integers(0, 3, TOOLS // 3)] * draw.integers(1, 30, (40, 1))
    counts[::5] = counts[1::5]
    english, german = ([_text(row) for row in some] for some in (counts, draw.permutation(counts)))
    documents = [
        FieldDocuments(f"t{i:03}", "", "", text, "", (), {"de": (other,)} if other else {})
        for i, (text, other) in enumerate(zip(english, german, strict=True))
    ]
    with tempfile.TemporaryDirectory() as folder:
        with in_two_segments(TOOLS - 50) if seed % 2 == 0 else nullcontext():
            write_lexical(documents, Path(folder), ("en", "de"))
        return LexicalRetriever.open(Path(folder) / "expansion", TOOLS, ("en", "de"))


def _text(counts: NDArray[np.int64]) -> str:
    return " ".join(word for word, n in zip(WORDS, counts, strict=True) for _ in range(n))


def ranked(
    seed: int, words: list[str], depth: int, admitted: Admitted | None, several: bool, guess: float | None
) -> Ranking:
    """A list that is pruned by a guess, however little that spares, or not at all."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(term_search, "_WORTHWHILE", 1_000.0)
        patch.setattr(term_search, "_MIN_VISITS", 10**9 if guess is None else 0)
        patch.setattr(term_search, "_GUESSED_SHARE", guess)
        if several:
            return index(seed).rank_by_language(terms_by_language(" ".join(words), ("en", "de")), depth, admitted)
        return index(seed).rank_terms(words, depth, admitted)


@settings(max_examples=settings().max_examples // 2)  # each is searched three times
@given(
    st.integers(0, 3),
    st.lists(st.sampled_from([*WORDS, "nowhere"]), min_size=2, max_size=4, unique=True),
    st.integers(1, 80),
    st.sampled_from([None, 0.02, 0.3, 0.95]),
    st.booleans(),
    st.floats(0.01, 3),
)
def test_a_pruned_list_is_the_unpruned_one(
    seed: int, words: list[str], depth: int, admits: float | None, several: bool, guess: float
) -> None:
    admitted = None if admits is None else Admitted(np.random.default_rng(seed).random(TOOLS) < admits)
    pruned = ranked(seed, words, depth, admitted, several, guess)
    expected, of_all = (ranked(seed, words, count, admitted, several, guess=None) for count in (depth, TOOLS))
    assert pruned.spread == expected.spread
    assert pruned.scores == pytest.approx(expected.scores, rel=_ROUNDING)
    scores = dict(zip(of_all.ordinals.tolist(), of_all.scores.tolist(), strict=True))
    assert pruned.scores == pytest.approx([scores[tool] for tool in pruned.ordinals.tolist()], rel=_ROUNDING)
    assert len(set(pruned.ordinals.tolist())) == len(pruned)


@pytest.mark.parametrize(("guess", "last_is_pruned"), [(0.3, True), (10.0, False)])
def test_a_search_is_pruned_and_one_by_a_guess_too_high_is_searched_again_by_all_terms(
    guess: float, last_is_pruned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches, search = [], TermSearch._searched

    def counted(self: TermSearch, required: Sequence[Clause], optional: Sequence[Clause], limit: int) -> Any:
        searches.append(len(optional))
        return search(self, required, optional, limit)

    monkeypatch.setattr(TermSearch, "_searched", counted)
    ranked(1, WORDS, 3 if last_is_pruned else TOOLS, None, several=False, guess=guess)
    assert searches[0] > 0 and (searches[-1] > 0) == last_is_pruned


def write(folder: Path, texts: Sequence[str]) -> LexicalRetriever:
    write_lexical([FieldDocuments(f"t{i}", text, "", "", "", ()) for i, text in enumerate(texts)], folder)
    return LexicalRetriever.open(folder / "name", len(texts))


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
