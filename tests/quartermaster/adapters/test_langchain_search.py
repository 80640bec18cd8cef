"""OpenAI's client-executed tool search behind LangChain's agents, over the Responses API on loopback."""

import asyncio
from itertools import pairwise
from typing import Any

import pytest

pytest.importorskip("langchain_openai")

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from quartermaster.adapters.langchain_search import ToolSearchMiddleware
from router import Router
from tests.support.providers.openai_responses import ResponsesServer
from tests.support.providers.openai_searching_model import search_then_call, searching

TOOLS = [
    {"name": "create_refund", "description": "Give a customer the money of an order back."},
    {"name": "get_forecast", "description": "Forecast the weather of a city."},
]


class Server(ResponsesServer):
    """Takes what LangChain leaves out of an assistant's earlier message, as the API does."""

    def respond(self, body: dict[str, Any]) -> dict[str, Any]:
        for item in body["input"]:
            if item.get("role") == "assistant":
                item.setdefault("status", "completed")
        return super().respond(body)


def agent_of(server: ResponsesServer) -> Any:
    def call(tool_id: str, _: object, context: object = None) -> str:
        return f"{tool_id} in {type(context).__name__}"

    search = ToolSearchMiddleware(Router.from_tools(TOOLS, encoder=None), call, k=1)
    key = SecretStr("sk-loopback")
    model = ChatOpenAI(model="gpt-5.4", base_url=server.base_url, api_key=key, use_responses_api=True, max_retries=0)
    return create_agent(model, [], middleware=[search])


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_model_finds_a_tool_and_calls_it_and_each_prompt_begins_with_the_one_before(asynchronous: bool) -> None:
    state: dict[str, Any] = {"messages": []}
    with Server(search_then_call) as server:
        agent = agent_of(server)
        for asked in ("give the money of the order back", "the weather of the city"):
            state["messages"] = [*state["messages"], ("user", asked)]
            state = asyncio.run(agent.ainvoke(state)) if asynchronous else agent.invoke(state)
    assert server.refused == []
    done = [message.text for message in state["messages"] if message.type == "tool"]
    assert done == ["create_refund in ToolRuntime", "get_forecast in ToolRuntime"]
    assert [[tool["type"] for tool in body["tools"]] for body in server.bodies] == [["tool_search"]] * 6
    inputs = [body["input"] for body in server.bodies]
    assert all(after[: len(before)] == before for before, after in pairwise(inputs))


def test_a_model_that_only_searches_is_stopped() -> None:
    with Server(lambda _: [searching({"request": "give the money back", "needs": []})]) as server:
        agent_of(server).invoke({"messages": [("user", "give the money of the order back")]})
    assert server.refused == [] and len(server.bodies) == 8
