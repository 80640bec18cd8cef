"""A real LangGraph agent, whose chat model is a real client of a server on loopback."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

pytest.importorskip("langgraph", reason="the extra langgraph is not installed")
pytest.importorskip("langchain_openai", reason="langchain-openai, the chat model of this test, is not installed")

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI

from router import RequestInvalid, Router
from router.adapters.langgraph import AgentInput, create_agent
from router.answer.options import RouteOptions
from tests.pipeline.enrichment.model_server import ModelServer, Reply
from tests.router.adapters.agent_model import call_the_first_tool, calling


def offered(model: ModelServer, place: int) -> list[str]:
    """The names of the tools that a request to the model offered."""
    return [tool["function"]["name"] for tool in model.requests[place].body.get("tools", ())]


def test_the_tools_of_the_turn_are_bound_and_called_by_their_ids(router: Router, model: ModelServer) -> None:
    called: list[tuple[str, dict[str, Any]]] = []

    def call(tool_id: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        called.append((tool_id, dict(arguments)))
        return {"refunded": 5}

    agent = create_agent(ChatOpenAI(model="gpt-5-mini"), router, call, k=3).compile()
    state = agent.invoke({"messages": [("user", "give the customer their money back")]})
    routed = router.route([{"role": "user", "content": "give the customer their money back"}], k=3)
    assert state["selected_tool_ids"] == list(routed.ids)
    assert offered(model, 0) == offered(model, 1) == list(routed.render("langchain").names)
    assert called == [(routed.ids[0], {})]
    *_, told, answer = state["messages"]
    assert (told.type, told.content, told.status) == ("tool", '{"refunded":5}', "success")
    assert answer.content == 'It says: {"refunded":5}'


def test_the_tools_are_chosen_anew_when_the_user_speaks_again(router: Router, model: ModelServer) -> None:
    agent = create_agent(ChatOpenAI(model="gpt-5-mini"), router, lambda *_: "done", k=1).compile()
    first = agent.invoke({"messages": [("user", "do I need an umbrella")]})
    then = agent.invoke({"messages": [*first["messages"], HumanMessage("show every room, which channels are there")]})
    assert first["selected_tool_ids"] == ["weather/getForecast"]
    assert then["selected_tool_ids"] == ["slack/conversations_list"]
    assert [offered(model, place) for place in range(4)] == [
        *[["weather__getForecast"]] * 2,
        *[["slack__conversations_list"]] * 2,
    ]


def test_a_tool_that_was_not_at_hand_is_not_called_and_the_model_hears_why(router: Router, model: ModelServer) -> None:
    def script(body: Mapping[str, Any], count: int) -> Reply:
        return calling("stripe__delete_account", {}) if count == 1 else call_the_first_tool(body)

    model.script = script
    called: list[str] = []
    agent = create_agent(
        ChatOpenAI(model="gpt-5-mini"), router, lambda tool_id, _: called.append(tool_id), k=1
    ).compile()
    state = agent.invoke({"messages": [("user", "do I need an umbrella")]})
    (told,) = [message for message in state["messages"] if isinstance(message, ToolMessage)]
    assert told.status == "error"
    assert told.content == "the tool 'stripe__delete_account' is not among those selected: weather__getForecast"
    assert called == []


def test_a_tool_is_found_by_its_name_whatever_form_the_budget_is_counted_in(router: Router, model: ModelServer) -> None:
    own = Router(router._live.snapshot)
    long = "reads_the_barometer_" * 4  # 80 characters: Anthropic takes them, LangChain's models do not
    own.register([{"name": long, "description": "The barometer's pressure.", "input_schema": {}}], provider="late")
    called: list[str] = []
    options: RouteOptions = {"k": 1, "form": "anthropic", "token_budget": 500}
    agent = create_agent(
        ChatOpenAI(model="gpt-5-mini"), own, lambda tool_id, _: called.append(tool_id), **options
    ).compile()
    agent.invoke({"messages": [("user", "what is the pressure of the barometer")]})
    assert called == [f"late/{long}"]


@pytest.mark.parametrize("runs", ["invoke", "ainvoke"])
def test_the_model_reads_why_the_call_refused_its_arguments(runs: str, router: Router, model: ModelServer) -> None:
    def call(tool_id: str, _: Mapping[str, Any]) -> str:
        raise RequestInvalid(f"{tool_id}: the argument 'city' is missing")

    agent = create_agent(ChatOpenAI(model="gpt-5-mini"), router, call, k=1).compile()
    question: AgentInput = {"messages": [("user", "do I need an umbrella")]}
    state = agent.invoke(question) if runs == "invoke" else asyncio.run(agent.ainvoke(question))
    (told,) = [message for message in state["messages"] if isinstance(message, ToolMessage)]
    assert (told.content, told.status) == ("weather/getForecast: the argument 'city' is missing", "error")


def test_what_the_call_raises_ends_the_run(router: Router, model: ModelServer) -> None:
    def call(tool_id: str, _: Mapping[str, Any]) -> str:
        raise PermissionError(tool_id)

    agent = create_agent(ChatOpenAI(model="gpt-5-mini"), router, call, k=1).compile()
    with pytest.raises(PermissionError, match="weather/getForecast"):
        agent.invoke({"messages": [("user", "do I need an umbrella")]})


def test_an_async_call_is_awaited_in_an_async_run_and_refused_in_another(router: Router, model: ModelServer) -> None:
    async def call(tool_id: str, _: Mapping[str, Any]) -> str:
        return f"{tool_id} says rain"

    agent = create_agent(ChatOpenAI(model="gpt-5-mini"), router, call, k=1).compile()
    question: AgentInput = {"messages": [("user", "do I need an umbrella")]}
    state = asyncio.run(agent.ainvoke(question))
    assert state["messages"][-1].content == "It says: weather/getForecast says rain"
    with pytest.raises(TypeError, match=r"the call of weather/getForecast is asynchronous: run the graph with ainvoke"):
        agent.invoke(question)


def test_without_any_tool_the_model_answers_alone(router: Router, model: ModelServer) -> None:
    from router import Selection

    nothing = Selection(allow=("no/such-tool",))
    agent = create_agent(ChatOpenAI(model="gpt-5-mini"), router, lambda *_: "", selection=nothing).compile()
    state = agent.invoke({"messages": [("user", "do I need an umbrella")]})
    assert isinstance(state["messages"][-1], AIMessage)
    assert state["messages"][-1].content == "I have no tool for that."
    assert state["selected_tool_ids"] == offered(model, 0) == []
