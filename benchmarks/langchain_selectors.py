"""Count what a dialogue of a LangChain agent costs by each way to choose its tools.

`python -m benchmarks.langchain_selectors`. The agent has 490 tools. The model is a script behind a server on loopback:
it calls the first tool that it is offered, and answers LangChain's own selector with five tools of the right noun.
Tokens are a quarter of the characters sent.
"""

import json
import os
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, LLMToolSelectorMiddleware
from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool, StructuredTool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from router import Router
from router.adapters.langchain import RouterMiddleware
from tests.pipeline.enrichment.model_server import ModelServer, Reply, Request, completion
from tests.router.adapters.agent_model import call_the_first_tool

VERBS = "send read delete list create update archive share move copy".split()
NOUNS = """
    invoice refund mail room ferry budget guest ticket order contract photo repo branch issue customer report
    song recipe flight hotel train car bike weather note task event contact file folder payment subscription
    coupon price product shipment parcel stock warehouse employee salary holiday shift meeting channel message
    thread post comment
""".split()
REQUESTS = {"send the invoice to Bob": "invoice", "archive the photo": "photo", "delete the branch": "branch"}
K = 5


def made_tools() -> list[BaseTool]:
    """Return a tool for each verb and noun."""

    def function(item: str) -> str:
        return f"done with {item}"

    return [
        StructuredTool.from_function(function, name=f"{verb}_{noun}", description=f"{verb.title()} a {noun}.")
        for verb in VERBS
        for noun in NOUNS
    ]


def script(body: Mapping[str, Any], _: int) -> Reply:
    """Answer as the model."""
    if "response_format" not in body:
        return call_the_first_tool(body)
    said = [message["content"] for message in body["messages"] if message["role"] == "user"]
    noun = REQUESTS[said[-1]]
    return Reply(completion(json.dumps({"tools": [f"{verb}_{noun}" for verb in VERBS[:K]]})))


def prompt(request: Request) -> str:
    """Return what the provider reads: the schema of the answer, the tools, then the messages."""
    return json.dumps([request.body.get("response_format"), request.body.get("tools"), request.body["messages"]])


def shared(prompts: Sequence[str]) -> int:
    """Return how many characters each prompt has in common with the beginning of an earlier one, in sum."""
    return sum(
        max((common(text, earlier) for earlier in prompts[:place]), default=0) for place, text in enumerate(prompts)
    )


def common(one: str, other: str) -> int:
    """Return how many characters two texts begin with alike."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def measure(tools: Sequence[BaseTool], middleware: Sequence[AgentMiddleware[Any, Any, Any]]) -> tuple[int, int, int]:
    """Return the requests of a dialogue, their tokens, and those of them that an earlier prompt began with."""
    with ModelServer(script) as server:
        model = ChatOpenAI(model="a-model", base_url=server.base_url, api_key=lambda: "sk-loopback")
        agent = create_agent(model, tools, middleware=middleware, checkpointer=InMemorySaver())
        for text in REQUESTS:
            agent.invoke({"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": "one"}})
        prompts = [prompt(request) for request in server.requests]
    return len(prompts), sum(map(len, prompts)) // 4, shared(prompts) // 4


def main() -> None:
    """Print a line for each way."""
    os.environ["LANGSMITH_TRACING"] = "false"
    tools = made_tools()
    ways: dict[str, list[AgentMiddleware[Any, Any, Any]]] = {
        "all tools bound": [],
        "LLMToolSelectorMiddleware": [LLMToolSelectorMiddleware(max_tools=K)],
        "RouterMiddleware": [RouterMiddleware(Router.from_tools(tools, encoder=None), k=K)],
    }
    print(f"{len(tools)} tools, {len(REQUESTS)} turns, {K} tools for each")
    for name, middleware in ways.items():
        requests, tokens, before = measure(tools, middleware)
        print(f"{name:28} {requests:3} requests {tokens:8,} tokens {before:8,} as before")


if __name__ == "__main__":
    main()
