"""Lists over what a filter admits: the whole list without the others, cut to its depth afterwards."""

import numpy as np
import pytest
from hypothesis import given, settings
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
    ToolVectors,
)
from router.tools.field_text import FieldDocuments

TOOLS, DIM = 600, 16
# Every third tool says alpha, every fifth beta: ties, and tools without either.
TEXTS = [f"{'alpha ' * (place % 3 == 0)}{'beta ' * (place % 5 == 0)}tool{place}" for place in range(TOOLS)]


def admitted(*ordinals: int) -> Admitted:
    mask = np.zeros(TOOLS, bool)
    mask[list(ordinals)] = True
    return Admitted(mask)


@pytest.fixture(scope="module")
def lexical(tmp_path_factory: pytest.TempPathFactory) -> LexicalRetriever:
    folder = tmp_path_factory.mktemp("lexical")
    write_lexical([FieldDocuments(f"{place:03}", text, "", "", "", ()) for place, text in enumerate(TEXTS)], folder)
    return LexicalRetriever.open(folder / "name", TOOLS)


def unit(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    made: NDArray[np.float32] = (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)
    return made


@pytest.fixture(scope="module")
def vectors() -> ToolVectors:
    random = np.random.default_rng(3)
    documents, phrases = (unit(random.normal(size=(TOOLS, DIM))) for _ in range(2))
    return ToolVectors.of(documents, phrases, np.arange(TOOLS + 1))


@given(st.sets(st.integers(0, TOOLS - 1), max_size=40) | st.just(set(range(TOOLS))), st.integers(1, 60))
@settings(max_examples=40, deadline=None)
def test_a_lexical_list_is_the_whole_one_without_what_is_not_admitted(
    lexical: LexicalRetriever, kept: set[int], depth: int
) -> None:
    whole = lexical.rank_terms(("alpha", "beta"), TOOLS)
    found = lexical.rank_terms(("alpha", "beta"), depth, admitted(*kept))
    assert found.ordinals.tolist() == [ordinal for ordinal in whole.ordinals.tolist() if ordinal in kept][:depth]
    assert not len(found) or (found.center, found.spread) == (whole.center, whole.spread)


@given(st.sets(st.integers(0, TOOLS - 1), max_size=40), st.integers(1, 60), st.sampled_from(DenseView))
@settings(max_examples=40, deadline=None)
def test_a_dense_list_is_the_whole_one_without_what_is_not_admitted(
    vectors: ToolVectors, kept: set[int], depth: int, view: DenseView
) -> None:
    retriever = DenseRetriever(vectors)
    request = unit(np.arange(DIM, dtype=np.float64))
    whole = retriever.rank_vector(request, TOOLS, view)
    found = retriever.rank_vector(request, depth, view, admitted(*kept))
    assert found.ordinals.tolist() == [ordinal for ordinal in whole.ordinals.tolist() if ordinal in kept][:depth]
    assert (found.center, found.spread) == (whole.center, whole.spread)


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
    random = np.random.default_rng(4)
    documents = unit(random.normal(size=(many, DIM)))
    nearest = _Nearest()
    held = ToolVectors.of(documents, np.empty((0, DIM), np.float32), np.zeros(many + 1, np.int64))
    retriever = DenseRetriever(held, nearest, _Still())
    count = 279  # candidates of 8,000 tools: 27 × 8,000^0.26
    few, half = np.zeros(many, bool), np.arange(many) % 2 == 0
    few[many - 1_000 :] = True
    exact = DenseRetriever(held).rank_vector(documents[many - 1], 5, DenseView.DOCUMENT, Admitted(few))
    assert retriever.rank_vector(documents[many - 1], 5, DenseView.DOCUMENT, Admitted(few)).ordinals.tolist() == (
        exact.ordinals.tolist()
    )
    assert nearest.asked == []
    found = retriever.rank_vector(documents[0], 100, DenseView.DOCUMENT, Admitted(half))
    assert nearest.asked == [2 * count] and set(found.ordinals % 2) == {0}
