"""Recipes as settings, and fusion by them against its formulas, worked by hand."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from numpy.typing import NDArray

from router import RECIPES, Fusion, Recipe, SettingsInvalid, Signal
from router.contract import Expanded
from router.retrieval.fusion import fuse, minmax
from router.retrieval.recipe import Normalization
from router.retrieval.retrievers import Ranking
from tests.router.retrieval.rankings import TOOLS, ranking, some_lists

Lists = Mapping[Signal, Ranking]


def recipe(fusion: Fusion = Fusion.RRF, k: float = 60, **weights: float) -> Recipe:
    return Recipe("test", fusion, {Signal(signal): weight for signal, weight in weights.items()}, k=k)


def standard(**weights: float) -> Recipe:
    return replace(recipe(Fusion.CONVEX, **weights), normalization=Normalization.STANDARD)


def marks(*, no: Sequence[int]) -> NDArray[np.uint8]:
    of_ten = np.full(10, Expanded.YES, np.uint8)
    of_ten[list(no)] = Expanded.NO
    return of_ten


def test_rrf_sums_weight_over_k_plus_rank() -> None:
    lists = {Signal.NAME: ranking((7, 3.0), (5, 2.0)), Signal.DENSE: ranking((5, 0.9), (9, 0.1))}
    fused, contributions, assumed = fuse(lists, recipe(name=1, dense=2))
    assert fused.ordinals.tolist() == [5, 9, 7]
    assert fused.scores.tolist() == pytest.approx([1 / 62 + 2 / 61, 2 / 62, 1 / 61])
    assert contributions[0] == {Signal.NAME: pytest.approx(1 / 62), Signal.DENSE: pytest.approx(2 / 61)}
    assert contributions[1] == {Signal.DENSE: pytest.approx(2 / 62)}  # a list that lacks a tool gives it nothing
    assert assumed.tolist() == [0, 0, 0]


READING = replace(recipe(name=1, dense=2), weigh_by_share_read=True)


@pytest.mark.parametrize(
    ("share", "by", "factor"),
    [(0.85, READING, 1), (0.425, READING, 0.5), (0, READING, 0.05), (0, recipe(name=1, dense=2), 1)],
)
def test_a_list_counts_as_far_as_it_could_read_the_request_where_the_recipe_says_so(
    share: float, by: Recipe, factor: float
) -> None:
    lists = {
        Signal.NAME: ranking((7, 3.0)),
        Signal.DENSE: structs.replace(ranking((5, 0.9), (7, 0.1)), share_read=share),
    }
    fused = fuse(lists, by)[0]
    by_tool = dict(zip(fused.ordinals.tolist(), fused.scores.tolist(), strict=True))
    assert by_tool == {5: factor * 2 / 61, 7: pytest.approx(1 / 61 + factor * 2 / 62)}


def test_what_a_list_could_not_read_is_not_imputed_from_it() -> None:
    by, lists = replace(READING, weights={"expansion": 1, "dense": 2}), {Signal.DENSE: ranking((5, 0.9))}
    for share, factor in ((1, 1), (0.425, 0.5)):
        read = {signal: structs.replace(one, share_read=share) for signal, one in lists.items()}
        assert fuse(read, by, marks(no=[5]))[2].tolist() == [factor / 61]


def test_equal_scores_go_by_ordinal_and_a_signal_without_weight_is_left_out() -> None:
    lists = {Signal.NAME: ranking((9, 1.0)), Signal.DENSE: ranking((4, 1.0))}
    assert fuse(lists, recipe(name=1, dense=1))[0].ordinals.tolist() == [4, 9]
    assert fuse(lists, recipe(name=1, dense=0))[0].ordinals.tolist() == [9]


def test_convex_combination_weighs_minmax_scores_by_their_share() -> None:
    lists = {Signal.NAME: ranking((1, 10.0), (2, 6.0), (3, 2.0)), Signal.EXPANSION: ranking((2, 4.0), (1, 3.0))}
    fused, _, _ = fuse(lists, recipe(Fusion.CONVEX, name=0.35, expansion=0.30))
    # Tool 1: .35/.65 × 1 + .30/.65 × 0; tool 2: .35/.65 × .5 + .30/.65 × 1; tool 3: 0.
    assert fused.ordinals.tolist() == [2, 1, 3]
    assert fused.scores.tolist() == pytest.approx([0.475 / 0.65, 0.35 / 0.65, 0.0])
    assert minmax(np.array([2.0, 2.0])).tolist() == [1.0, 1.0]


def test_standard_scores_count_the_spreads_that_a_tool_stands_out_by() -> None:
    lists = {
        Signal.NAME: ranking((1, 6.0), (2, 4.0), spread=2),
        Signal.DENSE: ranking((2, 0.5), (1, 0.3), (3, 0.1), center=0.2, spread=0.1),
    }
    fused, contributions, _ = fuse(lists, standard(name=1, dense=3))
    # Tool 2: 1/4 × 4/2 + 3/4 × .3/.1; tool 1: 1/4 × 6/2 + 3/4 × .1/.1; tool 3 is below the center: nothing.
    assert fused.ordinals.tolist() == [2, 1, 3]
    assert fused.scores.tolist() == pytest.approx([2.75, 1.5, 0])
    assert contributions[0] == {Signal.NAME: pytest.approx(0.5), Signal.DENSE: pytest.approx(2.25)}


def test_adaptive_rrf_trusts_a_list_by_how_far_its_best_tool_stands_out_and_leads_the_tenth() -> None:
    dense = ranking((2, 0.6), (1, 0.4), center=0.5, spread=0.1)
    fused, _, _ = fuse(
        {Signal.NAME: ranking((1, 4.0), (2, 1.0)), Signal.DENSE: dense}, replace(recipe(name=1, dense=2), adaptive=True)
    )
    # The name's best stands 4 spreads out, the dense list's one: 1 × 4 and 2 × 1 in the place of 1 and 2.
    assert fused.ordinals.tolist() == [1, 2]
    assert fused.scores.tolist() == pytest.approx([4 / 61 + 2 / 62, 4 / 62 + 2 / 61])
    ten, few = (ranking((0, 6.0), *((tool, 2.0) for tool in range(1, count))) for count in (10, 2))
    leading = replace(recipe(k=9, name=1), adaptive=True, lead=2)
    # 6 + 2 × (6 - 2); where there is no tenth, its score counts as 0: 6 + 2 × 6.
    assert fuse({Signal.NAME: ten}, leading)[0].scores[0] == pytest.approx(14 / 10)
    assert fuse({Signal.NAME: few}, leading)[0].scores[0] == pytest.approx(18 / 10)


def test_a_tool_falls_back_by_the_part_of_the_bests_standard_score_that_it_lacks() -> None:
    dense = ranking((2, 0.7), (1, 0.4), center=0.5, spread=0.1)
    lists = {Signal.NAME: ranking((1, 4.0), (2, 3.0)), Signal.DENSE: dense}
    fused, contributions, _ = fuse(lists, replace(recipe(k=10, name=1, dense=2), shortfall=20))
    # Name: tool 2 lacks a quarter of the best's score, so its rank is 2 + 5. Dense: tool 1 is below the center: 2 + 20.
    # A tool that a list of two lacks has rank 3 + 20, and what that earns is taken off.
    assert fused.ordinals.tolist() == [2, 1]
    expected = [(1 / 17 - 1 / 33, 2 * (1 / 11 - 1 / 33)), (1 / 11 - 1 / 33, 2 * (1 / 32 - 1 / 33))]
    assert [tuple(given.values()) for given in contributions] == [pytest.approx(row) for row in expected]


def test_a_list_without_a_score_above_the_center_says_nothing_by_default() -> None:
    lists = {Signal.NAME: ranking((1, 4.0), (2, 3.0), center=5), Signal.DENSE: ranking((2, 1.0))}
    fused, contributions, _ = fuse(lists, RECIPES["default"])
    assert fused.ordinals.tolist() == [2, 1] and list(contributions[0]) == [Signal.DENSE] and contributions[1] == {}


LISTS = {
    Signal.DESCRIPTION: ranking((1, 9.0), (2, 8.0), (3, 7.0)),
    Signal.EXPANSION: ranking((1, 5.0)),
    Signal.DENSE: ranking((2, 0.8), (1, 0.7), (3, 0.2)),
}
WEIGHTS = recipe(k=5, description=1, expansion=3, dense=2)


def test_a_tool_without_expansion_takes_the_better_of_description_and_dense() -> None:
    fused, contributions, assumed = fuse(LISTS, WEIGHTS, marks(no=[2]))
    # Tool 2 is second by description and first by dense: 1/7 + 3/6 assumed + 2/6. Tool 3 has an expansion: 1/8 + 2/8.
    assert fused.ordinals.tolist() == [2, 1, 3]
    assert fused.scores.tolist() == pytest.approx([1 / 7 + 3 / 6 + 2 / 6, 1 / 6 + 3 / 6 + 2 / 7, 3 / 8])
    assert assumed.tolist() == pytest.approx([3 / 6, 0, 0])
    assert contributions[0][Signal.EXPANSION] == pytest.approx(3 / 6) and Signal.EXPANSION not in contributions[2]
    fused, _, assumed = fuse(LISTS, recipe(Fusion.CONVEX, description=1, expansion=1, dense=2), marks(no=[2, 3]))
    # Tool 2: .5 by description and 1 by dense, so 1 in the expansion's list; tool 3 is last in both: 0.
    assert fused.ordinals.tolist() == [1, 2, 3]
    assert fused.scores.tolist() == pytest.approx([(1 + 1 + 2 * 0.5 / 0.6) / 4, (0.5 + 1 + 2) / 4, 0])
    assert assumed.tolist() == pytest.approx([0, 1 / 4, 0])


@pytest.mark.parametrize("best", [0.0, 1e-9])
def test_no_more_is_assumed_than_the_best_of_the_expansions_list_and_nothing_of_a_name_alone(best: float) -> None:
    lists = {Signal.DENSE: ranking((2, 4.0)), Signal.EXPANSION: ranking((1, best))}
    assert fuse(lists, standard(dense=1, expansion=1), marks(no=[2]))[2].tolist() == pytest.approx([best / 2, 0])
    lists = {Signal.NAME: ranking((2, 1.0)), Signal.EXPANSION: ranking((1, 1.0))}
    assert fuse(lists, recipe(name=1, expansion=1), marks(no=[2]))[2].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("assumes", "unread", "assumed"),
    [
        (True, [2], 2 / 62),  # rank 2 by dense and rank 1 by the expansion: dense is the lesser
        (False, [2], 0),
        (True, [], 0),
    ],
    ids=["phrases", "an older recipe", "English tools"],
)
def test_a_tool_in_another_language_is_assumed_the_lesser_of_dense_and_expansion_in_the_lists_of_its_own_text(
    assumes: bool, unread: list[int], assumed: float
) -> None:
    lists = {
        Signal.NAME: ranking((1, 9.0)),
        Signal.DESCRIPTION: ranking((1, 9.0), (3, 8.0)),
        Signal.EXPANSION: ranking((2, 5.0), (1, 4.0), (3, 3.0)),
        Signal.DENSE: ranking((3, 0.9), (2, 0.8), (1, 0.7)),
    }
    by_rank = replace(recipe(name=1, description=1, expansion=2, dense=2), impute_non_english=assumes)
    fused, contributions, found = fuse(lists, by_rank, None, np.isin(np.arange(10), unread))
    row = fused.ordinals.tolist().index(2)
    given = {"name": assumed / 2, "description": assumed / 2, "expansion": 2 / 61, "dense": 2 / 62}
    assert contributions[row] == pytest.approx({signal: part for signal, part in given.items() if part})
    assert found[row] == pytest.approx(assumed) and found.sum() == found[row]
    assert fused.scores[row] == pytest.approx(sum(given.values()))


some_recipe = st.sampled_from(list(RECIPES.values()))


@given(
    some_lists,
    some_recipe,
    st.lists(st.sampled_from(Expanded), min_size=TOOLS, max_size=TOOLS) | st.just([Expanded.YES] * TOOLS),
    st.permutations(list(Signal)),
)
def test_what_is_assumed_only_lifts_what_has_no_expansion_in_any_order_of_the_lists(
    lists: Lists, chosen: Recipe, expanded: Sequence[Expanded], order: Sequence[Signal]
) -> None:
    before, _, _ = fuse(lists, chosen)
    in_order = {signal: lists[signal] for signal in order}
    after, contributions, assumed = fuse(in_order, chosen, np.array(expanded, np.uint8))
    plain = dict(zip(before.ordinals.tolist(), before.scores.tolist(), strict=True))
    assert set(plain) == set(after.ordinals.tolist())
    for ordinal, score, given_, extra in zip(after.ordinals, after.scores, contributions, assumed, strict=True):
        assert sum(given_.values()) == pytest.approx(score)
        assert score == (plain[ordinal] if extra == 0 else pytest.approx(plain[ordinal] + extra)) and extra >= 0
        assert expanded[ordinal] != Expanded.YES or extra == 0
    rows = list(zip((-after.scores).tolist(), after.ordinals.tolist(), strict=True))
    assert rows == sorted(rows)


@given(some_lists)
def test_by_default_a_better_score_in_a_list_never_earns_less_there(lists: Lists) -> None:
    fused, contributions, _ = fuse(lists, RECIPES["default"])
    earned = dict(zip(fused.ordinals.tolist(), contributions, strict=True))
    for signal, ranked in lists.items():
        parts = [earned[tool].get(signal, 0.0) for tool in ranked.ordinals.tolist()]
        assert all(better >= worse - 1e-12 for better, worse in pairwise([*parts, 0.0]))


# What decisions and measurements are of: another number is another ranking of every request.
MEASURED = {"name": 0.3, "description": 0.4, "expansion": 0.6, "dense": 2, "intent": 1}
PUBLISHED = {"name": 1, "description": 1, "expansion": 2, "dense": 2}
LEXICAL = {"name": 0.35, "description": 0.35, "expansion": 0.30}


@pytest.mark.parametrize(
    ("name", "weights", "settings"),  # fusion, k, lead, shortfall, dense view
    [
        ("default", MEASURED, ("rrf", 100, 1, 100, "mean")),
        ("standard", MEASURED, ("convex", 60, 0, 0, "mean")),
        ("adaptive", MEASURED, ("rrf", 5, 0, 0, "mean")),
        ("published", PUBLISHED, ("rrf", 60, 0, 0, "document")),
        ("lexical", LEXICAL, ("convex", 60, 0, 0, "document")),
    ],
)
def test_a_recipe_has_the_weights_that_were_measured_and_survives_its_json(
    name: str, weights: dict[str, float], settings: tuple[object, ...]
) -> None:
    recipe = RECIPES[name]
    assert {signal: weight for signal, weight in recipe.weights.items() if weight} == weights
    assert (recipe.fusion, recipe.k, recipe.lead, recipe.shortfall, recipe.dense_view) == settings
    row = recipe.to_json()
    assert Recipe.from_json(row) == recipe
    before = {key: value for key, value in row.items() if value or key not in ("lead", "shortfall")}
    assert Recipe.from_json(before) == recipe, "one that was written before lead and shortfall keeps its meaning"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": {"name": -1}}, "weights.name is -1"),
        ({"weights": {"name": 0}}, "positive for at least one"),
        ({"weights": {"nose": 1}}, "'nose', it must be a weight for name, description, expansion, dense, intent"),
        ({"weights": {"name": 1e308}}, "weights.name is 1e\\+308"),
        ({"shortfall": float("inf")}, "shortfall is inf, it must be a number from 0 to 1,000,000"),
        ({"depth": 0}, "depth is 0"),
        ({"fusion": "sum"}, "sum"),
        ({"steps": 1}, r"Expected `bool`, got `int` - at `\$.steps`"),
        ({"weight": {}}, "unknown field weight"),
    ],
)
def test_a_wrong_value_is_named(change: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsInvalid, match=message):
        Recipe.from_json({"weights": {"name": 1}, **change})
