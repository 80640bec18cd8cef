"""A router in memory: everything that a router over a built snapshot does."""

import asyncio
import enum
import logging
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from router import RequestInvalid, Reranking, Router, Selection, SettingsInvalid, Signal, StableSelection
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
    assert router.functions["create_refund"] is create_refund
    assert router.call("create_refund", {"charge": "ch_1", "amount": "500"}) == "refunded ch_1, 500"

    handed = router.route("file an urgent ticket", k=1).render("openai", strict=True)
    name, given = "create_issue", {"title": "Down", "priority": "high"}
    assert handed.tools[0]["function"]["name"] == name
    assert router.call(handed.tool_id(name), handed.arguments(name, given)) == "Down: HIGH"

    async def run() -> Any:  # an async function is awaited by the caller
        found = await router.route_async("tell the channel", k=1)
        return await router.call(found.ids[0], {"channel": "ops", "text": "done"})

    assert asyncio.run(run()) == "ops: done"


def test_the_snapshot_is_named_by_its_content_and_the_manifest_says_what_there_is(router: Router) -> None:
    name, manifest = router.route("refund").snapshot, router.manifest
    assert name == manifest.snapshot and name.startswith("memory-") and not router.reload()
    assert Router.from_tools(TOOLS[::-1], encoder=None).manifest.snapshot == name
    others = [
        Router.from_tools(TOOLS[1:], encoder=None),
        Router.from_tools(TOOLS, provider="acme", encoder=None),
        Router.from_tools(TOOLS, phrases={"create_refund": ["money back"]}, encoder=None),
    ]
    assert len({name, *(other.manifest.snapshot for other in others)}) == 4
    assert manifest.signals == (Signal.NAME, Signal.DESCRIPTION)
    assert manifest.counts["tools"] == len(router) == 5
    assert (manifest.token_counter, dict(manifest.files), manifest.encoder) == ("estimate", {}, None)
    assert dict(manifest.generators) == {}


def test_selections_rerankers_budgets_and_dialogues_hold() -> None:
    selection = Selection(block=("create_*",), always=("get_forecast",))
    first = Reranking(lambda request, texts: [float("Tell" in text) for text in texts])
    with Router.from_tools(TOOLS, encoder=None, selection=selection, rerank=first) as router:
        routed = router.route("list the payments, tell the channel")
    assert [tool.tool_id for tool in routed.always] == ["get_forecast"]
    assert routed.ids[0] == "send_message" and not {"create_refund", "create_issue"} & set(routed.ids)

    plain = Router.from_tools(TOOLS, encoder=None)
    budgeted = plain.route("refund a charge", token_budget=60, form="openai")
    assert budgeted.tokens is not None and budgeted.tokens <= 60 and budgeted.dropped
    dialogue = StableSelection(plain, k=1)
    dialogue.select("refund the charge")
    assert "create_refund" in dialogue.select("and tell the channel so").ids


def test_phrases_are_found_by_id_or_name() -> None:
    given = {"acme/create_issue": ["the printer is on fire"], "get_forecast": ["do I need an umbrella"]}
    router = Router.from_tools(TOOLS, provider="acme", phrases=given, encoder=None)
    assert router.route("the printer is on fire again").ids[0] == "acme/create_issue"
    assert router.route("do I need my umbrella").ids[0] == "acme/get_forecast"
    assert dict(router.manifest.generators) == {"given": 2}


@pytest.mark.parametrize(
    ("phrases", "message"),
    [
        ({"create_refnd": ["x"]}, "phrases: there is no tool 'create_refnd', did you mean 'create_refund'"),
        (["x"], "phrases are \\['x'\\], they must be lists of texts by the id or name of a tool"),
        ({"create_refund": "x"}, "the phrases of 'create_refund' are 'x', they must be a list of texts"),
        ({"search": ["x"]}, "phrases: 'search' is the name of several tools: give an id, a/search or b/search"),
    ],
)
def test_phrases_of_no_tool_are_refused(phrases: Any, message: str) -> None:
    tools = [*TOOLS, make_record("search", "a"), make_record("search", "b")]
    with pytest.raises(SettingsInvalid, match=message):
        Router.from_tools(tools, phrases=phrases, encoder=None)


def test_one_bad_tool_costs_only_itself_and_is_warned_of_unless_it_is_strict(caplog: pytest.LogCaptureFixture) -> None:
    bad = [*TOOLS, {"name": "broken", "inputSchema": 7}]
    router = Router.from_tools(bad, provider="acme", encoder=None)
    changes = [partial(router.register, bad, provider="acme"), partial(router.replace, "acme", bad)]
    for each in changes:
        assert len(each()) == len(TOOLS) == len(router)
    told = [record.message for record in caplog.records if record.name == "router"]
    assert (
        len([line for line in told if line.startswith(f"tools[{len(TOOLS)}]: the tool 'broken' cannot be used")]) == 3
    )
    strictly: list[Callable[..., object]] = [*changes, partial(Router.from_tools, bad, encoder=None)]
    for change in strictly:
        with pytest.raises(SettingsInvalid, match="'broken' cannot be used: inputSchema is a number"):
            change(strict=True)
    with pytest.raises(SettingsInvalid, match="'broken'"):
        router.replace("acme", bad[-1:])
    assert len(router) == len(TOOLS)


@pytest.mark.parametrize("empty", [[], {"acme": []}, iter(())])
def test_without_tools_there_is_no_router(empty: Any) -> None:
    with pytest.raises(SettingsInvalid, match="tools is empty: give at least one function or definition"):
        Router.from_tools(empty)


def test_what_is_renamed_is_told_by_the_logger(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "router"):
        router = Router.from_tools([create_refund, {"name": "create_refund", "description": "Another."}], encoder=None)
    assert "tools[1]: the id create_refund is taken, this tool is served as create_refund~2" in caplog.text
    assert router.record("create_refund~2")


def test_functions_are_registered_replaced_and_removed(snapshot: Path) -> None:
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
    with Router.open(snapshot) as built:
        built.register([get_forecast])
        assert built.call("get_forecast", {"city": "Rome"}) == "sunny in Rome"


def test_a_definition_registered_over_a_function_has_none_behind_it(router: Router) -> None:
    router.register([{"name": "get_forecast", "description": "From elsewhere."}])
    record = router.record("get_forecast")
    assert "get_forecast" not in router.functions
    assert record is not None and record.description == "From elsewhere."


def test_a_tool_registered_over_memory_is_found_by_its_words_and_its_phrases(router: Router) -> None:
    tool = make_record("draw_map", "acme", description="Draw the weather of a region.")
    for change in (router.register, lambda tools, phrases: router.replace("acme", tools, phrases=phrases)):
        change([tool], phrases={"draw_map": ["sketch the coast"]})
        for request in ("draw the weather of a region", "sketch the coast"):
            assert router.route(request).ids[0] == "acme/draw_map"
        assert len(router) == 6 and all(router.tokens(record.tool_id) for record in router.tools)
        with pytest.raises(SettingsInvalid, match="there is no tool 'draw_mop', did you mean 'draw_map'"):
            change([tool], phrases={"draw_mop": ["sketch the coast"]})
        router.remove(["acme/draw_map"])


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
    routed = router.route("顧客", k=1)
    assert len(router) == 5
    assert routed.ids[0] == router.tool_id_of(routed.render().tools[0]["function"]["name"])


def test_a_label_that_the_program_gives_stands_before_what_a_definition_says_of_itself() -> None:
    claims: list[dict[str, Any]] = [{"name": "read", "description": "Read.", "provider": "stripe", "id": "stripe/list"}]
    router = Router.from_tools(claims, provider="acme", encoder=None)
    router.register(claims, provider="other")
    router.replace("third", [{"name": "stripe", "tools": claims}])
    assert [record.tool_id for record in router.tools] == ["acme/read", "other/read", "third/read"]
    assert router.providers == {"acme": 1, "other": 1, "third": 1}
