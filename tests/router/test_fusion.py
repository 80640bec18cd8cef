"""Fusion against its formulas, worked by hand."""

import numpy as np
import pytest

from router import Fusion, Recipe, Signal
from router.fusion import fuse, minmax
from router.retrievers import Ranking


def ranking(*pairs: tuple[int, float]) -> Ranking:
    return Ranking(np.array([p[0] for p in pairs], np.int64), np.array([p[1] for p in pairs], np.float64))


def recipe(fusion: Fusion = Fusion.RRF, k: float = 60, **weights: float) -> Recipe:
    return Recipe("test", fusion, {Signal(signal): weight for signal, weight in weights.items()}, k=k)


def test_rrf_sums_weight_over_k_plus_rank() -> None:
    lists = {Signal.NAME: ranking((7, 3.0), (5, 2.0)), Signal.DENSE: ranking((5, 0.9), (9, 0.1))}
    fused, contributions = fuse(lists, recipe(name=1, dense=2))
    assert fused.ordinals.tolist() == [5, 9, 7]
    assert fused.scores.tolist() == pytest.approx([1 / 62 + 2 / 61, 2 / 62, 1 / 61])
    assert contributions[0] == {Signal.NAME: pytest.approx(1 / 62), Signal.DENSE: pytest.approx(2 / 61)}


def test_a_tool_absent_from_a_list_gets_nothing_from_it() -> None:
    _, contributions = fuse({Signal.NAME: ranking((1, 1.0)), Signal.DENSE: ranking((2, 1.0))}, recipe(name=1, dense=1))
    assert [set(given) for given in contributions] == [{Signal.NAME}, {Signal.DENSE}]


def test_equal_scores_go_by_ordinal() -> None:
    fused, _ = fuse({Signal.NAME: ranking((9, 1.0)), Signal.DENSE: ranking((4, 1.0))}, recipe(name=1, dense=1))
    assert fused.ordinals.tolist() == [4, 9]


def test_convex_combination_weighs_minmax_scores_by_their_share() -> None:
    lists = {
        Signal.NAME: ranking((1, 10.0), (2, 6.0), (3, 2.0)),
        Signal.EXPANSION: ranking((2, 4.0), (1, 3.0)),
    }
    fused, _ = fuse(lists, recipe(Fusion.CONVEX, name=0.35, expansion=0.30))
    # Tool 1: .35/.65 × 1 + .30/.65 × 0; tool 2: .35/.65 × .5 + .30/.65 × 1; tool 3: 0.
    assert fused.ordinals.tolist() == [2, 1, 3]
    assert fused.scores.tolist() == pytest.approx([0.475 / 0.65, 0.35 / 0.65, 0.0])


def test_a_list_of_equal_scores_is_all_best() -> None:
    assert minmax(np.array([2.0, 2.0])).tolist() == [1.0, 1.0]


def test_a_signal_without_weight_is_left_out() -> None:
    fused, _ = fuse({Signal.NAME: ranking((1, 1.0)), Signal.DENSE: ranking((2, 1.0))}, recipe(name=1, dense=0))
    assert fused.ordinals.tolist() == [1]


def test_no_list_gives_no_answer() -> None:
    fused, contributions = fuse({Signal.NAME: ranking()}, recipe(name=1, dense=1))
    assert len(fused) == 0 and contributions == []
