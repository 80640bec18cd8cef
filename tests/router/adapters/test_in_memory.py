"""Agents over a router in memory: its own `call` calls the functions."""

import asyncio
from typing import Any

import pytest

pytest.importorskip("agents", reason="the extra agents is not installed")
pytest.importorskip("langgraph", reason="the extra langgraph is not installed")

from agents import Agent, Runner, set_default_openai_api, set_tracing_disabled
from langchain_openai import ChatOpenAI

from router import Router
from router.adapters.langgraph import AgentInput, create_agent
from router.adapters.openai_agents import function_tools
from tests.pipeline.enrichment.model_server import ModelServer


async def get_forecast(city: str, days: int = 1) -> dict[str, Any]:
    """Forecast the weather of a city."""
    return {"city": city, "days": days}


def create_refund(charge: str) -> str:
    """Give a customer the money of a charge back."""
    return charge


@pytest.fixture
def in_memory() -> Router:
    return Router.from_tools([get_forecast, create_refund], provider="shop", encoder=None)


def test_an_agent_of_openais_sdk_calls_the_function(in_memory: Router, model: ModelServer) -> None:
    set_default_openai_api("chat_completions")
    set_tracing_disabled(True)
    request = "what is the weather"
    tools = function_tools(in_memory.route(request, k=1), in_memory.call)
    agent = Agent(name="helper", model="gpt-5-mini", instructions="Help.", tools=tools)
    assert asyncio.run(Runner.run(agent, request)).final_output == 'It says: {"city":"some","days":1}'


def test_an_agent_of_langgraph_calls_the_function(in_memory: Router, model: ModelServer) -> None:
    graph = create_agent(ChatOpenAI(model="gpt-5-mini"), in_memory, in_memory.call, k=1).compile()
    question: AgentInput = {"messages": [{"role": "user", "content": "give the customer the money back"}]}
    assert graph.invoke(question)["messages"][-1].content == "It says: some"
