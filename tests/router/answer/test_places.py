"""Who has the places and the tokens of an answer, where tools were brought because others need them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from router import Detail, Recipe, Reranking, Router
from router.answer.options import RouteOptions
from router.answer.packing import pack
from tests.support.film_tools import CHAIN, FILM_TOOLS, film_router

REQUESTS = (
    "the films that Ana Torres has worked in",
    "films that are similar to a film",
    "the size of the images of the casts of a film",
    "the weather in a city",
    "search",
)


@given(
    st.lists(st.integers(1, 50), min_size=1, max_size=12),
    st.integers(1, 300),
    st.integers(1, 12),
    st.sets(st.integers(0, 11), max_size=3),
)
def test_whatever_the_budget_no_tool_is_dropped_for_a_brought_one(
    costs: list[int], budget: int, k: int, brought: set[int]
) -> None:
    last = sorted(position for position in brought if position < len(costs))[:k]
    others = [position for position in range(len(costs)) if position not in last]
    table = np.array(costs)[:, None]
    packed = pack(table, budget, k, [Detail.FULL], last=last)
    assert packed.tokens <= budget and len(packed.positions) <= k
    if others and k > len(last):  # tokens go to the others first
        alone = pack(table[others], budget, k - len(last), [Detail.FULL])
        assert {others[position] for position in alone.positions} <= set(packed.positions)


@pytest.fixture(scope="module")
def router() -> Router:
    return film_router(*FILM_TOOLS, *CHAIN[1:])


def without(router: Router) -> Recipe:
    return replace(router.recipe(), prerequisites=False)


@given(request=st.sampled_from(REQUESTS), budget=st.integers(1, 900), k=st.integers(1, 9))
def test_with_a_budget_the_other_tools_are_those_of_an_answer_without_prerequisites(
    router: Router, request: str, budget: int, k: int
) -> None:
    options: RouteOptions = {"k": k, "token_budget": budget, "shorten": False, "explain": True}
    with_them = router.route(request, **options)
    options["recipe"] = without(router)
    plain = router.route(request, **options)
    # The places that brought tools take without a budget, from tools that have them without prerequisites.
    unbudgeted = set(router.route(request, k=k).ids)
    taken = len(unbudgeted - set(router.route(request, k=k, recipe=without(router)).ids))
    assert set(plain.ids[: k - taken]) <= set(with_them.ids)
    if len(plain) <= k - taken:
        assert {tool.tool_id for tool in with_them if not tool.raised} <= set(plain.ids) <= set(with_them.ids)


@pytest.mark.parametrize("request_text", REQUESTS)
def test_a_small_answer_has_the_tools_that_it_has_without_prerequisites_and_a_large_budget_changes_none(
    router: Router, request_text: str
) -> None:
    for k in (1, 2, 3, 8):
        routed = router.route(request_text, k=k, explain=True)
        plain = router.route(request_text, k=k, recipe=without(router)).ids
        assert k > 3 or set(plain) <= set(routed.ids)
        assert all(tool.raised for tool in routed if tool.tool_id not in plain)
        assert router.route(request_text, k=k, token_budget=100_000).ids == routed.ids


@pytest.mark.parametrize("budget", [None, 250])
@pytest.mark.parametrize("k", [1, 3])
def test_a_brought_tool_that_the_reranker_puts_first_keeps_its_place_in_an_answer_of_few(
    k: int, budget: int | None
) -> None:
    def by_their_name(_: str, texts: Sequence[str]) -> list[float]:
        return [float("by their name" in text) for text in texts]

    request = "works of somebody: credits, worked in, size, casts, similar"
    tools = (*FILM_TOOLS, *CHAIN[1:])
    assert "films/search_person" not in film_router(*tools).route(request, k=3).ids
    reranked = film_router(*tools, rerank=Reranking(by_their_name)).route(request, k=k, token_budget=budget)
    assert reranked.ids[0] == "films/search_person"
