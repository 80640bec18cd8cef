"""Fusion against its formulas, worked by hand."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from router import RECIPES, Fusion, Recipe, Signal
from router.contract import Expanded
from router.retrieval.fusion import fuse, minmax
from router.retrieval.recipe import Normalization
from router.retrieval.retrievers import Ranking


def ranking(*pairs: tuple[int, float]) -> Ranking:
    return Ranking(np.array([p[0] for p in pairs], np.int64), np.array([p[1] for p in pairs], np.float64))


def recipe(fusion: Fusion = Fusion.RRF, k: float = 60, **weights: float) -> Recipe:
    return Recipe("test", fusion, {Signal(signal): weight for signal, weight in weights.items()}, k=k)


def marks(*, no: Sequence[int] = (), stopgap: Sequence[int] = ()) -> NDArray[np.uint8]:
    of_ten = np.full(10, Expanded.YES, np.uint8)
    of_ten[list(no)] = Expanded.NO
    of_ten[list(stopgap)] = Expanded.STOPGAP
    return of_ten


def test_rrf_sums_weight_over_k_plus_rank() -> None:
    lists = {Signal.NAME: ranking((7, 3.0), (5, 2.0)), Signal.DENSE: ranking((5, 0.9), (9, 0.1))}
    fused, contributions, assumed = fuse(lists, recipe(name=1, dense=2))
    assert fused.ordinals.tolist() == [5, 9, 7]
    assert fused.scores.tolist() == pytest.approx([1 / 62 + 2 / 61, 2 / 62, 1 / 61])
    assert contributions[0] == {Signal.NAME: pytest.approx(1 / 62), Signal.DENSE: pytest.approx(2 / 61)}
    assert assumed.tolist() == [0, 0, 0]


def test_a_tool_absent_from_a_list_gets_nothing_from_it() -> None:
    lists = {Signal.NAME: ranking((1, 1.0)), Signal.DENSE: ranking((2, 1.0))}
    _, contributions, _ = fuse(lists, recipe(name=1, dense=1))
    assert [set(given) for given in contributions] == [{Signal.NAME}, {Signal.DENSE}]


def test_equal_scores_go_by_ordinal() -> None:
    fused, _, _ = fuse({Signal.NAME: ranking((9, 1.0)), Signal.DENSE: ranking((4, 1.0))}, recipe(name=1, dense=1))
    assert fused.ordinals.tolist() == [4, 9]


def test_convex_combination_weighs_minmax_scores_by_their_share() -> None:
    lists = {
        Signal.NAME: ranking((1, 10.0), (2, 6.0), (3, 2.0)),
        Signal.EXPANSION: ranking((2, 4.0), (1, 3.0)),
    }
    fused, _, _ = fuse(lists, recipe(Fusion.CONVEX, name=0.35, expansion=0.30))
    # Tool 1: .35/.65 × 1 + .30/.65 × 0; tool 2: .35/.65 × .5 + .30/.65 × 1; tool 3: 0.
    assert fused.ordinals.tolist() == [2, 1, 3]
    assert fused.scores.tolist() == pytest.approx([0.475 / 0.65, 0.35 / 0.65, 0.0])


def test_a_list_of_equal_scores_is_all_best() -> None:
    assert minmax(np.array([2.0, 2.0])).tolist() == [1.0, 1.0]


def test_a_signal_without_weight_is_left_out() -> None:
    fused, _, _ = fuse({Signal.NAME: ranking((1, 1.0)), Signal.DENSE: ranking((2, 1.0))}, recipe(name=1, dense=0))
    assert fused.ordinals.tolist() == [1]


def test_no_list_gives_no_answer() -> None:
    fused, contributions, assumed = fuse({Signal.NAME: ranking()}, recipe(name=1, dense=1), marks(no=[0]))
    assert len(fused) == len(contributions) == len(assumed) == 0


LISTS = {
    Signal.DESCRIPTION: ranking((1, 9.0), (2, 8.0), (3, 7.0)),
    Signal.EXPANSION: ranking((1, 5.0)),
    Signal.DENSE: ranking((2, 0.8), (1, 0.7), (3, 0.2)),
}


def test_a_tool_without_expansion_takes_its_better_rank_of_description_and_dense() -> None:
    fused, contributions, assumed = fuse(LISTS, recipe(k=5, description=1, expansion=3, dense=2), marks(no=[2]))
    # Tool 2 is second by description and first by dense: 1/7 + 3/6 assumed + 2/6. Tool 3 has an expansion: 1/8 + 2/8.
    assert fused.ordinals.tolist() == [2, 1, 3]
    assert fused.scores.tolist() == pytest.approx([1 / 7 + 3 / 6 + 2 / 6, 1 / 6 + 3 / 6 + 2 / 7, 3 / 8])
    assert assumed.tolist() == pytest.approx([3 / 6, 0, 0])
    assert contributions[0][Signal.EXPANSION] == pytest.approx(3 / 6)
    assert Signal.EXPANSION not in contributions[2]


def test_a_convex_recipe_takes_its_better_normalised_score() -> None:
    fused, _, assumed = fuse(LISTS, recipe(Fusion.CONVEX, description=1, expansion=1, dense=2), marks(no=[2, 3]))
    # Tool 2: .5 by description and 1 by dense, so 1 in the expansion's list; tool 3 is last in both: 0.
    assert fused.ordinals.tolist() == [1, 2, 3]
    assert fused.scores.tolist() == pytest.approx([(1 + 1 + 2 * 0.5 / 0.6) / 4, (0.5 + 1 + 2) / 4, 0])
    assert assumed.tolist() == pytest.approx([0, 1 / 4, 0])


def test_a_stopgaps_own_rank_counts_where_it_is_the_better() -> None:
    lists = {**LISTS, Signal.EXPANSION: ranking((3, 5.0), (2, 4.0))}
    _, contributions, assumed = fuse(lists, recipe(k=5, description=1, expansion=3, dense=2), marks(stopgap=[2, 3]))
    # Tool 2: rank 2 in the list, and 1 by dense; tool 3: rank 1 in the list, and 3 elsewhere.
    assert [given.get(Signal.EXPANSION, 0) for given in contributions] == pytest.approx([3 / 6, 3 / 6, 0])
    assert assumed.tolist() == pytest.approx([3 / 6 - 3 / 7, 0, 0])


def test_a_stopgap_leaves_the_description_out_and_dense_in() -> None:
    lists = {**LISTS, Signal.DENSE: ranking((2, 0.8), (1, 0.7))}
    _, _, assumed = fuse(lists, recipe(k=5, description=1, expansion=3, dense=2), marks(stopgap=[2, 3]))
    # Tool 2 is first by dense; tool 3, third by description, is not in the dense list.
    assert assumed.tolist() == pytest.approx([3 / 6, 0, 0])
    _, _, assumed = fuse(lists, recipe(k=5, description=1, expansion=3), marks(stopgap=[2, 3]))
    assert not assumed.any()


def test_nothing_is_assumed_where_the_expansions_list_finds_no_tool() -> None:
    lists = {**LISTS, Signal.EXPANSION: ranking()}
    weights = recipe(description=1, expansion=3, dense=2)
    assert (
        fuse(lists, weights, marks(no=[2], stopgap=[3]))[0].scores.tolist() == fuse(lists, weights)[0].scores.tolist()
    )


@pytest.mark.parametrize("score", [0.0, 1e-9])
def test_an_expansion_list_whose_best_tool_earns_next_to_nothing_lets_next_to_nothing_be_assumed(score: float) -> None:
    lists = {Signal.DENSE: standard(0, 1, (2, 4.0)), Signal.EXPANSION: standard(0, 1, (1, score))}
    chosen = replace(recipe(Fusion.CONVEX, dense=1, expansion=1), normalization=Normalization.STANDARD)
    assert fuse(lists, chosen, marks(no=[2]))[2].tolist() == pytest.approx([score / 2, 0])


def test_a_name_alone_lets_nothing_be_assumed() -> None:
    lists = {Signal.NAME: ranking((2, 1.0)), Signal.EXPANSION: ranking((1, 1.0))}
    assert fuse(lists, recipe(name=1, expansion=1), marks(no=[2]))[2].tolist() == [0, 0]


def test_an_assumed_tie_goes_by_ordinal() -> None:
    lists = {
        Signal.DESCRIPTION: ranking((4, 2.0)),
        Signal.EXPANSION: ranking((9, 1.0)),
        Signal.DENSE: ranking((9, 1.0)),
    }
    fused, _, _ = fuse(lists, recipe(description=1, expansion=1, dense=1), marks(no=[4]))
    assert fused.ordinals.tolist() == [4, 9] and fused.scores[0] == fused.scores[1]


TOOLS = 12
some_ranking = st.dictionaries(st.integers(0, TOOLS - 1), st.floats(0, 50), max_size=TOOLS).map(
    lambda scores: Ranking.of(np.array(list(scores), np.int64), np.array(list(scores.values()), np.float64))
)
some_lists = st.fixed_dictionaries(dict.fromkeys(Signal, some_ranking))
some_marks = st.lists(st.sampled_from(Expanded), min_size=TOOLS, max_size=TOOLS).map(
    lambda marks: np.array(marks, np.uint8)
)
some_recipe = st.sampled_from(list(RECIPES.values()))
Lists = Mapping[Signal, Ranking]


@given(some_lists, some_recipe)
def test_a_fully_enriched_catalog_is_fused_as_if_nothing_were_ever_assumed(lists: Lists, chosen: Recipe) -> None:
    plain, contributions, _ = fuse(lists, chosen)
    marked, given_, assumed = fuse(lists, chosen, np.full(TOOLS, Expanded.YES, np.uint8))
    assert marked.ordinals.tolist() == plain.ordinals.tolist()
    assert marked.scores.tolist() == plain.scores.tolist()
    assert list(given_) == list(contributions) and not assumed.any()


@given(some_lists, some_recipe, some_marks)
def test_what_is_assumed_only_lifts_and_never_past_the_best_of_the_expansions_list(
    lists: Lists, chosen: Recipe, expanded: NDArray[np.uint8]
) -> None:
    before, parts, _ = fuse(lists, chosen)
    after, contributions, assumed = fuse(lists, chosen, expanded)
    plain = dict(zip(before.ordinals.tolist(), zip(before.scores.tolist(), parts, strict=True), strict=True))
    assert set(plain) == set(after.ordinals.tolist())
    best = chosen.weights[Signal.EXPANSION] * _best(lists[Signal.EXPANSION], chosen)
    for ordinal, score, given_, extra in zip(after.ordinals, after.scores, contributions, assumed, strict=True):
        was, part = plain[int(ordinal)]
        assert sum(given_.values()) == pytest.approx(score)
        if expanded[ordinal] == Expanded.YES:
            assert (score, extra) == (was, 0)
        assert score == pytest.approx(was + extra) and extra >= 0
        # No better than if the list that lacks it had it first.
        assert score <= was - part.get(Signal.EXPANSION, 0) + best + 1e-12


def _best(ranking: Ranking, chosen: Recipe) -> float:
    """What a list's first tool earns for a weight of 1."""
    if not len(ranking):
        return 0.0
    standing = float(ranking.standard()[0])
    if chosen.fusion is Fusion.RRF:
        tenth = float(ranking.standard()[9]) if len(ranking) > 9 else 0.0
        absent = 1 / (chosen.k + len(ranking) + 1 + chosen.shortfall) if chosen.shortfall else 0.0
        trust = standing + chosen.lead * (standing - tenth) if chosen.adaptive else 1
        return trust * (1 / (chosen.k + 1) - absent)
    return (standing if chosen.normalization is Normalization.STANDARD else 1) / sum(chosen.weights.values())


@given(some_lists, some_recipe, some_marks)
def test_an_answer_falls_by_score_and_then_rises_by_ordinal(
    lists: Lists, chosen: Recipe, expanded: NDArray[np.uint8]
) -> None:
    fused, _, _ = fuse(lists, chosen, expanded)
    rows = list(zip((-fused.scores).tolist(), fused.ordinals.tolist(), strict=True))
    assert rows == sorted(rows)


def test_where_no_tool_has_an_expansion_each_gets_what_the_better_of_description_and_dense_earns() -> None:
    lists = {Signal.DESCRIPTION: ranking((1, 9.0), (2, 8.0)), Signal.DENSE: ranking((2, 0.8), (1, 0.7))}
    fused, contributions, assumed = fuse(lists, recipe(description=1, expansion=3, dense=2), marks(no=range(10)))
    # Tool 1 is first by description, tool 2 by dense: each gets 3 / 61.
    assert assumed.tolist() == pytest.approx([3 / 61, 3 / 61])
    assert fused.ordinals.tolist() == [2, 1]
    assert contributions[0][Signal.EXPANSION] == pytest.approx(3 / 61)
    assert fused.scores.tolist() == pytest.approx([1 / 62 + 3 / 61 + 2 / 61, 1 / 61 + 3 / 61 + 2 / 62])


def standard(center: float, spread: float, *pairs: tuple[int, float]) -> Ranking:
    return replace(ranking(*pairs), center=center, spread=spread)


def test_standard_scores_count_the_spreads_that_a_tool_stands_out_by() -> None:
    lists = {
        Signal.NAME: standard(0, 2, (1, 6.0), (2, 4.0)),
        Signal.DENSE: standard(0.2, 0.1, (2, 0.5), (1, 0.3), (3, 0.1)),
    }
    chosen = replace(recipe(Fusion.CONVEX, name=1, dense=3), normalization=Normalization.STANDARD)
    fused, contributions, _ = fuse(lists, chosen)
    # Tool 2: 1/4 × 4/2 + 3/4 × .3/.1; tool 1: 1/4 × 6/2 + 3/4 × .1/.1; tool 3 is below the center: nothing.
    assert fused.ordinals.tolist() == [2, 1, 3]
    assert fused.scores.tolist() == pytest.approx([2.75, 1.5, 0])
    assert contributions[0] == {Signal.NAME: pytest.approx(0.5), Signal.DENSE: pytest.approx(2.25)}


def test_adaptive_rrf_trusts_a_list_by_how_far_its_best_tool_stands_out() -> None:
    lists = {Signal.NAME: standard(0, 1, (1, 4.0), (2, 1.0)), Signal.DENSE: standard(0.5, 0.1, (2, 0.6), (1, 0.4))}
    chosen = replace(recipe(name=1, dense=2), adaptive=True)
    fused, _, _ = fuse(lists, chosen)
    # The name's best stands 4 spreads out, the dense list's one: 1 × 4 and 2 × 1 in the place of 1 and 2.
    assert fused.ordinals.tolist() == [1, 2]
    assert fused.scores.tolist() == pytest.approx([4 / 61 + 2 / 62, 4 / 62 + 2 / 61])


def test_a_tool_falls_back_by_the_part_of_the_bests_standard_score_that_it_lacks() -> None:
    lists = {Signal.NAME: standard(0, 1, (1, 4.0), (2, 3.0)), Signal.DENSE: standard(0.5, 0.1, (2, 0.7), (1, 0.4))}
    fused, contributions, _ = fuse(lists, replace(recipe(k=10, name=1, dense=2), shortfall=20))
    # Name: tool 2 lacks a quarter of the best's score, so its rank is 2 + 5. Dense: tool 1 is below the center: 2 + 20.
    # A tool that a list of two lacks has rank 3 + 20.
    assert contributions[0] == {
        Signal.NAME: pytest.approx(1 / 17 - 1 / 33),
        Signal.DENSE: pytest.approx(2 * (1 / 11 - 1 / 33)),
    }
    assert contributions[1] == {
        Signal.NAME: pytest.approx(1 / 11 - 1 / 33),
        Signal.DENSE: pytest.approx(2 * (1 / 32 - 1 / 33)),
    }
    assert fused.ordinals.tolist() == [2, 1]


def test_the_shortfall_ranks_tools_as_if_absent_ones_had_the_rank_behind_the_last() -> None:
    lists = {Signal.NAME: standard(0, 1, (3, 4.0), (1, 2.0)), Signal.DENSE: standard(0, 1, (2, 3.0))}
    fused, _, _ = fuse(lists, replace(recipe(k=10, name=1, dense=1), shortfall=8))
    behind = {Signal.NAME: 1 / (10 + 3 + 8), Signal.DENSE: 1 / (10 + 2 + 8)}
    ranks = {3: (1 / 11, behind[Signal.DENSE]), 1: (1 / 16, behind[Signal.DENSE]), 2: (behind[Signal.NAME], 1 / 11)}
    expected = [sum(ranks[tool]) - sum(behind.values()) for tool in fused.ordinals.tolist()]
    assert fused.scores.tolist() == pytest.approx(expected)


def test_a_list_counts_more_by_its_bests_lead_over_the_tenth() -> None:
    ten = standard(0, 1, (0, 6.0), *((tool, 2.0) for tool in range(1, 10)))
    few = standard(0, 1, (0, 6.0), (1, 2.0))
    chosen = replace(recipe(k=9, name=1), adaptive=True, lead=2)
    # 6 + 2 × (6 - 2); where there is no tenth, its score counts as 0: 6 + 2 × 6.
    assert fuse({Signal.NAME: ten}, chosen)[0].scores[0] == pytest.approx(14 / 10)
    assert fuse({Signal.NAME: few}, chosen)[0].scores[0] == pytest.approx(18 / 10)


def test_a_list_without_a_score_above_the_center_says_nothing_by_default() -> None:
    lists = {Signal.NAME: standard(5, 1, (1, 4.0), (2, 3.0)), Signal.DENSE: standard(0, 1, (2, 1.0))}
    fused, contributions, _ = fuse(lists, RECIPES["default"])
    assert fused.ordinals.tolist() == [2, 1] and list(contributions[0]) == [Signal.DENSE] and contributions[1] == {}


@given(some_lists)
def test_by_default_a_better_score_in_a_list_never_earns_less_there(lists: Lists) -> None:
    fused, contributions, _ = fuse(lists, RECIPES["default"])
    earned = dict(zip(fused.ordinals.tolist(), contributions, strict=True))
    for signal, ranked in lists.items():
        parts = [earned[tool].get(signal, 0.0) for tool in ranked.ordinals.tolist()]
        assert all(better >= worse - 1e-12 for better, worse in pairwise([*parts, 0.0]))


@given(some_lists, st.permutations(list(Signal)))
def test_the_order_in_which_lists_are_given_changes_nothing(lists: Lists, order: Sequence[Signal]) -> None:
    fused, _, _ = fuse(lists, RECIPES["default"])
    again, _, _ = fuse({signal: lists[signal] for signal in order}, RECIPES["default"])
    assert again.ordinals.tolist() == fused.ordinals.tolist() and again.scores.tolist() == fused.scores.tolist()


@given(st.floats(0.1, 100), st.floats(-5, 5))
def test_standard_scores_do_not_depend_on_a_lists_unit(scale: float, shift: float) -> None:
    scores = [(1, 3.0), (2, 2.0), (3, 0.5)]
    plain = standard(1.0, 0.7, *scores).standard()
    moved = standard(scale + shift, 0.7 * scale, *((tool, score * scale + shift) for tool, score in scores)).standard()
    assert moved.tolist() == pytest.approx(plain.tolist(), abs=1e-9)


def unread(*tools: int) -> NDArray[np.bool_]:
    return np.isin(np.arange(10), tools)


def test_a_tool_in_another_language_is_assumed_the_lesser_of_dense_and_expansion_in_the_lists_of_its_own_text() -> None:
    lists = {
        Signal.NAME: ranking((1, 9.0)),
        Signal.DESCRIPTION: ranking((1, 9.0), (3, 8.0)),
        Signal.EXPANSION: ranking((2, 5.0), (1, 4.0), (3, 3.0)),
        Signal.DENSE: ranking((3, 0.9), (2, 0.8), (1, 0.7)),
    }
    by_rank = replace(recipe(name=1, description=1, expansion=2, dense=2), assume_unread=True)
    fused, contributions, assumed = fuse(lists, by_rank, None, unread(2))
    # Of tool 2, dense has rank 2 and the expansion rank 1: dense is the lesser.
    row = fused.ordinals.tolist().index(2)
    given = {"name": 1 / 62, "description": 1 / 62, "expansion": 2 / 61, "dense": 2 / 62}
    assert contributions[row] == pytest.approx(given)
    assert assumed[row] == pytest.approx(2 / 62)
    assert fused.scores[row] == pytest.approx(sum(contributions[row].values()))
    assert [assumed[i] for i in range(3) if i != row] == [0, 0]


@pytest.mark.parametrize(
    ("expanded", "assumes", "marked"), [(marks(stopgap=[2]), True, [2]), (None, False, [2]), (None, True, [])]
)
def test_nothing_is_assumed_of_the_lexicons_words_of_an_older_recipe_or_of_english_tools(
    expanded: NDArray[np.uint8] | None, assumes: bool, marked: list[int]
) -> None:
    lists = {Signal.NAME: ranking((1, 9.0)), Signal.EXPANSION: ranking((2, 5.0), (1, 4.0))}
    by_rank = replace(recipe(name=1, expansion=2), assume_unread=assumes)
    without, _, _ = fuse(lists, by_rank, expanded)
    fused, _, _ = fuse(lists, by_rank, expanded, unread(*marked))
    assert fused.ordinals.tolist() == without.ordinals.tolist()
    assert fused.scores.tolist() == without.scores.tolist()
