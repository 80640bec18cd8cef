"""The ranking by past requests, and what fusion makes of it."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from router import RECIPES, Signal
from router.retrieval.fusion import fuse
from router.retrieval.retrievers import EMPTY, IntentRetriever, Ranking
from tests.router.retrieval.rankings import ranking, some_lists

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
