"""Anthropic's tool search by a client tool: the real SDK against a strict Messages API on loopback."""

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

pytest.importorskip("anthropic", reason="anthropic is not installed")

import anthropic

from router import RequestInvalid, Router, Selection, SettingsInvalid, ToolRecord
from router.adapters.anthropic import GONE, MOST_TOOLS, NOTHING, AnthropicToolSearch
from router.adapters.tool_search import CalledTool
from tests.support.providers.anthropic_messages import MessagesServer, Script, Seen, call, say

ASKED: list[dict[str, Any]] = [{"role": "user", "content": "do I need an umbrella in Oslo"}]
UMBRELLA = {"request": "do I need an umbrella"}
SCHEMA = {"type": "object", "properties": {"charge": {"type": "string"}}, "required": ["charge"]}


def search_call_answer(seen: Seen) -> list[dict[str, Any]]:
    """Search, call the first tool that was found, then say what it gave."""
    if isinstance(seen.last, str):
        return [call("search_tools", UMBRELLA)]
    content = seen.last[-1]["content"]
    if isinstance(content, str):
        return [say(f"It says: {content}")]
    return [say("Let me look."), call(content[0]["tool_name"], {"city": "Oslo"})]


def echo(tool_id: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Call nothing, and tell what was called."""
    return {"called": tool_id, **arguments}


@pytest.fixture
def serve() -> Iterator[Callable[[Script], tuple[MessagesServer, Any]]]:
    """Start a server of a script, with a client of the SDK that reaches it."""
    servers = []

    def start(script: Script) -> tuple[MessagesServer, Any]:
        server = MessagesServer(script).__enter__()
        servers.append(server)
        return server, anthropic.Anthropic(base_url=server.base_url, api_key="sk-loopback", max_retries=0)

    yield start
    for server in servers:
        server.__exit__()


def run(client: Any, search: AnthropicToolSearch, messages: list[Any], **more: Any) -> list[Any]:
    """Go through a dialogue until the model calls no tool. Return its messages."""
    while True:
        tools = search.tools(messages)
        reply = client.messages.create(model="claude-test", max_tokens=99, messages=messages, tools=tools, **more)
        messages = [*messages, {"role": "assistant", "content": reply.content}]
        if not (results := search.answers(reply.content, echo)):
            return messages
        messages.append({"role": "user", "content": results})


def test_the_model_searches_calls_what_was_found_and_answers(
    router: Router, serve: Callable[[Script], tuple[MessagesServer, Any]]
) -> None:
    server, client = serve(search_call_answer)
    messages = run(client, AnthropicToolSearch(router, k=3), ASKED)
    assert messages[-1]["content"][0].text == 'It says: {"called":"weather/getForecast","city":"Oslo"}'
    assert server.refused == []
    # Before the search the model sees the search alone, and after it what was found.
    assert [len(seen.tools) for seen in server.seen] == [1, 2, 2]
    assert list(server.seen[0].tools) == ["search_tools"]
    assert "weather__getForecast" in server.seen[1].tools


def test_each_prompt_begins_as_the_one_before_so_the_cache_holds(
    router: Router, serve: Callable[[Script], tuple[MessagesServer, Any]]
) -> None:
    server, client = serve(search_call_answer)
    run(client, AnthropicToolSearch(router, k=3), ASKED, cache_control={"type": "ephemeral"})
    first, second, third = (seen.prompt for seen in server.seen)
    assert second.startswith(first) and third.startswith(second)
    assert '"name": "weather__getForecast"' in second and '"name": "weather__getForecast"' not in first


def test_a_tool_that_is_added_without_being_deferred_would_empty_the_cache(
    router: Router, serve: Callable[[Script], tuple[MessagesServer, Any]]
) -> None:
    _, client = serve(lambda _: [say("done")])
    search, cache = AnthropicToolSearch(router), {"type": "ephemeral"}
    found = search.answers([call("search_tools", UMBRELLA)], echo)[0]["content"][0]["tool_name"]
    (deferred,) = [tool for tool in search.catalog() if tool["name"] == found]
    loaded = {key: value for key, value in deferred.items() if key != "defer_loading"}

    def read(*tools: dict[str, Any]) -> int:
        reply = client.messages.create(
            model="claude-test", max_tokens=99, messages=ASKED, tools=[search.tool, *tools], cache_control=cache
        )
        return int(reply.usage.cache_read_input_tokens)

    assert read() == 0
    whole = read()
    assert read(deferred) == whole
    # All that is left in common is the search tool, which comes first.
    assert read(loaded) == len(json.dumps(search.tool)) // 4 < whole


def test_a_stream_gives_the_same_dialogue(
    router: Router, serve: Callable[[Script], tuple[MessagesServer, Any]]
) -> None:
    _, client = serve(search_call_answer)
    search, messages = AnthropicToolSearch(router, k=3), list(ASKED)
    with client.messages.stream(
        model="claude-test", max_tokens=99, messages=messages, tools=search.tools(messages)
    ) as stream:
        content = stream.get_final_message().content
    (result,) = search.answers(content, echo)
    assert result["content"][0] == {"type": "tool_reference", "tool_name": "weather__getForecast"}


def test_the_asynchronous_client_gives_the_same_dialogue(
    router: Router, serve: Callable[[Script], tuple[MessagesServer, Any]]
) -> None:
    server, _ = serve(search_call_answer)
    search = AnthropicToolSearch(router, k=3)
    messages: list[Any] = list(ASKED)

    async def later(tool_id: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(0)
        return echo(tool_id, arguments)

    async def run_async() -> str:
        async with anthropic.AsyncAnthropic(base_url=server.base_url, api_key="sk-loopback", max_retries=0) as client:
            while True:
                tools: list[Any] = search.tools(messages)
                reply = await client.messages.create(model="m", max_tokens=99, messages=messages, tools=tools)
                messages.append({"role": "assistant", "content": reply.content})
                if not (results := await search.answers_async(reply.content, later)):
                    return str(reply.content[0].text)  # type: ignore[union-attr]
                messages.append({"role": "user", "content": results})

    assert asyncio.run(run_async()) == 'It says: {"called":"weather/getForecast","city":"Oslo"}'


def test_dicts_read_from_a_file_serve_as_the_objects_of_the_sdk_do(
    router: Router, serve: Callable[[Script], tuple[MessagesServer, Any]]
) -> None:
    _, client = serve(search_call_answer)
    search = AnthropicToolSearch(router, k=3)
    messages = run(client, search, ASKED)
    saved = [
        {
            **message,
            "content": message["content"]
            if isinstance(message["content"], str)
            else [block if isinstance(block, dict) else block.model_dump() for block in message["content"]],
        }
        for message in messages
    ]
    assert search.tools(json.loads(json.dumps(saved))) == search.tools(messages)
    assert len(search.tools(saved)) == 2


def test_tools_of_always_are_loaded_from_the_start_and_not_referenced(router: Router) -> None:
    search = AnthropicToolSearch(router, k=8, selection=Selection(always=("weather/getForecast",)))
    tool, always = search.tools(ASKED)
    assert (tool["name"], always["name"]) == ("search_tools", "weather__getForecast")
    assert "defer_loading" not in tool and "defer_loading" not in always
    (result,) = search.answers([call("search_tools", {"request": "the weather, and give money back"})], echo)
    names = [reference["tool_name"] for reference in result["content"]]
    assert names and "weather__getForecast" not in names


def test_an_async_call_is_awaited_and_refused_by_the_synchronous_results(router: Router) -> None:
    async def later(tool_id: str, _: Mapping[str, Any]) -> str:
        await asyncio.sleep(0)
        return tool_id

    search = AnthropicToolSearch(router, k=1)
    content = [call("search_tools", UMBRELLA), call("weather__getForecast", {"city": "Oslo"})]
    found, called = asyncio.run(search.answers_async(content, later))
    assert found["content"] == [{"type": "tool_reference", "tool_name": "weather__getForecast"}]
    assert called == {"type": "tool_result", "tool_use_id": content[1]["id"], "content": "weather/getForecast"}
    with pytest.raises(TypeError, match="use answers_async"):
        search.answers(content, later)


@pytest.mark.parametrize(
    ("block", "says"),
    [
        (call("make_coffee", {}), "there is no tool 'make_coffee'"),
        ({**call("", {}), "name": ["make_coffee"]}, "there is no tool ['make_coffee']"),
        (call("search_tools", {}), "request is None: say in words"),
        ({**call("search_tools", {}), "input": "{broken"}, "the arguments are not JSON"),
        ({**call("weather__getForecast", {}), "input": ["Oslo"]}, "they must be a JSON object"),
    ],
)
def test_what_a_model_gets_wrong_is_told_to_it_as_an_error(router: Router, block: dict[str, Any], says: str) -> None:
    (result,) = AnthropicToolSearch(router).answers([block], echo)
    assert result["is_error"] is True and result["tool_use_id"] == block["id"]
    assert says in result["content"]


def test_arguments_that_the_call_refuses_are_told_and_other_exceptions_end_the_run(router: Router) -> None:
    def refuse(_: str, __: Mapping[str, Any]) -> None:
        raise RequestInvalid("city is missing")

    def fail(_: str, __: Mapping[str, Any]) -> None:
        raise ConnectionError("no network")

    search = AnthropicToolSearch(router)
    (result,) = search.answers([call("weather__getForecast", {})], refuse)
    assert (result["content"], result["is_error"]) == ("city is missing", True)
    with pytest.raises(ConnectionError):
        search.answers([call("weather__getForecast", {})], fail)


def test_a_search_that_finds_nothing_says_so_in_a_text(router: Router) -> None:
    search = AnthropicToolSearch(router, selection=Selection(allow=("none/*",)))
    (result,) = search.answers([call("search_tools", UMBRELLA)], echo)
    assert NOTHING in result["content"] and "is_error" not in result


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user"},
        {"role": "user", "content": None},
        {"role": "user", "content": ["text", None, 7]},
        {"role": "user", "content": [{"type": "tool_result", "content": "a text"}]},
        {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "tool_reference"}]}]},
        {"role": "user", "content": [{"type": "text", "content": [{"type": "tool_reference", "tool_name": "a"}]}]},
        {
            "role": "assistant",
            "content": [{"type": "tool_search_tool_result", "content": {"error_code": "unavailable"}}],
        },
    ],
)
def test_messages_without_references_load_nothing(router: Router, message: dict[str, Any]) -> None:
    assert [tool["name"] for tool in AnthropicToolSearch(router).tools([message])] == ["search_tools"]


def test_tools_of_ones_own_are_left_to_their_owner(
    serve: Callable[[Script], tuple[MessagesServer, Any]],
) -> None:
    router = Router.from_tools([ToolRecord("read_file", None, "read_file", "Read a file.")], encoder=None)
    search = AnthropicToolSearch(router, own=("read_file",))
    content = [call("read_file", {}), call("search_tools", {"request": "read a file"})]
    results = search.answers(content, echo)
    assert [result["tool_use_id"] for result in results] == [content[1]["id"]]
    assert NOTHING in results[0]["content"]
    assert search.catalog() == []


@pytest.fixture
def growing() -> Router:
    """A router whose tools a test adds and removes."""
    records = [ToolRecord(f"pay/{name}", "pay", name, f"{name} a charge.", (), SCHEMA) for name in ("refund", "list")]
    return Router.from_tools(records, encoder=None)


def test_a_dialogue_lives_on_when_the_catalog_loses_a_tool_that_it_found(
    growing: Router, serve: Callable[[Script], tuple[MessagesServer, Any]]
) -> None:
    def script(seen: Seen) -> list[dict[str, Any]]:
        if seen.last == "refund it":
            return [call("search_tools", {"request": "refund a charge"})]
        if seen.last == "again":
            return [call("pay__refund", {"charge": "ch_1"})]
        return [say("done")]

    server, client = serve(script)
    search = AnthropicToolSearch(growing, k=2)
    messages = run(client, search, [{"role": "user", "content": "refund it"}])
    growing.remove(["pay/refund"])
    messages = run(client, search, [*messages, {"role": "user", "content": "again"}])
    assert server.refused == []
    assert server.seen[-1].tools["pay__refund"]["description"] == GONE
    assert messages[-2]["content"][0]["is_error"] is True
    # Without the definition that stands in for it, the API refuses every later request of the dialogue.
    tools = [tool for tool in search.tools(messages) if tool["name"] != "pay__refund"]
    with pytest.raises(anthropic.BadRequestError, match="Tool reference 'pay__refund' not found in available tools"):
        client.messages.create(model="claude-test", max_tokens=99, messages=messages[:3], tools=tools)


def test_a_found_tool_that_the_selection_no_longer_admits_cannot_be_called(growing: Router) -> None:
    messages = [
        {
            "role": "user",
            "content": AnthropicToolSearch(growing).answers(
                [call("search_tools", {"request": "refund a charge"})], echo
            ),
        }
    ]
    strictly = AnthropicToolSearch(growing, selection=Selection(block=("pay/refund",)))
    gone = next(tool for tool in strictly.tools(messages) if tool["name"] == "pay__refund")
    assert gone["description"] == GONE and gone["defer_loading"] is True
    with pytest.raises(RequestInvalid, match="blocked by the selection"):
        strictly.called(call("pay__refund", {"charge": "ch_1"}))


def test_a_found_tool_that_becomes_one_of_always_stays_deferred(growing: Router) -> None:
    results = AnthropicToolSearch(growing, k=1).answers([call("search_tools", {"request": "refund a charge"})], echo)
    later = AnthropicToolSearch(growing, selection=Selection(always=("pay/refund",)))
    assert [tool.get("defer_loading") for tool in later.tools([{"role": "user", "content": results}])] == [None, True]


def test_the_whole_catalog_serves_anthropics_own_search(
    growing: Router, serve: Callable[[Script], tuple[MessagesServer, Any]]
) -> None:
    server, client = serve(lambda _: [call("pay__refund", {"charge": "ch_1"})])
    search = AnthropicToolSearch(growing, selection=Selection(always=("pay/list",)))
    bm25 = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
    found = {
        "type": "tool_search_tool_search_result",
        "tool_references": [
            {"type": "tool_reference", "tool_name": "pay__refund"},
            {"type": "tool_reference", "tool_name": "pay__gone"},
        ],
    }
    messages: list[Any] = [
        {"role": "user", "content": "refund it"},
        {
            "role": "assistant",
            "content": [
                {
                    "type": "server_tool_use",
                    "id": "srvtoolu_1",
                    "name": "tool_search_tool_bm25",
                    "input": {"query": "x"},
                },
                {"type": "tool_search_tool_result", "tool_use_id": "srvtoolu_1", "content": found},
            ],
        },
    ]
    tools = [bm25, *search.catalog(messages)]
    reply = client.messages.create(model="claude-test", max_tokens=99, messages=messages, tools=tools)
    assert [tool.get("defer_loading") for tool in tools] == [None, None, True, True]
    assert set(server.seen[0].tools) == {"tool_search_tool_bm25", "pay__list", "pay__refund", "pay__gone"}
    assert search.called(reply.content[0]) == CalledTool("pay/refund", {"charge": "ch_1"})


def test_strict_tools_keep_to_the_number_that_a_request_takes(
    serve: Callable[[Script], tuple[MessagesServer, Any]],
) -> None:
    records = [ToolRecord(f"pay/refund{n}", "pay", f"refund{n}", "Refund.", (), SCHEMA) for n in range(25)]
    search = AnthropicToolSearch(Router.from_tools(records, encoder=None), k=25, strict=True)
    server, client = serve(lambda _: [say("done")])
    run(client, search, [{"role": "user", "content": "x"}])
    tools = [search.tool, *search.catalog()]
    client.messages.create(model="claude-test", max_tokens=99, messages=ASKED, tools=tools)
    assert sum(tool.get("strict", False) for tool in tools) == 20
    assert server.refused == []


def test_a_catalog_of_more_tools_than_a_request_takes_is_refused_with_the_way_out(
    growing: Router, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MOST_TOOLS == 10_000
    monkeypatch.setattr("router.adapters.anthropic.MOST_TOOLS", 1)
    with pytest.raises(SettingsInvalid, match=r"2 tools, a request takes 1: .* send `tools\(messages\)`"):
        AnthropicToolSearch(growing).catalog()


def test_settings_that_cannot_hold_are_refused(growing: Router) -> None:
    with pytest.raises(SettingsInvalid, match="name is 'search tools'"):
        AnthropicToolSearch(growing, name="search tools")
    with pytest.raises(SettingsInvalid, match="shorten is true"):
        AnthropicToolSearch(growing, shorten=True)
