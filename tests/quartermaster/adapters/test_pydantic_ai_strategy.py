"""pydantic-ai's tool search with the router behind it, in real agents."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="the extra pydantic-ai is not installed")

from openai import AsyncOpenAI
from pydantic_ai import Agent, Tool
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolSearchReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

from quartermaster.adapters.pydantic_ai import DeferredToolset, tool_search
from router import Router, Selection, SettingsInvalid
from tests.pipeline.enrichment.model_server import ModelServer, Reply
from tests.quartermaster.adapters.agent_model import call_the_first_tool, calling
from tests.support.providers.chat_completions import strict
from tests.support.providers.openai_responses import ResponsesServer
from tests.support.providers.openai_searching_model import calling as response_calling
from tests.support.providers.openai_searching_model import saying, searching


def get_forecast(city: str) -> str:
    """Forecast the weather of a city: rain, wind, temperature."""
    return f"no rain in {city}"


def refund_charge(charge: str) -> str:
    """Give a customer the money of a charge back."""
    return f"refunded {charge}"


def list_channels() -> list[str]:
    """List the channels of the workspace."""
    return ["general"]


def deferred() -> list[Tool[object]]:
    return [Tool(function, defer_loading=True) for function in (get_forecast, refund_charge, list_channels)]


def provider(base_url: str) -> OpenAIProvider:
    return OpenAIProvider(openai_client=AsyncOpenAI(base_url=base_url, api_key="sk-loopback", max_retries=0))


def searches(queries: Any) -> FunctionModel:
    """A model that searches once, and then says the names that it was given."""

    def model(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        returns = [part for part in messages[-1].parts if isinstance(part, ToolSearchReturnPart)]
        if not returns:
            return ModelResponse([ToolCallPart("search_tools", {"queries": queries})])
        found = [tool["name"] for tool in returns[-1].content["discovered_tools"]]
        return ModelResponse([TextPart(" ".join(found) or "nothing")])

    return FunctionModel(model)


def found(queries: list[str], tools: list[Tool[object]], *args: Any, **options: Any) -> list[str]:
    agent = Agent(searches(queries), tools=tools, capabilities=[tool_search(*args, **options)])
    return agent.run_sync("help").output.split()


@pytest.mark.parametrize(
    ("queries", "k", "names"),
    [
        (["give the money back to the customer"], 1, ["refund_charge"]),
        (["weather of a city; a charge", "channels of the workspace"], 2, ["get_forecast", "list_channels"]),
        (["xylophone"], 5, ["nothing"]),
    ],
    ids=["one", "the best of each query come first", "none"],
)
def test_a_router_of_the_agents_own_tools_finds_them(queries: list[str], k: int, names: list[str]) -> None:
    assert found(queries, deferred(), encoder=None, k=k) == names


def test_tools_are_matched_by_the_names_that_the_router_renders_and_by_its_records_names(router: Router) -> None:
    for name in ("weather__getForecast", "getForecast"):
        own: list[Tool[object]] = [Tool(list_channels, name=name, defer_loading=True)]
        assert found(["do I need an umbrella"], own, router) == [name]


def test_only_the_agents_tools_that_the_selection_admits_are_found_however_well_others_fit(router: Router) -> None:
    own = [Tool(list_channels, name=name, defer_loading=True) for name in ("getForecast", "create_refund")]
    assert found(["do I need an umbrella, or the money back"], own[1:], router, k=1) == ["create_refund"]
    blocked = Selection(block=("weather/*",))
    assert "getForecast" not in found(["do I need an umbrella"], own, router, selection=blocked)


def test_a_router_that_knows_none_of_the_tools_is_an_error_of_the_program(router: Router) -> None:
    with pytest.raises(SettingsInvalid, match="knows none of the 3 deferred tools, such as 'get_forecast'"):
        found(["rain"], deferred(), router)


def test_tools_that_change_between_runs_are_read_anew() -> None:
    search = tool_search(encoder=None, k=1)
    for tools, expected in ((deferred()[:1], "get_forecast"), (deferred()[1:], "refund_charge")):
        agent = Agent(searches(["weather city charge customer"]), tools=tools, capabilities=[search])
        assert agent.run_sync("help").output == expected


def test_over_chat_completions_found_tools_are_declared_behind_the_search() -> None:
    def script(body: dict[str, Any], count: int) -> Reply:
        if count == 1:
            return calling("search_tools", {"queries": ["give the money back"]})
        return calling("refund_charge", {"charge": "ch_1"}) if count == 2 else call_the_first_tool(body)

    with ModelServer(strict(script)) as server:
        model = OpenAIChatModel("gpt-5-mini", provider=provider(server.base_url))
        agent = Agent(model, tools=deferred(), capabilities=[tool_search(encoder=None, k=1)])
        assert agent.run_sync("refund ch_1").output == "It says: refunded ch_1"
    offered = [[tool["function"]["name"] for tool in request.body["tools"]] for request in server.requests]
    assert [{*names} for names in offered] == [{"search_tools"}, *[{"search_tools", "refund_charge"}] * 2]


def test_over_responses_the_search_is_the_providers_own_and_runs_here(router: Router) -> None:
    """`execution: client`: the tools of a request never change, what is found is loaded behind what was said."""

    def script(body: Mapping[str, Any]) -> list[dict[str, Any]]:
        last = body["input"][-1]
        if last.get("role") == "user":
            return [searching({"queries": ["do I need an umbrella"]})]
        if last["type"] == "tool_search_output":
            (loaded,) = last["tools"]
            return [response_calling(loaded, loaded["name"], '{"city": "Oslo"}')]
        return [saying(f"It says: {last['output']}")]

    with ResponsesServer(script) as server:
        model = OpenAIResponsesModel("gpt-5.4", provider=provider(server.base_url))
        toolset = DeferredToolset(router, lambda tool_id, arguments: {tool_id: arguments})
        agent = Agent(model, toolsets=[toolset], capabilities=[tool_search(router, k=1)])
        output = agent.run_sync("do I need an umbrella").output
    assert server.refused == []
    assert json.loads(output.removeprefix("It says: ")) == {"weather/getForecast": {"city": "Oslo"}}
    search = next(tool for tool in server.bodies[0]["tools"] if tool["type"] == "tool_search")
    assert search["execution"] == "client" and "Search the tools" in search["description"]
    functions = [tool for tool in server.bodies[0]["tools"] if tool["type"] == "function"]
    assert len(functions) == len(router) and all(tool["defer_loading"] for tool in functions)
    assert [body["tools"] for body in server.bodies[1:]] == [server.bodies[0]["tools"]] * 2
