"""Routing over a real snapshot."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, get_args

import pytest

from router import QuartermasterError, RequestInvalid, Router, SettingsInvalid, Signal, SnapshotInvalid
from router.retrieval.recipe import RecipeName


def test_an_answer_carries_record_snapshot_and_recipe(router: Router, snapshot: Path) -> None:
    assert router.route("which cards were declined").ids[0] == "stripe/list_charges"
    routed = router.route("refund a charge", k=3)
    assert (len(routed), routed.snapshot, routed.recipe) == (3, snapshot.name, "default")
    assert routed[0].tool_id == "stripe/create_refund"
    assert routed[0].record.parameters[0].path == "charge"
    assert not routed[0].ranks
    explained = router.route("undo a payment", k=1, explain=True)[0]
    assert explained.phrase in router.phrases(explained.tool_id)
    assert {type(key) for key in (*explained.ranks, *explained.contributions)} == {str}


def test_the_published_recipe_is_the_sum_of_its_formula_and_the_lexical_one_uses_no_vectors(router: Router) -> None:
    tool = router.route("list charges by status", recipe="published", explain=True)[0]
    weights: dict[str, int] = {Signal.NAME: 1, Signal.DESCRIPTION: 1, Signal.EXPANSION: 2, Signal.DENSE: 2}
    assert tool.score == pytest.approx(sum(weights[s] / (60 + rank) for s, rank in tool.ranks.items()))
    for tool in router.route("open an issue", recipe="lexical", explain=True):
        assert Signal.DENSE not in tool.ranks and 0 <= tool.score <= 1


def test_equal_requests_get_equal_answers_from_many_threads(router: Router) -> None:
    requests = ["notify the channel", "refund the charge and tell the team"] * 20
    expected = [router.route(request, explain=True) for request in requests]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda request: router.route(request, explain=True), requests)) == expected


def test_a_router_is_not_pickled_or_copied_and_says_what_to_do_instead(router: Router) -> None:
    for refused in (pickle.dumps, copy.deepcopy, copy.copy):
        with pytest.raises(TypeError, match=r"open one in each process by Router\.open"):
            refused(router)
    assert pickle.loads(pickle.dumps(routed := router.route("undo a payment"))) == routed


def test_a_folder_without_a_snapshot_is_refused_with_what_lies_inside(workspace: Path, tmp_path: Path) -> None:
    inside = workspace / "snapshots" / "office"
    (tmp_path / ".quartermaster").symlink_to(workspace)
    for folder in (workspace, workspace / "snapshots", tmp_path):
        with pytest.raises(SnapshotInvalid, match=r"it has catalogs inside: open .*/snapshots/office$"):
            Router.open(folder)
    assert Router.open(inside).route("undo a payment").ids
    (catalog := tmp_path / "catalog").mkdir()
    (catalog / "catalog.toml").touch()
    with pytest.raises(SnapshotInvalid, match=f"is a catalog to build: run `quartermaster build {catalog}`"):
        Router.open(catalog)


HOSTILE = ["what's", "a:b:c", "OR AND NOT", 'foo^ "bar', "(((", "*", "\\", "'; DROP TABLE tools; --", "[red]x[/red]"]


@pytest.mark.parametrize("request_text", [*HOSTILE, "顧客", "\x00", "refund \ud83d", "notify about it " * 5_000])
def test_a_request_is_words_never_query_syntax_whatever_it_holds(router: Router, request_text: str) -> None:
    assert len(router.route(request_text)) == len(router)


@pytest.mark.parametrize("k", [1_000, 2**62, 2**80])
def test_k_past_the_catalog_returns_every_tool_once(router: Router, k: int) -> None:
    ids = router.route("refund", k=k).ids
    assert sorted(ids) == sorted(set(ids)) and len(ids) == len(router)


@pytest.mark.parametrize(
    ("request_text", "options", "error", "says"),
    [
        ("  \n", {}, RequestInvalid, "empty"),
        ("refund", {"token_budget": -5}, RequestInvalid, "token_budget is -5, it must be a whole number from 1"),
        ("refund", {"recipe": "best"}, SettingsInvalid, ", ".join(get_args(RecipeName))),
    ],
)
def test_what_cannot_be_answered_is_refused_with_its_value(
    router: Router, request_text: str, options: dict[str, Any], error: type[QuartermasterError], says: str
) -> None:
    with pytest.raises(error, match=says):
        router.route(request_text, **options)


def test_explain_finds_a_tool_wherever_it_stands(router: Router) -> None:
    found = router.diagnose("which cards were declined", "weather/getForecast")
    assert found.rank is not None and found.rank > 1 and found.tool.ranks[Signal.DENSE] >= 1
    first = router.diagnose("which cards were declined", "stripe/list_charges")
    assert first.rank == 1 and first.tool.score == router.route("which cards were declined")[0].score
    with pytest.raises(RequestInvalid, match="nobody/nothing"):
        router.diagnose("refund", "nobody/nothing")
