"""Anthropic's tool search by a client tool: the real SDK against a strict Messages API on loopback."""

import json
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import pytest

from quartermaster.adapters.anthropic import GONE, MOST_TOOLS, AnthropicToolSearch
from quartermaster.adapters.tool_search import CalledTool
from router import RequestInvalid, Router, Selection, SettingsInvalid, ToolRecord
from tests.support.providers.anthropic_messages import MessagesServer, Script, Seen, call, say, search_call_answer

pytestmark = pytest.mark.skipif(find_spec("anthropic") is None, reason="anthropic is not installed")

ASKED: list[dict[str, Any]] = [{"role": "user", "content": "do I need an umbrella in Oslo"}]
UMBRELLA = {"request": "do I need an umbrella"}
SCHEMA = {"type": "object", "properties": {"charge": {"type": "string"}}, "required": ["charge"]}


def echo(tool_id: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Call nothing, and tell what was called."""
    return {"called": tool_id, **arguments}


Serve = Callable[[Script], tuple[MessagesServer, Any]]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start a server of a script, with a client of the SDK that reaches it. None of the requests may be refused."""
    from anthropic import Anthropic  # takes seconds

    servers = []

    def start(script: Script) -> tuple[MessagesServer, Any]:
        server = MessagesServer(script).__enter__()
        servers.append(server)
        return server, Anthropic(base_url=server.base_url, api_key="sk-loopback", max_retries=0)

    yield start
    for server in servers:
        server.__exit__()
        assert server.refused == []


@pytest.fixture
def growing() -> Router:
    """A router whose tools a test adds and removes."""
    records = [ToolRecord(f"pay/{name}", "pay", name, f"{name} a charge.", (), SCHEMA) for name in ("refund", "list")]
    return Router.from_tools(records, encoder=None)


def run(client: Any, search: AnthropicToolSearch, messages: list[Any], **more: Any) -> list[Any]:
    """Go through a dialogue until the model calls no tool. Return its messages."""
    while True:
        tools = search.tools(messages)
        reply = client.messages.create(model="claude-test", max_tokens=99, messages=messages, tools=tools, **more)
        messages = [*messages, {"role": "assistant", "content": reply.content}]
        if not (results := search.answers(reply.content, echo)):
            return messages
        messages.append({"role": "user", "content": results})


def found(router: Router) -> list[dict[str, Any]]:
    """Return the user's message that answers a search for refunds."""
    results = AnthropicToolSearch(router, k=1).answers([call("search_tools", {"request": "refund a charge"})], echo)
    return [{"role": "user", "content": results}]


def test_the_model_searches_calls_what_was_found_and_answers_while_the_prompts_beginning_stays(
    router: Router, serve: Serve
) -> None:
    server, client = serve(search_call_answer)
    search = AnthropicToolSearch(router, k=3)
    messages = run(client, search, ASKED, cache_control={"type": "ephemeral"})
    assert messages[-1]["content"][0].text == 'It says: {"called":"weather/getForecast"}'
    # Before the search the model sees the search alone, and after it what was found.
    assert [[*seen.tools] for seen in server.seen] == [
        ["search_tools"],
        *[["search_tools", "weather__getForecast"]] * 2,
    ]
    assert all(after.prompt.startswith(before.prompt) for before, after in pairwise(server.seen))
    assert '"name": "weather__getForecast"' not in server.seen[0].prompt

    saved = json.dumps(messages, default=lambda block: block.model_dump())  # as dicts, they serve as the SDK's objects
    assert search.tools(json.loads(saved)) == search.tools(messages)


def test_tools_of_always_are_loaded_from_the_start_and_not_referenced(router: Router) -> None:
    search = AnthropicToolSearch(router, k=8, selection=Selection(always=("weather/getForecast",)))
    tool, always = search.tools(ASKED)
    assert (tool["name"], always["name"]) == ("search_tools", "weather__getForecast")
    assert "defer_loading" not in tool and "defer_loading" not in always
    (result,) = search.answers([call("search_tools", {"request": "the weather, and give money back"})], echo)
    names = [reference["tool_name"] for reference in result["content"]]
    assert names and "weather__getForecast" not in names


@pytest.mark.parametrize(
    ("block", "says"),
    [
        ({**call("", {}), "name": ["make_coffee"]}, "there is no tool ['make_coffee']"),
        (call("search_tools", {}), "request is None: say in words"),
        ({**call("search_tools", {}), "input": "{broken"}, "the arguments are not JSON"),
    ],
)
def test_what_a_model_gets_wrong_is_told_to_it_as_an_error(router: Router, block: dict[str, Any], says: str) -> None:
    (result,) = AnthropicToolSearch(router).answers([block], echo)
    assert result["is_error"] is True and result["tool_use_id"] == block["id"]
    assert says in result["content"]


def test_a_search_that_finds_nothing_says_so_in_a_text(router: Router) -> None:
    search = AnthropicToolSearch(router, selection=Selection(allow=("none/*",)))
    (result,) = search.answers([call("search_tools", UMBRELLA)], echo)
    said = (
        "No tool of the catalog passes the filters (allow): search with fewer filters, or say that it cannot be done."
    )
    assert result["content"] == said and "is_error" not in result


@pytest.mark.parametrize(
    "content",
    [
        None,
        ["text", None, 7],
        [{"type": "tool_result", "content": [{"type": "tool_reference"}]}],
        [{"type": "text", "content": [{"type": "tool_reference", "tool_name": "a"}]}],
        [{"type": "tool_search_tool_result", "content": {"error_code": "unavailable"}}],
    ],
)
def test_messages_without_references_load_nothing(router: Router, content: Any) -> None:
    message = {"role": "user", "content": content}
    assert [tool["name"] for tool in AnthropicToolSearch(router).tools([message])] == ["search_tools"]


def test_tools_of_ones_own_are_left_to_their_owner() -> None:
    router = Router.from_tools([ToolRecord("read_file", None, "read_file", "Read a file.")], encoder=None)
    search = AnthropicToolSearch(router, own=("read_file",))
    own, searched = call("read_file", {}), call("search_tools", {"request": "read a file"})
    (result,) = search.answers([own, searched], echo)
    assert result["tool_use_id"] == searched["id"] and "No tool was found: search" in result["content"]
    assert search.catalog() == []


def test_a_dialogue_lives_on_when_the_catalog_loses_a_tool_that_it_found(growing: Router, serve: Serve) -> None:
    def script(seen: Seen) -> list[dict[str, Any]]:
        if seen.last == "refund it":
            return [call("search_tools", {"request": "refund a charge"})]
        return [call("pay__refund", {"charge": "ch_1"}) if seen.last == "again" else say("done")]

    server, client = serve(script)
    search = AnthropicToolSearch(growing, k=2)
    messages = run(client, search, [{"role": "user", "content": "refund it"}])
    growing.remove(["pay/refund"])
    messages = run(client, search, [*messages, {"role": "user", "content": "again"}])
    assert server.seen[-1].tools["pay__refund"]["description"] == GONE
    assert messages[-2]["content"][0]["is_error"] is True


def test_a_found_tool_that_the_selection_no_longer_admits_cannot_be_called(growing: Router) -> None:
    strictly = AnthropicToolSearch(growing, selection=Selection(block=("pay/refund",)))
    _, gone = strictly.tools(found(growing))
    assert (gone["name"], gone["description"], gone["defer_loading"]) == ("pay__refund", GONE, True)
    with pytest.raises(RequestInvalid, match="blocked by the selection"):
        strictly.called(call("pay__refund", {"charge": "ch_1"}))


def test_a_found_tool_that_becomes_one_of_always_stays_deferred(growing: Router) -> None:
    later = AnthropicToolSearch(growing, selection=Selection(always=("pay/refund",)))
    assert [tool.get("defer_loading") for tool in later.tools(found(growing))] == [None, True]


def test_the_whole_catalog_serves_anthropics_own_search(growing: Router, serve: Serve) -> None:
    server, client = serve(lambda _: [call("pay__refund", {"charge": "ch_1"})])
    search = AnthropicToolSearch(growing, selection=Selection(always=("pay/list",)))
    references = [{"type": "tool_reference", "tool_name": name} for name in ("pay__refund", "pay__gone")]
    result = {"type": "tool_search_tool_search_result", "tool_references": references}
    use = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "tool_search_tool_bm25", "input": {"query": "x"}}
    content = [use, {"type": "tool_search_tool_result", "tool_use_id": "srvtoolu_1", "content": result}]
    messages: list[Any] = [{"role": "user", "content": "refund it"}, {"role": "assistant", "content": content}]
    tools = [{"type": "tool_search_tool_bm25_20251119", "name": use["name"]}, *search.catalog(messages)]
    reply = client.messages.create(model="claude-test", max_tokens=99, messages=messages, tools=tools)
    assert [tool.get("defer_loading") for tool in tools] == [None, None, True, True]
    assert set(server.seen[0].tools) == {"tool_search_tool_bm25", "pay__list", "pay__refund", "pay__gone"}
    assert search.called(reply.content[0]) == CalledTool("pay/refund", {"charge": "ch_1"})


def test_strict_tools_keep_to_the_number_that_a_request_takes(serve: Serve) -> None:
    records = [ToolRecord(f"pay/refund{n}", "pay", f"refund{n}", "Refund.", (), SCHEMA) for n in range(25)]
    search = AnthropicToolSearch(Router.from_tools(records, encoder=None), strict=True)
    _, client = serve(lambda _: [say("done")])
    tools = [search.tool, *search.catalog()]
    client.messages.create(model="claude-test", max_tokens=99, messages=ASKED, tools=tools)
    assert sum(tool.get("strict", False) for tool in tools) == 20


def test_a_catalog_of_more_tools_than_a_request_takes_is_refused_with_the_way_out(
    growing: Router, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MOST_TOOLS == 10_000
    monkeypatch.setattr("quartermaster.adapters.anthropic.MOST_TOOLS", 1)
    with pytest.raises(SettingsInvalid, match=r"2 tools, a request takes 1: .* send `tools\(messages\)`"):
        AnthropicToolSearch(growing).catalog()


def test_settings_that_cannot_hold_are_refused(growing: Router) -> None:
    with pytest.raises(SettingsInvalid, match="name is 'search tools'"):
        AnthropicToolSearch(growing, name="search tools")
    with pytest.raises(SettingsInvalid, match="shorten is true"):
        AnthropicToolSearch(growing, shorten=True)


def test_a_search_is_answered_by_its_needs(router: Router) -> None:
    search = AnthropicToolSearch(router, k=1)
    asked = {"request": "sort it out", "needs": ["create an issue on github"]}
    (result,) = search.answers([call(search.name, asked)], echo)
    assert result["content"] == [{"type": "tool_reference", "tool_name": "github__create_issue"}]
