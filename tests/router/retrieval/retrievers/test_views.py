"""The dense list's blending: one query or many, the same bits."""

import numpy as np
import pytest

from router.retrieval.retrievers import DenseView, blend, document_and_phrase


def test_cosines_are_split_into_documents_and_nearest_phrases_and_a_tool_without_phrases_is_lifted() -> None:
    # Three tools: a document and two phrases, a document alone, a document and a phrase.
    cosines = np.array([0.1, 0.5, 0.3, 0.4, 0.2, 0.6], np.float32)
    documents, nearest = document_and_phrase(cosines, np.array([0, 3, 4, 6]))
    np.testing.assert_array_equal(documents, cosines[[0, 3, 4]])
    np.testing.assert_array_equal(nearest, [cosines[1], np.float32(np.nan), cosines[5]])
    assert blend(documents, nearest, DenseView.MEAN, np.float32(0.2)).tolist() == pytest.approx([0.3, 0.5, 0.4])


@pytest.mark.parametrize("view", DenseView)
def test_many_queries_score_as_each_of_them_does(view: DenseView) -> None:
    rng = np.random.default_rng(0)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 6, 50))])
    cosines = rng.uniform(-1, 1, (int(offsets[-1]), 7)).astype(np.float32)
    lifts = rng.uniform(0, 1, 7).astype(np.float32)
    together = blend(*document_and_phrase(cosines, offsets), view, lifts)
    for query, lift in enumerate(lifts):
        alone = blend(*document_and_phrase(np.ascontiguousarray(cosines[:, query]), offsets), view, lift)
        assert alone.dtype == together.dtype == np.float32
        np.testing.assert_array_equal(alone, together[:, query])
