"""Pruned lists hold what unpruned ones hold: random requests, depths, guesses and filters over small random indexes."""

import functools
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.indexing.lexical import write_lexical
from router.retrieval.retrievers import Admitted, LexicalRetriever, Ranking, term_search
from router.text import terms_by_language
from router.tools.field_text import FieldDocuments

_ROUNDING = 1e-6  # of a score: sums of 32 bits depend on their order
WORDS = [f"rechnung{letter}" for letter in "abcd"]  # the same in both languages; the first are frequent
TOOLS = 120
requests = st.lists(st.sampled_from([*WORDS, "nowhere"]), min_size=2, max_size=4, unique=True)


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
        write_lexical(documents, Path(folder), ("en", "de"), TOOLS if seed % 2 else TOOLS - 50)
        return LexicalRetriever.open(Path(folder) / "expansion", TOOLS, ("en", "de"))


def _text(counts: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> str:
    return " ".join(word for word, n in zip(WORDS, counts, strict=True) for _ in range(n))


@pytest.fixture(scope="module", autouse=True)
def every_saving() -> Iterator[None]:
    """Each search is pruned that can be, however little that spares."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(term_search, "_WORTHWHILE", 1_000.0)
        yield
    index.cache_clear()


def ranked(seed: int, words: list[str], depth: int, admitted: Admitted | None, several: bool, prune: bool) -> Ranking:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(term_search, "_MIN_VISITS", 0 if prune else 10**9)
        if several:
            return index(seed).rank_by_language(terms_by_language(" ".join(words), ("en", "de")), depth, admitted)
        return index(seed).rank_terms(words, depth, admitted)


@settings(max_examples=settings().max_examples // 2)  # each is searched three times
@given(
    st.integers(0, 3),
    requests,
    st.integers(1, 80),
    st.sampled_from([None, 0.02, 0.3, 0.95]),
    st.booleans(),
    st.floats(0.01, 3),
)
def test_a_pruned_list_is_the_unpruned_one(
    seed: int, words: list[str], depth: int, admits: float | None, several: bool, guess: float
) -> None:
    admitted = None if admits is None else Admitted(np.random.default_rng(seed).random(TOOLS) < admits)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(term_search, "_GUESSED_SHARE", guess)
        pruned = ranked(seed, words, depth, admitted, several, prune=True)
    expected = ranked(seed, words, depth, admitted, several, prune=False)
    assert pruned.spread == expected.spread
    assert pruned.scores == pytest.approx(expected.scores, rel=_ROUNDING)
    of_all = ranked(seed, words, TOOLS, admitted, several, prune=False)
    scores = dict(zip(of_all.ordinals.tolist(), of_all.scores.tolist(), strict=True))
    assert pruned.scores == pytest.approx([scores[tool] for tool in pruned.ordinals.tolist()], rel=_ROUNDING)
    assert len(set(pruned.ordinals.tolist())) == len(pruned)


def test_these_searches_are_pruned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the property above would compare a search with itself."""
    found, search = [], term_search.TermSearch._searched

    def counted(self: term_search.TermSearch, required: object, optional: object, limit: int) -> object:
        found.append(len(optional))  # type: ignore[arg-type]
        return search(self, required, optional, limit)  # type: ignore[arg-type]

    monkeypatch.setattr(term_search.TermSearch, "_searched", counted)
    for seed in range(4):
        ranked(seed, WORDS, 3, None, several=False, prune=True)
    assert sum(optional > 0 for optional in found) >= 4
