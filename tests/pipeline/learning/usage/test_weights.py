"""Weights fitted to past requests: what is maximised, and when they are adopted."""

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.learning.usage.weights import FEWEST_REQUESTS, FusionCandidates, fit_weights
from quartermaster.evaluation import NDCG, Judgement
from router import RECIPES, Recipe, Signal
from router.contract import Expanded
from router.retrieval.fusion import fuse
from router.retrieval.recipe import Fusion, Normalization
from router.retrieval.retrievers import Ranking

TOOLS = 15
RECIPE = Recipe(
    "both", Fusion.CONVEX, {Signal.NAME: 1, Signal.DENSE: 2}, normalization=Normalization.STANDARD, depth=TOOLS
)


def ranking(scores: Mapping[int, float]) -> Ranking:
    return Ranking.of(np.array(list(scores), np.int64), np.array(list(scores.values()), np.float64))


def drawn(requests: int, right: Signal, seed: int = 0) -> tuple[list[dict[Signal, Ranking]], list[set[int]]]:
    """Requests whose tool one signal has on top, by a margin that noise in the other often outweighs."""
    random = np.random.default_rng(seed)
    asked, tools = [], []
    for _ in range(requests):
        tool = int(random.integers(TOOLS))
        lists = {signal: random.uniform(0, 1, TOOLS) for signal in (Signal.NAME, Signal.DENSE)}
        lists[right][tool] = 1.2
        asked.append({signal: ranking(dict(enumerate(scores))) for signal, scores in lists.items()})
        tools.append({tool})
    return asked, tools


def test_weights_that_find_more_tools_of_requests_left_out_are_adopted() -> None:
    asked, tools = drawn(200, Signal.NAME)
    recipe, evidence = fit_weights(FusionCandidates.of(asked, tools, RECIPE, None), RECIPE)
    assert recipe.name == "both-fitted" and recipe.weights[Signal.NAME] > 1
    assert recipe.weights[Signal.DENSE] == 2  # proportions alone count: the heaviest stays
    assert evidence["kept"] == "" and evidence["left_out"]["interval"][0] > 0 and evidence["left_out"]["p"] < 0.05


def test_what_is_no_better_beyond_chance_is_told_and_not_adopted() -> None:
    random = np.random.default_rng(3)
    asked, _ = drawn(FEWEST_REQUESTS, Signal.NAME)
    tools = [{int(random.integers(TOOLS))} for _ in asked]  # nothing to learn
    recipe, evidence = fit_weights(FusionCandidates.of(asked, tools, RECIPE, None), RECIPE)
    assert recipe is RECIPE
    assert "may be chance" in evidence["kept"] or "no other weights are better" in evidence["kept"]
    asked, tools = drawn(FEWEST_REQUESTS - 1, Signal.NAME)
    recipe, evidence = fit_weights(FusionCandidates.of(asked, tools, RECIPE, None), RECIPE)
    assert recipe is RECIPE and evidence["kept"] == "99 past requests are too few: 100 are needed"


def test_a_tool_that_no_list_holds_is_missed() -> None:
    candidates = FusionCandidates.of([{Signal.NAME: ranking({1: 1.0})}], [{1, 9}], RECIPE, None)
    # The ideal has both: 1 / (1 + 1 / log2(3)).
    assert candidates.ndcg(np.array([1.0, 2.0])).tolist() == pytest.approx([1 / (1 + 1 / np.log2(3))])


some_lists = st.fixed_dictionaries(
    {s: st.dictionaries(st.integers(0, TOOLS - 1), st.floats(0.5, 9), max_size=TOOLS).map(ranking) for s in Signal}
)
some_weights = st.lists(st.sampled_from([0.25, 0.5, 1, 2]), min_size=len(Signal), max_size=len(Signal))
some_tools = st.sets(st.integers(0, TOOLS), min_size=1, max_size=12)
some_marks = st.lists(st.sampled_from(Expanded), min_size=TOOLS, max_size=TOOLS)


@given(
    some_lists,
    some_tools,
    some_weights,
    some_marks,
    st.sampled_from([RECIPES[name] for name in ("default", "standard", "adaptive")]),
)
def test_candidates_by_other_weights_are_ranked_as_the_router_ranks_them(
    lists: dict[Signal, Ranking], tools: set[int], weights: list[float], marks: list[Expanded], own: Recipe
) -> None:
    expanded = np.array(marks, np.uint8)
    weighed = {signal: w for signal, w in zip(Signal, weights, strict=True) if own.weights[signal]}
    other = Recipe(**{**vars(own), "weights": weighed})
    fused, _, _ = fuse(lists, other, expanded)
    ids = frozenset(map(str, tools))
    judgement = Judgement("1", "r", ids, ids, "multi")
    found = FusionCandidates.of([lists], [tools], own, expanded).ndcg(np.array(list(weighed.values())))
    # Sums in another order differ in their last bits, which can turn a tie around.
    scores = np.round(fused.scores, 9)
    if len(set(scores.tolist())) == len(scores):
        assert found.tolist() == pytest.approx([NDCG(10).compute([str(o) for o in fused.ordinals.tolist()], judgement)])
