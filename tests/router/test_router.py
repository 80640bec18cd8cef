"""Routing over a real snapshot."""

import threading
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from router import RECIPES, Detail, Form, RequestInvalid, Router, SettingsInvalid, Signal
from router.contract import CATALOG_DB


def test_a_phrase_of_a_tool_routes_to_that_tool_first(router: Router) -> None:
    assert router.route("which cards were declined").ids[0] == "stripe/list_charges"


def test_an_answer_carries_record_snapshot_and_recipe(router: Router, snapshot: Path) -> None:
    routed = router.route("refund a charge", k=3)
    assert len(routed) == 3
    assert routed.snapshot == snapshot.name
    assert routed.recipe == "default"
    assert routed[0].tool_id == "stripe/create_refund"
    assert routed[0].record.parameters[0].path == "charge"
    assert not routed[0].ranks


def test_explanation_contributions_add_up_to_the_score(router: Router) -> None:
    for tool in router.route("tell the team that a payment failed", explain=True):
        assert sum(tool.contributions.values()) == pytest.approx(tool.score)
        assert set(tool.contributions) <= set(tool.ranks)


def test_mappings_by_signal_form_or_detail_print_as_plain_names_and_take_both(router: Router) -> None:
    tool = router.route("refund a charge", k=1, explain=True)[0]
    tokens = router.tokens(tool.tool_id)
    rankings = router.rankings("refund a charge")
    assert tokens is not None
    for by_name in (tool.ranks, tool.contributions, tokens, tokens["openai"], rankings, router.recipe().weights):
        assert {type(key) for key in by_name} == {str}
    assert repr(dict(tool.ranks)).startswith("{'name': ")
    assert tool.ranks["name"] == tool.ranks[Signal.NAME]
    assert tool.contributions["dense"] == tool.contributions[Signal.DENSE]
    assert tokens["openai"]["short"] == tokens[Form.OPENAI][Detail.SHORT]
    assert router.recipe("published").weights["dense"] == router.recipe("published").weights[Signal.DENSE] == 2


def test_the_published_recipe_is_the_sum_of_its_formula(router: Router) -> None:
    tool = router.route("list charges by status", recipe="published", explain=True)[0]
    weights: dict[str, int] = {Signal.NAME: 1, Signal.DESCRIPTION: 1, Signal.EXPANSION: 2, Signal.DENSE: 2}
    assert tool.score == pytest.approx(sum(weights[s] / (60 + rank) for s, rank in tool.ranks.items()))


def test_the_nearest_phrase_is_one_of_the_tools_own(router: Router, snapshot: Path) -> None:
    tool = router.route("undo a payment", explain=True)[0]
    with duckdb.connect(str(snapshot / CATALOG_DB), read_only=True) as connection:
        own = connection.execute("SELECT phrase FROM phrases WHERE tool_id = ?", [tool.tool_id]).fetchall()
    # The small encoder's vectors lie closer together than a byte a component can tell.
    assert (tool.phrase,) in own


def test_the_lexical_recipe_uses_no_vectors(router: Router) -> None:
    for tool in router.route("open an issue", recipe="lexical", explain=True):
        assert Signal.DENSE not in tool.ranks
        assert 0 <= tool.score <= 1


def test_equal_requests_get_equal_answers_from_many_threads(router: Router) -> None:
    expected = router.route("notify the channel", explain=True)
    found = []

    def ask() -> None:
        for _ in range(20):
            found.append(router.route("notify the channel", explain=True))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 80
    assert all(answer == expected for answer in found)


@pytest.mark.parametrize(
    "request_text",
    [
        "what's",
        "a:b:c",
        "OR AND NOT",
        'foo^ "bar',
        "(((",
        "*",
        "\\",
        "'; DROP TABLE tools; --",
        "[red]x[/red]",
        "顧客",
        "\x00",
    ],
)
def test_a_request_is_words_never_query_syntax(router: Router, request_text: str) -> None:
    assert len(router.route(request_text)) == len(router)


def test_a_very_long_request_is_answered(router: Router) -> None:
    assert len(router.route("notify the on-call channel about it " * 5_000, k=2)) == 2


def test_half_a_surrogate_pair_is_no_crash(router: Router) -> None:
    assert len(router.route("refund \ud83d", k=3)) == 3


@pytest.mark.parametrize("k", [10**6, 2**62, 2**80])
def test_any_k_is_answered_with_what_there_is(router: Router, k: int) -> None:
    assert len(router.route("refund", k=k)) == len(router)


def test_a_larger_k_only_adds_tools(router: Router) -> None:
    recipe = replace(RECIPES["lexical"], depth=3)
    few, many = (router.route("create an issue in a channel", k=k, recipe=recipe).tools for k in (2, 50))
    assert many[:2] == few


@pytest.mark.parametrize("request_text", ["", "  \n"])
def test_an_empty_request_is_refused(router: Router, request_text: str) -> None:
    with pytest.raises(RequestInvalid, match="empty"):
        router.route(request_text)


def test_k_below_one_is_refused_with_its_value(router: Router) -> None:
    with pytest.raises(RequestInvalid, match="k is 0"):
        router.route("refund", k=0)


def test_an_unknown_recipe_is_refused_with_the_known_ones(router: Router) -> None:
    with pytest.raises(SettingsInvalid, match=", ".join(RECIPES)):
        router.route("refund", recipe="best")


def test_k_past_the_catalog_returns_every_tool_once(router: Router) -> None:
    ids = router.route("refund", k=1_000).ids
    assert sorted(ids) == sorted(set(ids)) and len(ids) == len(router)


def test_select_returns_records_in_the_order_of_route(router: Router) -> None:
    assert [r.tool_id for r in router.select("refund", k=3)] == list(router.route("refund", k=3).ids)


def test_select_within_a_budget_skips_what_does_not_fit_and_goes_on(router: Router) -> None:
    everything = router.select("refund", k=8, token_budget=10**6)
    assert len(everything) == 8
    few = router.select("refund", k=8, token_budget=120)
    assert 0 < len(few) < 8
    order = [record.tool_id for record in everything]
    assert [order.index(record.tool_id) for record in few] == sorted(order.index(record.tool_id) for record in few)


@pytest.mark.parametrize("budget", [0, -5])
def test_a_budget_below_one_is_refused(router: Router, budget: int) -> None:
    with pytest.raises(RequestInvalid, match=str(budget)):
        router.select("refund", token_budget=budget)


def test_explain_finds_a_tool_wherever_it_stands(router: Router) -> None:
    tool, rank = router.explain("which cards were declined", "weather/getForecast")
    assert rank is not None and rank > 1
    assert tool.ranks[Signal.DENSE] >= 1
    first, top = router.explain("which cards were declined", "stripe/list_charges")
    assert top == 1
    assert first.score == router.route("which cards were declined")[0].score


def test_explain_refuses_an_unknown_tool(router: Router) -> None:
    with pytest.raises(RequestInvalid, match="nobody/nothing"):
        router.explain("refund", "nobody/nothing")


def test_a_record_is_found_by_its_id(router: Router) -> None:
    found = router.record("slack/conversations_list")
    assert found is not None and found.name == "conversations_list"
    assert router.record("zzz") is None
    assert router.record("") is None
