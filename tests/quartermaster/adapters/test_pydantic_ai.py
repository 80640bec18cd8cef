"""pydantic-ai's tool search with the router behind it, and toolsets of the router's tools, in real agents."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="the extra pydantic-ai is not installed")

from openai import AsyncOpenAI
from pydantic_ai import Agent, Tool
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    ImageUrl,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturn,
    ToolReturnPart,
    ToolSearchReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.toolsets import FunctionToolset

from quartermaster.adapters.pydantic_ai import DeferredToolset, RouterToolset, tool_search
from router import Router, Selection, SettingsInvalid
from tests.pipeline.enrichment.model_server import ModelServer, Reply
from tests.quartermaster.adapters.agent_model import call_the_first_tool, calling
from tests.support.providers.chat_completions import strict
from tests.support.providers.openai_responses import ResponsesServer
from tests.support.providers.openai_searching_model import calling as response_calling
from tests.support.providers.openai_searching_model import saying, searching

RAIN, MONEY = "do I need an umbrella", "give the customer half of the money back"
FORECAST, REFUND = "weather__getForecast", "stripe__create_refund"
PICTURE, LONG = ImageUrl("https://example.org/sky.png"), "x" * 100_001


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


def call(tool_id: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {tool_id: dict(arguments)}


class Scripted:
    """A model that calls tools by their names and arguments, one a request, and then says what the last one gave."""

    def __init__(self, *calls: tuple[str, Any]) -> None:
        self.calls, self.offered, self.returned = list(calls), list[list[str]](), list[Any]()

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.offered.append([tool.name for tool in info.function_tools])
        self.returned += [part.content for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
        if self.calls:
            return ModelResponse([ToolCallPart(*self.calls.pop(0))])
        return ModelResponse([TextPart("done")])

    def agent(self, *toolsets: Any) -> Agent[object, str]:
        return Agent(FunctionModel(self), toolsets=[*toolsets])


def test_the_tools_of_a_follow_up_stand_behind_those_of_before(router: Router) -> None:
    """Message history alone decides: it may come from another process, through JSON."""
    model = Scripted()
    first = model.agent(RouterToolset(router, call, k=1)).run_sync(RAIN)
    history = ModelMessagesTypeAdapter.validate_json(first.all_messages_json())
    model.agent(RouterToolset(router, call, k=1)).run_sync(MONEY, message_history=history)
    assert model.offered == [[FORECAST], [FORECAST, REFUND]]


def test_a_dialogue_that_was_stored_is_read_as_before(router: Router) -> None:
    said: list[ModelMessage] = [ModelRequest([SystemPromptPart("Be kind."), ToolReturnPart("t", "done", "call_1")])]
    stored = ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(said))
    toolset = RouterToolset(router, call)
    assert [*toolset._events(stored)] == [*toolset._events(said)]


def test_what_the_model_searches_is_offered_from_its_next_request_on(router: Router) -> None:
    model = Scripted(("find_tools", {"request": "sort it out", "needs": [MONEY]}), (REFUND, {"charge": "ch_1"}))
    toolset = RouterToolset(router, call, k=1, search=True)
    first = model.agent(toolset).run_sync(RAIN)
    assert model.offered == [["find_tools", FORECAST], *[["find_tools", FORECAST, REFUND]] * 2]
    assert model.returned == [{"found": [REFUND]}, {"stripe/create_refund": {"charge": "ch_1"}}]
    model.agent(toolset).run_sync("thanks", message_history=first.all_messages())
    assert model.offered[-1][:3] == ["find_tools", FORECAST, REFUND]


def test_a_search_without_words_is_told_to_the_model_and_adds_nothing(router: Router) -> None:
    model = Scripted(("find_tools", {"queries": ["money"]}))
    model.agent(RouterToolset(router, call, k=1, search=True)).run_sync(RAIN)
    assert "request is None: say in words" in str(model.returned)
    assert model.offered == [["find_tools", FORECAST]] * 2


def test_a_long_result_with_a_file_and_a_tool_return_stay_as_they_are(router: Router) -> None:
    for result, told in (([LONG, PICTURE], [LONG, PICTURE]), (ToolReturn(LONG), LONG)):
        model = Scripted((FORECAST, {"city": "Oslo"}))
        model.agent(RouterToolset(router, lambda *_, result=result: result, k=1)).run_sync(RAIN)
        assert model.returned == [told]


def test_a_prompt_of_pictures_alone_chooses_no_tools_and_its_words_do(router: Router) -> None:
    model = Scripted()
    model.agent(RouterToolset(router, call, k=1)).run_sync([PICTURE])
    model.agent(RouterToolset(router, call, k=1)).run_sync([PICTURE, RAIN])
    assert model.offered == [[], [FORECAST]]


def test_two_toolsets_with_one_tool_say_what_to_do(router: Router) -> None:
    own = FunctionToolset[object]()
    own.add_function(lambda city: city, name=FORECAST)
    with pytest.raises(UserError, match="PrefixedToolset"):
        Scripted().agent(own, RouterToolset(router, call, k=1)).run_sync(RAIN)


def test_deferred_tools_are_those_that_the_selection_admits(router: Router) -> None:
    model = TestModel(call_tools=[])
    toolset = DeferredToolset(router, call, selection=Selection(providers=("stripe",)))
    Agent(model, toolsets=[toolset]).run_sync("hello")
    assert model.last_model_request_parameters is not None
    deferred = [tool.name for tool in model.last_model_request_parameters.function_tools if tool.defer_loading]
    assert deferred == ["stripe__create_refund", "stripe__list_charges"]


def test_over_responses_found_tools_are_added_behind_what_was_said(router: Router) -> None:
    """The tools of a request do not change within a run: those found come as an `additional_tools` item."""

    def script(body: Mapping[str, Any]) -> list[dict[str, Any]]:
        outputs = [item for item in body["input"] if item.get("type") == "function_call_output"]
        if not outputs:
            search = next(tool for tool in body["tools"] if tool["name"] == "find_tools")
            return [response_calling(search, arguments=json.dumps({"request": MONEY}))]
        return [saying(outputs[-1]["output"])]

    with ResponsesServer(script) as server:
        model = OpenAIResponsesModel("gpt-5.6", provider=provider(server.base_url))
        agent = Agent(model, toolsets=[RouterToolset(router, call, k=1, search=True)])
        agent.run_sync(RAIN)
    assert server.refused == []
    assert server.bodies[1]["tools"] == server.bodies[0]["tools"]
    added = [item for item in server.bodies[1]["input"] if item.get("type") == "additional_tools"]
    assert [tool["name"] for item in added for tool in item["tools"]] == [REFUND]
