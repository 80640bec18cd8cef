"""Rankings against hand-made indexes, vectors and past requests."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.indexing.lexical import write_lexical
from router import RECIPES, Signal, SnapshotInvalid
from router.retrieval.fusion import fuse
from router.retrieval.retrievers import (
    EMPTY,
    DenseRetriever,
    DenseView,
    IntentRetriever,
    LexicalRetriever,
    Ranking,
    ToolVectors,
)
from router.text import terms
from router.tools.field_text import FieldDocuments
from tests.router.retrieval.rankings import ranking, some_lists


def lexical(folder: Path, *texts: str) -> LexicalRetriever:
    documents = [FieldDocuments(f"tool{i}", text, "", "", "", ()) for i, text in enumerate(texts)]
    write_lexical(documents, folder)
    return LexicalRetriever.open(folder / "name", len(texts))


def test_bm25_is_the_textbook_formula_of_the_terms_of_a_request(tmp_path: Path) -> None:
    retriever = lexical(tmp_path, "alpha beta", "beta gamma")
    ranking = retriever.rank_terms(terms("alpha"), 10)
    idf = math.log(1 + (2 - 1 + 0.5) / (1 + 0.5))
    expected = idf * 1 * (1.2 + 1) / (1 + 1.2 * (1 - 0.75 + 0.75 * 2 / 2))
    assert ranking.ordinals.tolist() == [0]
    assert ranking.scores[0] == pytest.approx(expected, rel=1e-5)
    once, twice = (retriever.rank_terms(terms(text), 5).scores for text in ("alpha beta", "alpha beta beta alpha"))
    assert once.tolist() == twice.tolist()
    assert len(retriever.rank_terms(terms("can you please"), 5)) == 0
    with pytest.raises(SnapshotInvalid, match="2 tools, not 3"):
        LexicalRetriever.open(tmp_path / "name", 3)


def test_equal_documents_and_vectors_rank_by_ordinal_also_at_the_cut(tmp_path: Path) -> None:
    assert lexical(tmp_path, *["same words"] * 300).rank_terms(terms("words"), 7).ordinals.tolist() == list(range(7))
    generator = np.random.default_rng(0)
    row, request = generator.normal(size=(2, 384)).astype(np.float32)
    documents = np.tile(row / np.linalg.norm(row), (1_000, 1))
    retriever = DenseRetriever(ToolVectors.of(documents, np.empty((0, 384), np.float32), np.zeros(1_001, np.int64)))
    for depth in (1, 10, 999, 1_000, 2_000):
        ranking = retriever.rank_vector(request, depth, DenseView.MEAN)
        assert ranking.ordinals.tolist() == list(range(min(depth, 1_000)))


def test_a_product_is_as_exact_as_float32_and_the_same_beside_whatever_other_rows() -> None:
    generator = np.random.default_rng(3)
    documents = generator.normal(size=(40, 24)).astype(np.float32)
    vectors = ToolVectors.of(documents, documents[:0], np.zeros(41, np.int64))
    for request in (*generator.normal(size=(20, 24)).astype(np.float32), np.zeros(24, np.float32)):
        products, some = vectors.products(request), np.array([7, 3, 39, 3])
        exact = vectors.documents().astype(np.float64) @ request
        assert products == pytest.approx(exact, abs=2e-7 * float(np.abs(request).sum() * np.abs(documents).max()))
        assert vectors.products(request, some).tolist() == products[some].tolist()


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        (DenseView.DOCUMENT, {1: 0.96, 0: 0.6, 2: 0.6}),
        # Phrases give tools 0 and 2 .4 and .2 over their documents: .3 on average, which tool 1 gets for its none.
        (DenseView.PHRASE, {1: 1.26, 0: 1.0, 2: 0.8}),
        (DenseView.MEAN, {1: 1.11, 0: 0.8, 2: 0.7}),
    ],
)
def test_each_view_scores_as_it_says_and_goes_by_documents_where_there_is_no_phrase(
    view: DenseView, expected: dict[int, float]
) -> None:
    """Tool 0: document (1, 0), phrases (0, 1) and (.6, .8). Tool 1: document (.8, .6), no phrase. Tool 2: like 0."""
    request, byte = np.array([0.6, 0.8], np.float32), 0.004  # half a step of a byte, on each of two components
    documents = np.array([[1, 0], [0.8, 0.6], [1, 0]], np.float32)
    phrases = np.array([[0, 1], [0.6, 0.8], [0, 1]], np.float32)
    dense = DenseRetriever(ToolVectors.of(documents, phrases, np.array([0, 2, 2, 3])))
    ranking = dense.rank_vector(request, 10, view)
    assert ranking.ordinals.tolist() == list(expected)
    assert ranking.scores.tolist() == pytest.approx(list(expected.values()), abs=byte)
    assert dense.best_phrases(request, [0, 1, 2]) == [1, None, 0]
    bare = DenseRetriever(ToolVectors.of(documents[:2], phrases[:0], np.zeros(3, np.int64)))
    assert bare.rank_vector(request, 10, view).scores.tolist() == pytest.approx([0.96, 0.6], abs=byte)


REQUEST = np.array([1, 0], np.float32)


def intents(*uses: tuple[float, dict[int, float]], threshold: float = 0.5) -> IntentRetriever:
    """Past requests, each by its cosine to REQUEST and its lessons by ordinal."""
    vectors = np.array([[cosine, math.sqrt(1 - cosine**2)] for cosine, _ in uses], np.float32)
    offsets = np.cumsum([0, *(len(taught) for _, taught in uses)])
    tools = np.array([ordinal for _, taught in uses for ordinal in taught], np.int64)
    lessons = np.array([lesson for _, taught in uses for lesson in taught.values()], np.float32)
    return IntentRetriever(vectors, offsets, tools, lessons, threshold)


@pytest.mark.parametrize(
    ("uses", "scores"),
    [
        # (.8 - .5) / .5 = .6 and (.6 - .5) / .5 = .2: tool 4 has .6 × .5 + .2 × 1, tool 2 has .2 × .5.
        ([(0.8, {4: 0.5}), (0.6, {4: 1.0, 2: 0.5}), (0.4, {9: 1.0})], {4: 0.5, 2: 0.1}),
        ([(1.0, {4: 0.25})], {4: 0.25}),  # the same request
        ([(0.9, {1: 1.0})] * 19 + [(0.8, {2: 1.0}), (0.7, {3: 1.0})], {1: 19 * 0.8, 2: 0.6}),  # the nearest twenty
        ([(0.9, {7: 0.5, 3: 0.5, 5: 0.25})], {3: 0.4, 7: 0.4, 5: 0.2}),  # ties go by ordinal
        ([(0.5, {4: 1.0}), (-0.2, {4: 1.0})], {}),  # at the threshold and below
        ([(0.9, {4: 0.0})], {}),  # known already
    ],
)
def test_a_tool_earns_the_lessons_of_near_uses_by_how_near_they_are(
    uses: list[tuple[float, dict[int, float]]], scores: dict[int, float]
) -> None:
    found = intents(*uses).rank_vector(REQUEST, 10)
    assert found.ordinals.tolist() == list(scores)
    assert found.scores.tolist() == found.standard().tolist() == pytest.approx(list(scores.values()))
    assert intents(*uses).rank_vector(REQUEST, 2).ordinals.tolist() == list(scores)[:2]


@given(some_lists, st.sampled_from(["default", "standard", "adaptive"]))
def test_a_near_use_lifts_its_tool_and_leaves_what_others_earn_and_without_one_nothing_changes(
    lists: dict[Signal, Ranking], recipe: str
) -> None:
    def scores(intent: Ranking | None) -> dict[int, float]:
        given = {signal: intent if signal is Signal.INTENT else found for signal, found in lists.items()}
        fused, _, _ = fuse({signal: found for signal, found in given.items() if found is not None}, RECIPES[recipe])
        return dict(zip(fused.ordinals.tolist(), fused.scores.tolist(), strict=True))

    before, near = scores(None), scores(ranking((4, 0.4)))
    assert scores(EMPTY) == before
    assert near.pop(4) > before.pop(4, 0.0)
    assert near == before
