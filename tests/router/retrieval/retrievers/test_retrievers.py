"""Rankings against hand-made indexes and vectors."""

import math
from pathlib import Path

import numpy as np
import pytest

from pipeline.indexing.lexical import write_lexical
from router import SnapshotInvalid
from router.retrieval.retrievers import DenseRetriever, DenseView, LexicalRetriever, ToolVectors
from router.text import terms
from router.tools.field_text import FieldDocuments


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
