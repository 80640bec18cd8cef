"""Examples of agents: over a scripted provider on loopback, each prints what its page shows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from tests.examples.conftest import Run
from tests.examples.travelling_model import REQUESTS, travel
from tests.pipeline.enrichment.model_server import ModelServer, Reply, completion
from tests.quartermaster.adapters.agent_model import call_the_first_tool, calling, required_of
from tests.support.documents import blocks
from tests.support.places import ROOT
from tests.support.providers.anthropic_messages import MessagesServer, Seen, call, say
from tests.support.providers.chat_completions import strict
from tests.support.providers.openai_responses import ResponsesServer
from tests.support.providers.openai_searching_model import search_then_call

pytestmark = pytest.mark.nightly

_SAID: dict[str, tuple[str, dict[str, Any]]] = {
    "how full is the battery": ("battery_level", {"hour": 14}),
    "heat the water tank to 55 degrees": ("heat_water", {"degrees": 55}),
    "and what about the battery tonight": ("battery_level", {"hour": 22}),
}


def _one_call(name: str, **arguments: object) -> Callable[[Mapping[str, Any], int], Reply]:
    """A model that calls one tool, then says what it gave."""
    return _calls(lambda _: (name, arguments))


def _calls(choose: Callable[[str], tuple[str, dict[str, Any]]]) -> Callable[[Mapping[str, Any], int], Reply]:
    def script(body: Mapping[str, Any], _: int) -> Reply:
        last = body["messages"][-1]
        if last["role"] == "tool":
            return Reply(completion(f"It says: {last['content']}"))
        name, arguments = choose(last["content"])
        assert name in [tool["function"]["name"] for tool in body["tools"]]
        return calling(name, arguments)

    return script


@dataclass(frozen=True)
class Chat:
    """An example over a chat model's server: its page, its model, how it is called and what it needs."""

    page: str
    script: Callable[..., Reply]
    arguments: tuple[str, ...]
    package: str
    ignoring: str | None = None


_NAMED = ("--model", "a-model")
CHATS = {
    "langchain_agent.py": Chat("langchain", _calls(_SAID.__getitem__), _NAMED, "langchain"),
    "langgraph_agent.py": Chat(
        "langgraph", _one_call("move_budget", source="phone", target="travel", euros=40), _NAMED, "langgraph"
    ),
    "llama_index_agent.py": Chat(
        "llama_index", _one_call("check_insurance", boat="Jolie", month="January"), _NAMED, "llama_index.core",
        # LlamaIndex reads deprecated attributes of its own models while it looks for an agent's steps.
        "ignore::DeprecationWarning",
    ),
    "openai_agent_dialogue.py": Chat("openai_agents", strict(travel), REQUESTS, "agents"),
    "pydantic_ai_agent.py": Chat("pydantic_ai", strict(travel), REQUESTS, "pydantic_ai"),
}  # fmt: skip


def _shown(page: str) -> list[str]:
    return [block.text for block in blocks("text", page=ROOT / "docs" / "integrations" / f"{page}.md")]


@pytest.mark.parametrize("program", CHATS)
def test_the_page_shows_what_an_agent_over_a_chat_model_prints(program: str, run: Run) -> None:
    chat = CHATS[program]
    pytest.importorskip(chat.package)
    with ModelServer(chat.script) as model:
        reached = {"OPENAI_BASE_URL": model.base_url, "OPENAI_API_KEY": "sk-loopback", "OPENAI_MODEL": "a-model"}
        printed = run(program, *chat.arguments, ignoring=chat.ignoring, **reached)
    assert printed in _shown(chat.page)
    assert {request.body["model"] for request in model.requests} == {"a-model"}


def _forget_the_arguments_first(body: dict[str, Any], count: int) -> Reply:
    """Call the first tool without arguments, then with those that it requires, then answer."""
    tool = body["tools"][0]["function"]
    arguments = required_of(tool["parameters"]) if count == 2 else {}
    return call_the_first_tool(body) if count == 3 else calling(tool["name"], arguments)


def test_an_agent_reads_why_a_call_was_refused_and_then_calls_as_it_must(run: Run) -> None:
    pytest.importorskip("agents")
    with ModelServer(_forget_the_arguments_first) as model:
        reached = {"OPENAI_BASE_URL": model.base_url, "OPENAI_API_KEY": "sk-loopback", "OPENAI_MODEL": "a-model"}
        printed = run("openai_agent.py", "what will the weather be", **reached)
    assert printed.splitlines() == [
        "asked   what will the weather be",
        "given   forecast, of 5 tools",
        "tool    refused: forecast: the argument 'place' is missing",
        'tool    {"place":"some","days":1,"rain":false,"wind_kn":14}',
        'answer  It says: {"place":"some","days":1,"rain":false,"wind_kn":14}',
    ]


def test_a_model_of_the_responses_api_searches_in_each_turn_and_the_page_shows_it(run: Run) -> None:
    with ResponsesServer(search_then_call) as server:
        printed = run("openai_tool_search.py", OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY="sk-loopback")
    assert server.refused == [] and len(server.bodies) == 6
    assert [tool["type"] for tool in server.bodies[-1]["tools"]] == ["tool_search"]
    assert printed in _shown("openai")


def _forget_the_place_first(seen: Seen) -> list[dict[str, Any]]:
    """Search, call what was found without its arguments, then with them, and answer."""
    turns = [
        call("search_tools", {"request": "what will the weather be like"}),
        call("forecast", {}),
        call("forecast", {"place": "Texel"}),
        say("No rain, and 14 knots of wind."),
    ]
    return [turns[len(seen.body["messages"]) // 2]]


def test_claude_searches_by_tool_references_and_the_page_shows_it(run: Run) -> None:
    pytest.importorskip("anthropic")
    with MessagesServer(_forget_the_place_first) as server:
        printed = run("anthropic_tool_search.py", ANTHROPIC_BASE_URL=server.base_url, ANTHROPIC_API_KEY="sk-loopback")
    assert server.refused == []
    assert [sorted(seen.tools) for seen in server.seen[:2]] == [
        ["note", "search_tools"],
        ["forecast", "note", "search_tools"],
    ]
    assert printed in _shown("anthropic")


def test_a_client_of_fastmcp_finds_and_calls_a_tool_that_is_not_listed_and_the_page_shows_it(run: Run) -> None:
    pytest.importorskip("fastmcp")
    printed = run("fastmcp_server.py")
    assert printed.startswith("listed  page_oncall, search_tools, call_tool\n")
    assert printed in _shown("fastmcp")
