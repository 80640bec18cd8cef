"""Lists over what a filter admits: the whole list without the others, cut to its depth afterwards."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pipeline.indexing.lexical import write_lexical
from router.retrieval.retrievers import (
    Admitted,
    CandidateIndex,
    CatalogMoments,
    DenseRetriever,
    DenseView,
    LexicalRetriever,
    Ranking,
    ToolVectors,
)
from router.tools.field_text import FieldDocuments
from tests.router.retrieval.retrievers.crowds import unit

TOOLS, DIM = 600, 16
# Every third tool says alpha, every fifth beta: ties, and tools without either.
TEXTS = [f"{'alpha ' * (place % 3 == 0)}{'beta ' * (place % 5 == 0)}tool{place}" for place in range(TOOLS)]
some_tools = st.sets(st.integers(0, TOOLS - 1), max_size=40) | st.just(set(range(TOOLS)))
some_depth = st.integers(1, 60)


def admitted(ordinals: set[int]) -> Admitted:
    return Admitted(np.isin(np.arange(TOOLS), list(ordinals)))


def is_the_whole_without_the_others(found: Ranking, whole: Ranking, kept: set[int], depth: int) -> bool:
    of_them = [ordinal for ordinal in whole.ordinals.tolist() if ordinal in kept][:depth]
    same_scale = (found.center, found.spread) == (whole.center, whole.spread)
    return found.ordinals.tolist() == of_them and (not of_them or same_scale)


@pytest.fixture(scope="module")
def lexical(tmp_path_factory: pytest.TempPathFactory) -> LexicalRetriever:
    folder = tmp_path_factory.mktemp("lexical")
    write_lexical([FieldDocuments(f"{place:03}", text, "", "", "", ()) for place, text in enumerate(TEXTS)], folder)
    return LexicalRetriever.open(folder / "name", TOOLS)


@given(some_tools, some_depth)
def test_a_lexical_list_is_the_whole_one_without_what_is_not_admitted(
    lexical: LexicalRetriever, kept: set[int], depth: int
) -> None:
    whole, found = (lexical.rank_terms(("alpha", "beta"), *how) for how in ((TOOLS,), (depth, admitted(kept))))
    assert is_the_whole_without_the_others(found, whole, kept, depth)


def test_a_lexical_list_is_filled_however_far_down_the_admitted_tools_stand(lexical: LexicalRetriever) -> None:
    alone = {ordinal for ordinal in range(0, TOOLS, 3) if ordinal % 5}  # behind all that say both, and beta
    assert lexical.rank_terms(("alpha", "beta"), 5, admitted(alone)).ordinals.tolist() == [3, 6, 9, 12, 18]


@pytest.fixture(scope="module")
def dense() -> DenseRetriever:
    random = np.random.default_rng(3)
    documents, phrases = (unit(random.normal(size=(TOOLS, DIM))) for _ in range(2))
    return DenseRetriever(ToolVectors.of(documents, phrases, np.arange(TOOLS + 1)))


@given(some_tools, some_depth, st.sampled_from(DenseView))
def test_a_dense_list_is_the_whole_one_without_what_is_not_admitted(
    dense: DenseRetriever, kept: set[int], depth: int, view: DenseView
) -> None:
    request = unit(np.arange(DIM, dtype=np.float64))
    whole = dense.rank_vector(request, TOOLS, view)
    assert is_the_whole_without_the_others(dense.rank_vector(request, depth, view, admitted(kept)), whole, kept, depth)


class _Nearest(CandidateIndex):
    """Candidates in the order of their ordinals, which counts how many it is asked for."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def nearest(self, vector: NDArray[np.float32], count: int) -> NDArray[np.int64]:
        self.asked.append(count)
        return np.arange(count)


class _Still(CatalogMoments):
    """No lift, a center of 0, a spread of 1."""

    def __init__(self) -> None: ...

    def lifted(self, vector: NDArray[np.float32]) -> float:
        return 0.0

    def center(self, view: int, vector: NDArray[np.float32]) -> float:
        return 0.0

    def spread(self, view: int, vector: NDArray[np.float32]) -> float:
        return 1.0


def test_in_a_large_catalog_few_admitted_tools_are_all_scored_and_many_ask_for_more_candidates() -> None:
    many = 8_000
    documents = unit(np.random.default_rng(4).normal(size=(many, DIM)))
    held = ToolVectors.of(documents, np.empty((0, DIM), np.float32), np.zeros(many + 1, np.int64))
    nearest = _Nearest()
    retriever = DenseRetriever(held, nearest, _Still())
    few, half = Admitted(np.arange(many) >= many - 1_000), Admitted(np.arange(many) % 2 == 0)
    exact = DenseRetriever(held).rank_vector(documents[-1], 5, DenseView.DOCUMENT, few)
    found = retriever.rank_vector(documents[-1], 5, DenseView.DOCUMENT, few)
    assert found.ordinals.tolist() == exact.ordinals.tolist() and nearest.asked == []
    found = retriever.rank_vector(documents[0], 100, DenseView.DOCUMENT, half)
    # Candidates of 8,000 tools: 27 × 8,000^0.26.
    assert nearest.asked == [2 * 279] and set(found.ordinals % 2) == {0}
