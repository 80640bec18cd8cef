"""The router's tools as toolsets of real pydantic-ai agents."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="the extra pydantic-ai is not installed")

from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    ImageUrl,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.openai import OpenAIResponsesModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.toolsets import FunctionToolset

from quartermaster.adapters.pydantic_ai import DeferredToolset, RouterToolset
from router import Router, Selection
from tests.support.providers.openai_responses import ResponsesServer
from tests.support.providers.openai_searching_model import calling as response_calling
from tests.support.providers.openai_searching_model import saying

RAIN, MONEY = "do I need an umbrella", "give the customer half of the money back"
FORECAST, REFUND = "weather__getForecast", "stripe__create_refund"


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


def test_what_the_model_searches_is_offered_from_its_next_request_on(router: Router) -> None:
    model = Scripted(("find_tools", {"request": MONEY}), (REFUND, {"charge": "ch_1"}))
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


def test_a_prompt_of_pictures_alone_chooses_no_tools_and_its_words_do(router: Router) -> None:
    picture = ImageUrl("https://example.org/sky.png")
    model = Scripted()
    model.agent(RouterToolset(router, call, k=1)).run_sync([picture])
    model.agent(RouterToolset(router, call, k=1)).run_sync([picture, RAIN])
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


def provider(base_url: str) -> OpenAIProvider:
    return OpenAIProvider(openai_client=AsyncOpenAI(base_url=base_url, api_key="sk-loopback", max_retries=0))


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
