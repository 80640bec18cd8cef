"""A real LangGraph agent, whose chat model is a real client of a server on loopback."""

from typing import Any

import pytest

pytest.importorskip("langgraph", reason="the extra langgraph is not installed")
pytest.importorskip("langchain_openai", reason="langchain-openai, the chat model of this test, is not installed")

from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI

from quartermaster.adapters.langgraph import create_agent
from router import RequestInvalid, Router, Selection
from tests.pipeline.enrichment.model_server import ModelServer
from tests.quartermaster.adapters.agent_model import offered


def agent_of(router: Router, call: Any = lambda *_: "done", **options: Any) -> Any:
    return create_agent(ChatOpenAI(model="gpt-5-mini"), router, call, **options).compile()


def test_the_tools_are_chosen_anew_when_the_user_speaks_again(router: Router, model: ModelServer) -> None:
    agent = agent_of(router, k=1)
    first = agent.invoke({"messages": [("user", "do I need an umbrella")]})
    then = agent.invoke({"messages": [*first["messages"], HumanMessage("show every room, which channels are there")]})
    assert first["selected_tool_ids"] == ["weather/getForecast"]
    assert then["selected_tool_ids"] == ["slack/conversations_list"]
    assert offered(model) == [*[["weather__getForecast"]] * 2, *[["slack__conversations_list"]] * 2]


def test_a_tool_is_found_by_its_name_whatever_form_the_budget_is_counted_in(router: Router, model: ModelServer) -> None:
    own = Router(router._live.snapshot)
    long = "reads_the_barometer_" * 4  # 80 characters: Anthropic takes them, LangChain's models do not
    own.register([{"name": long, "description": "The barometer's pressure.", "input_schema": {}}], provider="late")
    called: list[str] = []
    agent = agent_of(own, lambda tool_id, _: called.append(tool_id), k=1, form="anthropic", token_budget=500)
    agent.invoke({"messages": [("user", "what is the pressure of the barometer")]})
    assert called == [f"late/{long}"]


def test_without_any_tool_the_model_answers_alone(router: Router, model: ModelServer) -> None:
    state = agent_of(router, selection=Selection(allow=("no/such-tool",))).invoke(
        {"messages": [("user", "do I need an umbrella")]}
    )
    assert state["messages"][-1].content == "I have no tool for that."
    assert state["selected_tool_ids"] == offered(model)[0] == []


def test_a_call_that_is_not_made_is_an_error_of_the_tool(router: Router, model: ModelServer) -> None:
    def refuse(*_: Any) -> None:
        raise RequestInvalid("the city is missing")

    state = agent_of(router, refuse, k=1).invoke({"messages": [("user", "do I need an umbrella")]})
    *_, told, _ = state["messages"]
    assert (told.type, told.status, told.content) == ("tool", "error", "the city is missing")
