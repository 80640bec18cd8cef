"""A router in memory: everything that a router over a built snapshot does."""

import asyncio
import enum
import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from router import (
    RequestInvalid,
    Reranking,
    Router,
    Selection,
    SettingsInvalid,
    Signal,
    StableSelection,
)
from tests.support.factories import make_record


class Priority(enum.Enum):
    LOW = "low"
    HIGH = "high"


def create_refund(charge: str, amount: int | None = None) -> str:
    """Give a customer the money of a charge back.

    Args:
        charge: The charge, such as ch_1.
        amount: Cents; all of it where left out.
    """
    return f"refunded {charge}, {amount}"


def list_charges(customer: str, limit: int = 10) -> list[str]:
    """List the payments of a customer, newest first."""
    return [f"{customer}-{number}" for number in range(limit)]


def create_issue(title: str, priority: Priority = Priority.LOW) -> str:
    """File a ticket for the team."""
    return f"{title}: {priority.name}"


async def send_message(channel: str, text: str) -> str:
    """Tell a channel of the team something."""
    return f"{channel}: {text}"


def get_forecast(city: str) -> str:
    """Forecast the weather of a city."""
    return f"sunny in {city}"


TOOLS = [create_refund, list_charges, create_issue, send_message, get_forecast]


@pytest.fixture
def router() -> Iterator[Router]:
    with Router.from_tools(TOOLS, encoder=None) as opened:
        yield opened


def test_a_request_leads_to_a_function_to_call(router: Router) -> None:
    routed = router.route("return the customer's money", k=2)
    assert routed[0].tool_id == "create_refund"
    assert router.functions[routed[0].tool_id] is create_refund
    assert router.call("create_refund", {"charge": "ch_1", "amount": "500"}) == "refunded ch_1, 500"


def test_what_a_model_called_leads_back_to_the_function(router: Router) -> None:
    handed = router.route("file an urgent ticket", k=1).render("openai", strict=True)
    name, given = "create_issue", {"title": "Down", "priority": "high"}
    assert handed.tools[0]["function"]["name"] == name
    assert router.call(handed.tool_id(name), handed.arguments(name, given)) == "Down: HIGH"


def test_an_async_function_is_awaited_by_the_caller(router: Router) -> None:
    async def run() -> Any:
        routed = await router.route_async("tell the channel", k=1)
        return await router.call(routed.ids[0], {"channel": "ops", "text": "done"})

    assert asyncio.run(run()) == "ops: done"


def test_the_snapshot_is_named_by_its_content(router: Router) -> None:
    name = router.route("refund").snapshot
    assert name == router.manifest.snapshot and name.startswith("memory-")
    assert Router.from_tools(TOOLS[::-1], encoder=None).manifest.snapshot == name
    others = [
        Router.from_tools(TOOLS[1:], encoder=None),
        Router.from_tools(TOOLS, provider="acme", encoder=None),
        Router.from_tools(TOOLS, phrases={"create_refund": ["money back"]}, encoder=None),
    ]
    assert len({name, *(other.manifest.snapshot for other in others)}) == 4


def test_the_manifest_says_what_there_is(router: Router) -> None:
    manifest = router.manifest
    assert manifest.signals == (Signal.NAME, Signal.DESCRIPTION, Signal.EXPANSION)
    assert manifest.counts["tools"] == len(router) == 5
    assert (manifest.token_counter, dict(manifest.files), manifest.encoder) == ("estimate", {}, None)
    assert dict(manifest.generators) == {"lexicon": 5}


def test_there_is_nothing_to_reload(router: Router) -> None:
    assert router.reload() is False


def test_an_explanation_has_ranks_and_contributions(router: Router) -> None:
    tool = router.route("list the payments of a customer", explain=True)[0]
    assert tool.tool_id == "list_charges"
    assert sum(tool.contributions.values()) == pytest.approx(tool.score)
    explained, rank = router.explain("list the payments of a customer", "get_forecast")
    assert explained.tool_id == "get_forecast" and (rank is None or rank > 1)


def test_steps_are_covered(router: Router) -> None:
    routed = router.route(
        "give the customer the money of the charge back, file a ticket for the team, and notify the support channel",
        k=3,
    )
    assert len(routed.steps) == 3
    assert set(routed.ids) == {"create_refund", "create_issue", "send_message"}


def test_many_requests_are_answered_as_one_by_one(router: Router) -> None:
    requests = ["refund a charge", "what is the weather, and file a ticket"]
    assert [routed.ids for routed in router.route_many(requests)] == [router.route(text).ids for text in requests]


def test_selections_and_rerankers_hold_for_every_request() -> None:
    selection = Selection(block=("create_*",), always=("get_forecast",))
    first = Reranking(lambda request, texts: [float("Tell" in text) for text in texts])
    router = Router.from_tools(TOOLS, encoder=None, selection=selection, rerank=first)
    routed = router.route("list the payments, tell the channel")
    assert [tool.tool_id for tool in routed.always] == ["get_forecast"]
    assert routed.ids[0] == "send_message"
    assert not {"create_refund", "create_issue"} & set(routed.ids)


def test_tokens_are_estimated_and_a_budget_holds(router: Router) -> None:
    whole = router.tokens("create_refund")
    assert whole is not None and all(count > 0 for row in whole.values() for count in row.values())
    routed = router.route("refund a charge", token_budget=60, form="openai")
    assert routed.tokens is not None and routed.tokens <= 60
    assert routed.dropped


def test_a_dialogue_keeps_its_tools(router: Router) -> None:
    dialogue = StableSelection(router, k=1)
    dialogue.select("refund the charge")
    assert "create_refund" in dialogue.select("and tell the channel so").ids


def test_phrases_are_found_by_id_or_name() -> None:
    given = {"acme/create_issue": ["the printer is on fire"], "get_forecast": ["do I need an umbrella"]}
    router = Router.from_tools(TOOLS, provider="acme", phrases=given, encoder=None)
    assert router.route("the printer is on fire again").ids[0] == "acme/create_issue"
    assert router.route("do I need my umbrella").ids[0] == "acme/get_forecast"
    assert dict(router.manifest.generators) == {"given": 2, "lexicon": 3}


@pytest.mark.parametrize(
    ("phrases", "message"),
    [
        ({"create_refnd": ["x"]}, "phrases: there is no tool 'create_refnd', did you mean 'create_refund'"),
        (["x"], "phrases are \\['x'\\], they must be lists of texts by the id or name of a tool"),
        ({"zzz": ["x"]}, "phrases: there is no tool 'zzz'"),
        ({"create_refund": "x"}, "the phrases of 'create_refund' are 'x', they must be a list of texts"),
        ({"search": ["x"]}, "phrases: 'search' is the name of several tools: give an id, a/search or b/search"),
    ],
)
def test_phrases_of_no_tool_are_refused(phrases: Any, message: str) -> None:
    tools = [*TOOLS, make_record("search", "a"), make_record("search", "b")]
    with pytest.raises(SettingsInvalid, match=message):
        Router.from_tools(tools, phrases=phrases, encoder=None)


def test_one_tool_of_several_providers_takes_one_place() -> None:
    router = Router.from_tools(
        {"stripe": [create_refund], "paypal": [create_refund], "linear": [create_issue]}, encoder=None
    )
    routed = router.route("refund a charge")
    assert (routed.ids[0], routed[0].also_from) == ("paypal/create_refund", ("stripe/create_refund",))


def test_without_tools_there_is_no_router() -> None:
    empties: tuple[Any, ...] = ([], {}, {"acme": []}, iter(()))
    for empty in empties:
        with pytest.raises(SettingsInvalid, match="tools is empty: give at least one function or definition"):
            Router.from_tools(empty)


@pytest.mark.parametrize("setting", [{"request_cache": -1}, {"selection": 5}, {"rerank": 5}, {"provider": 5}])
def test_settings_out_of_their_range_are_refused(setting: dict[str, Any]) -> None:
    with pytest.raises(SettingsInvalid, match=f"{next(iter(setting))} is"):
        Router.from_tools(TOOLS, encoder=None, **setting)


def test_what_is_renamed_is_told_by_the_logger(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "router"):
        router = Router.from_tools([create_refund, {"name": "create_refund", "description": "Another."}], encoder=None)
    assert "tools[1]: the id create_refund is taken, this tool is served as create_refund~2" in caplog.text
    assert router.record("create_refund~2")


def test_functions_are_registered_replaced_and_removed() -> None:
    router = Router.from_tools(TOOLS[:2], provider="shop", encoder=None)
    router.register([create_issue], provider="team")
    assert router.route("file a ticket").ids[0] == "team/create_issue"
    assert router.call("team/create_issue", {"title": "a"}) == "a: LOW"
    router.replace("team", [send_message])
    assert set(router.functions) == {"shop/create_refund", "shop/list_charges", "team/send_message"}
    router.remove(["shop/create_refund"])
    assert "shop/create_refund" not in router.functions
    with pytest.raises(RequestInvalid, match="no function is behind 'shop/create_refund'"):
        router.call("shop/create_refund", {"charge": "a"})
    assert router.route("refund").overlay == router.overlay.revision != ""


def test_a_definition_registered_over_a_function_has_none_behind_it(router: Router) -> None:
    router.register([{"name": "get_forecast", "description": "From elsewhere."}])
    assert "get_forecast" not in router.functions
    record = router.record("get_forecast")
    assert record is not None and record.description == "From elsewhere."


def test_tools_registered_over_memory_rank_as_those_over_disk(router: Router) -> None:
    before = {tool_id: router.tokens(tool_id) for tool_id in router.route("x weather").ids}
    (record,) = router.register([make_record("get_weather_map", "acme", description="Draw the weather of a region.")])
    assert router.route("draw the weather of a region").ids[0] == record.tool_id
    assert len(router) == 6 and router.tokens(record.tool_id)
    assert all(router.tokens(tool_id) == tokens for tool_id, tokens in before.items())


def test_phrases_of_registered_tools_are_found_by_name_too(router: Router) -> None:
    tool = make_record("draw_map", "acme", description="Draw a region.")
    changes: tuple[Callable[[dict[str, list[str]]], object], ...] = (
        lambda phrases: router.register([tool], phrases=phrases),
        lambda phrases: router.replace("acme", [tool], phrases=phrases),
    )
    for change in changes:
        change({"draw_map": ["sketch the coast"]})
        assert router.route("sketch the coast").ids[0] == "acme/draw_map"
        with pytest.raises(SettingsInvalid, match="there is no tool 'draw_mop', did you mean 'draw_map'"):
            change({"draw_mop": ["sketch the coast"]})
        router.remove(["acme/draw_map"])


def test_a_built_router_takes_functions_too(snapshot: Path) -> None:
    with Router.open(snapshot) as router:
        assert not router.functions
        router.register([get_forecast])
        assert router.call("get_forecast", {"city": "Rome"}) == "sunny in Rome"


def test_many_threads_get_the_same_answers(router: Router) -> None:
    expected = router.route("refund the charge and tell the team", explain=True)
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda: found.append(router.route("refund the charge and tell the team", explain=True)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 8


def test_nothing_is_written_to_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("QUARTERMASTER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", None)
    Router.from_tools(TOOLS, encoder=None).route("refund a charge")
    assert not list(tmp_path.iterdir())


def test_any_name_and_text_is_served() -> None:
    tools = [{"name": name, "description": ""} for name in ("-", "顧客", "a" * 300, "\u200b", "получить")]
    router = Router.from_tools(tools, encoder=None)
    assert len(router) == 5
    assert router.route("顧客").ids[0] == router.tool_id_of(
        router.route("顧客", k=1).render().tools[0]["function"]["name"]
    )
