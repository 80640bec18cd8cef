"""A request's lists compared with the scores of background queries on the same tools."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from router import Signal, SnapshotInvalid
from router.retrieval.retrievers import EMPTY, Ranking
from router.retrieval.score_normalization import TASK_WORDING, BackgroundScores
from tests.router.retrieval.rankings import ranking

# Four tools: means 1, 1, 1, 0; deviations 2, 1, 1, 1.
STATISTICS = np.array([[1, 1, 1, 0], [2, 1, 1, 1]], np.float32)
DIRECTION = np.array([1, -1], np.float32)
SCORES = BackgroundScores({Signal.DESCRIPTION: STATISTICS, Signal.DENSE: STATISTICS}, DIRECTION)
DESCRIBED = {Signal.DESCRIPTION: ranking((0, 8.0), (1, 6.0))}


@pytest.mark.parametrize(
    ("lists", "terms", "vector", "expected"),
    [
        # The best tool's standing: 8 / √4 = 4 and 6 / √4 = 3, (4 - 1) / 2 = 1.5 and (3 - 1) / 1 = 2.
        (DESCRIBED, "abcd", None, {Signal.DESCRIPTION: 2.0}),
        (DESCRIBED, "abcdabca", None, {Signal.DESCRIPTION: 2.0}),  # a term said twice counts once
        # Standings 2, 3, 2 and 1: the mean of the best three.
        ({Signal.DENSE: ranking((0, 5.0), (1, 4.0), (2, 3.0), (3, 1.0))}, "aaaa", None, {Signal.DENSE: 7 / 3}),
        # (0 - 0) / 1 of the last tool is the highest where no tool has a score.
        ({Signal.DESCRIPTION: EMPTY}, "", None, {Signal.DESCRIPTION: 0.0}),
        ({}, "", np.array([0.75, 0.25], np.float32), {TASK_WORDING: 0.5}),
        ({Signal.EXPANSION: ranking((0, 1.0))}, "a", None, {}),  # a list that it does not know
    ],
)
def test_features_are_standings_among_background_queries(
    lists: Mapping[Signal, Ranking], terms: str, vector: Any, expected: dict[str, float]
) -> None:
    assert SCORES.features(lists, list(terms), vector) == pytest.approx(expected)


def test_a_saved_set_of_background_scores_gives_the_same_features_to_its_own_catalog_alone(tmp_path: Path) -> None:
    with pytest.raises(SnapshotInvalid, match=r"background_scores\.npy cannot be read"):
        BackgroundScores.open(tmp_path, tools=4, dim=None)
    assert SCORES.save(tmp_path) == ("background_scores.npy", "background_vector.npy")
    asked = ({Signal.DENSE: ranking((0, 5.0)), Signal.DESCRIPTION: EMPTY}, ["a"], DIRECTION)
    assert BackgroundScores.open(tmp_path, tools=4, dim=2).features(*asked) == SCORES.features(*asked)
    for tools, dim in ((5, 2), (4, 3)):
        with pytest.raises(SnapshotInvalid, match="of shape"):
            BackgroundScores.open(tmp_path, tools, dim)
    assert BackgroundScores({Signal.NAME: STATISTICS}).save(tmp_path) == ("background_scores.npy",)
    assert BackgroundScores.open(tmp_path, tools=4, dim=None).task_direction is None
