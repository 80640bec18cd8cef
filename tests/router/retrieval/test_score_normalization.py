"""A request's lists compared with the scores of background queries on the same tools."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from router import Signal, SnapshotInvalid
from router.retrieval.retrievers import EMPTY, Ranking
from router.retrieval.score_normalization import TASK_WORDING, BackgroundScores

# Four tools: means 1, 1, 1, 0; deviations 2, 1, 1, 1.
STATISTICS = np.array([[1, 1, 1, 0], [2, 1, 1, 1]], np.float32)
DIRECTION = np.array([1, -1], np.float32)
SCORES = BackgroundScores({Signal.DESCRIPTION: STATISTICS, Signal.DENSE: STATISTICS}, DIRECTION)


def ranking(*scores: tuple[int, float]) -> Ranking:
    return Ranking.of(np.array([o for o, _ in scores]), np.array([s for _, s in scores], np.float64))


def test_a_lexical_feature_is_the_best_tools_standing_by_the_root_of_the_number_of_terms() -> None:
    # 8 / √4 = 4 and 6 / √4 = 3: (4 - 1) / 2 = 1.5, (3 - 1) / 1 = 2.
    features = SCORES.features({Signal.DESCRIPTION: ranking((0, 8.0), (1, 6.0))}, ["a", "b", "c", "d"], None)
    assert features == {Signal.DESCRIPTION: 2.0}


def test_a_term_said_twice_counts_once() -> None:
    lists = {Signal.DESCRIPTION: ranking((1, 6.0))}
    assert SCORES.features(lists, ["a", "b", "a", "b"], None) == SCORES.features(lists, ["a", "b"], None)


def test_the_dense_feature_is_the_mean_of_the_three_tools_that_stand_highest() -> None:
    # Standings 2, 3, 2 and 1: the mean of 2, 3 and 2.
    features = SCORES.features({Signal.DENSE: ranking((0, 5.0), (1, 4.0), (2, 3.0), (3, 1.0))}, ["a"] * 9, None)
    assert features == {Signal.DENSE: pytest.approx(7 / 3)}


def test_a_list_that_holds_nothing_is_worth_what_a_score_of_nought_is() -> None:
    # (0 - 0) / 1 of the last tool is the highest.
    assert SCORES.features({Signal.DESCRIPTION: EMPTY}, [], None) == {Signal.DESCRIPTION: 0.0}


def test_the_task_wording_is_how_far_a_request_lies_towards_tasks() -> None:
    assert SCORES.features({}, [], np.array([0.75, 0.25], np.float32)) == {TASK_WORDING: 0.5}


def test_a_list_or_vector_that_is_not_given_has_no_feature() -> None:
    assert SCORES.features({}, ["a"], None) == {}


def test_a_list_that_the_set_of_background_scores_does_not_know_has_no_feature() -> None:
    assert SCORES.features({Signal.EXPANSION: ranking((0, 1.0))}, ["a"], None) == {}


@given(
    st.lists(st.floats(0, 50), min_size=4, max_size=4),
    st.integers(0, 3),
    st.floats(0, 50),
    st.sampled_from([Signal.DESCRIPTION, Signal.DENSE]),
)
def test_a_higher_score_never_lowers_a_feature(scores: list[float], tool: int, more: float, signal: Signal) -> None:
    raised = [score + more if i == tool else score for i, score in enumerate(scores)]
    before, after = (
        SCORES.features({signal: ranking(*enumerate(values))}, ["a", "b"], None)[signal] for values in (scores, raised)
    )
    assert after >= before


def test_a_saved_set_of_background_scores_gives_the_same_features(tmp_path: Path) -> None:
    assert SCORES.save(tmp_path) == ("cohort.npy", "errand_vector.npy")
    opened = BackgroundScores.open(tmp_path, tools=4, dim=2)
    asked = ({Signal.DENSE: ranking((0, 5.0)), Signal.DESCRIPTION: EMPTY}, ["a"], DIRECTION)
    assert opened.features(*asked) == SCORES.features(*asked)
    assert set(opened.statistics) == {Signal.DESCRIPTION, Signal.DENSE}


def test_a_lexical_set_of_background_scores_needs_no_vector(tmp_path: Path) -> None:
    scores = BackgroundScores({Signal.NAME: STATISTICS})
    assert scores.save(tmp_path) == ("cohort.npy",)
    assert BackgroundScores.open(tmp_path, tools=4, dim=None).task_direction is None


@pytest.mark.parametrize(("tools", "dim"), [(5, 2), (4, 3)])
def test_a_set_of_background_scores_of_another_catalog_is_refused(tools: int, dim: int, tmp_path: Path) -> None:
    SCORES.save(tmp_path)
    with pytest.raises(SnapshotInvalid, match="of shape"):
        BackgroundScores.open(tmp_path, tools, dim)


def test_a_missing_set_of_background_scores_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SnapshotInvalid, match=r"cohort\.npy cannot be read"):
        BackgroundScores.open(tmp_path, tools=4, dim=None)
