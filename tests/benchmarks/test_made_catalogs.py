"""What the benchmarks are made of: catalogs, vectors and figures that mean what they say."""

import numpy as np
import pytest

from benchmarks.large_catalogs import body_of, requests, tool, tools
from benchmarks.support.measuring import compare, percentiles
from benchmarks.support.near_vectors import NearVectors
from benchmarks.support.reference_vectors import ReferenceVectors
from router import DenseView


def real_tool(verb: str, noun: str, provider: str) -> dict[str, object]:
    return {
        "id": f"{provider}/{verb}_{noun}",
        "name": f"{verb}_{noun}",
        "provider": provider,
        "description": f"{verb.capitalize()} one {noun} of a customer, with its notes. Many {noun}s take a while.",
        "parameters": {"type": "object", "properties": {f"{noun}_id": {"type": "string"}, "limit": {}}},
    }


REAL = [
    real_tool(verb, noun, provider)
    for provider in ("billing", "helpdesk")
    for verb in ("get", "create", "archive")
    for noun in ("invoice", "ticket", "refund")
]


def test_a_larger_catalog_begins_with_the_smaller_one_and_no_id_comes_twice() -> None:
    large = list(tools(REAL, 60, seed=1))
    assert large[:20] == list(tools(REAL, 20, seed=1))
    assert len({made["id"] for made, _ in large}) == 60


def test_real_tools_are_left_as_they_are_and_others_are_recombined() -> None:
    assert [tool(REAL, number, 1) for number in range(len(REAL))] == REAL
    made = tool(REAL, 500, 1)
    body = REAL[body_of(REAL, 500, 1)]
    assert made["parameters"] == body["parameters"]
    assert made["name"].split("_")[0] == str(body["name"]).split("_")[0]


def test_each_tool_has_eight_different_phrases_and_is_asked_for_in_other_words() -> None:
    phrases = {made["id"]: set(written["user_phrases"]) for made, written in tools(REAL, 40, seed=1)}
    assert [len(own) for own in phrases.values()] == [8] * 40
    for asked in requests(REAL, 40, seed=1, number=50):
        assert not set(asked["request"].split(", then ")[:1]) & phrases[asked["tool"]]


def test_vectors_of_recombined_tools_are_near_those_of_real_ones() -> None:
    draw = np.random.default_rng(1)
    documents, phrases = (draw.standard_normal((n, 64), dtype=np.float32) for n in (30, 90))
    documents, phrases = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (documents, phrases))
    near = NearVectors(ReferenceVectors(documents, phrases, np.arange(0, 91, 3)), seed=1)
    real, moved = np.repeat(np.arange(30), 2), np.tile([False, True], 30)
    made, its = near.draw(0, real, moved, [3] * 60)
    cosines = np.einsum("ij,ij->i", made, documents[real])
    assert np.allclose(cosines[~moved], 1, atol=1e-5)
    assert cosines[moved].mean() == pytest.approx(1 / np.sqrt(1 + 0.5**2 + 0.25**2), abs=0.02)
    assert np.allclose(np.linalg.norm(its, axis=1), 1, atol=1e-5)
    assert np.array_equal(its[:3], phrases[:3])


def test_every_vector_scores_as_the_view_says() -> None:
    """Tool 0 has phrases at cosines .6 and .8 with the request, tool 1 has none."""
    vectors = np.array([[1, 0], [0, 1], [0.6, 0.8], [0.8, 0.6]], np.float32)
    reference = ReferenceVectors(vectors[:2], vectors[2:], np.array([0, 2, 2]))
    request = np.array([[1, 0]], np.float32)
    scores = {view: reference.scores(request, view)[:, 0].tolist() for view in DenseView}
    assert scores[DenseView.DOCUMENT] == pytest.approx([1, 0])
    assert scores[DenseView.PHRASE] == pytest.approx([0.8, -0.2])  # lifted by what a phrase gives: .8 - 1
    assert scores[DenseView.MEAN] == pytest.approx([0.9, -0.1])


def test_percentiles_are_of_the_nearest_rank_and_in_milliseconds() -> None:
    assert percentiles([0.001 * n for n in range(1, 101)]) == {"mean": 50.5, "p50": 50, "p95": 95, "p99": 99}
    assert percentiles([0.002])["p99"] == 2
    with pytest.raises(ValueError, match="nothing was timed"):
        percentiles([])


def test_a_stored_run_is_compared_figure_by_figure() -> None:
    stored = {"default": {"all": {"p50": 4.0, "gone": 1}}, "note": "text"}
    assert compare(stored, {"default": {"all": {"p50": 3.0, "new": 2}}, "note": "text"}) == {"default.all.p50": 0.75}
