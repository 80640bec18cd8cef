"""Measure a turn of an agent by each integration, beside the framework's own way with all tools bound:
`python -m benchmarks.integrations [--json FILE]`.

The agent has 200 functions. The model is a script behind a server on loopback, the same for both ways: it calls the
first tool that it is offered, then answers, so a turn is two calls of the model and one of a tool. It takes any number
of tools, where OpenAI's own takes 128. Each turn is a dialogue of its own; both ways alternate.

`ms` is the median of a turn. `tokens` are those of both prompts, a quarter of the characters sent. `fit` is the share
of turns whose right tool the model was given. `lines` are those of the function below that makes the agent, which is
all that its user types, imports included. FastMCP has no model: its turn lists the tools, searches where that is the
way, and calls one; its tokens are those of the listed and found tools.
"""

import argparse
import asyncio
import importlib.metadata
import inspect
import itertools
import json
import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.support.measuring import about, on_one_thread, report
from tests.pipeline.enrichment.model_server import ModelServer
from tests.router.adapters.agent_model import call_the_first_tool

Function = Callable[..., Any]
Ask = Callable[[str], Any]
Way = Callable[[Sequence[Function]], Ask]

TURNS, WARM = 11, 2
VERBS = "send read delete list create update archive share move copy".split()
NOUNS = """
    invoice refund mail room ferry budget guest ticket order contract photo branch issue customer report song recipe
    flight hotel train
""".split()


@dataclass(frozen=True)
class Turn:
    """What one turn took, what its prompts held, and whether its right tool was at hand."""

    ms: float
    tokens: int
    fits: bool


def user(said: str) -> Any:
    """Return what a graph of LangChain takes."""
    return {"messages": [("user", said)]}


def langchain_own(functions: Sequence[Function]) -> Ask:
    """Bind all tools."""
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI

    agent = create_agent(ChatOpenAI(model="gpt-5-mini"), functions)
    return lambda said: agent.invoke(user(said))


def langchain_router(functions: Sequence[Function]) -> Ask:
    """Bind those that fit."""
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI

    from router import Router
    from router.adapters.langchain import RouterMiddleware

    router = Router.from_tools(functions)
    agent = create_agent(ChatOpenAI(model="gpt-5-mini"), functions, middleware=[RouterMiddleware(router, k=5)])
    return lambda said: agent.invoke(user(said))


def langgraph_own(functions: Sequence[Function]) -> Ask:
    """Bind all tools."""
    from langchain_openai import ChatOpenAI
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition

    model = ChatOpenAI(model="gpt-5-mini").bind_tools(functions)
    graph = StateGraph(MessagesState)
    graph.add_node("agent", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode(functions))
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", tools_condition)
    graph.add_edge("tools", "agent")
    agent = graph.compile()
    return lambda said: agent.invoke(user(said))


def langgraph_router(functions: Sequence[Function]) -> Ask:
    """Bind those that fit."""
    from langchain_openai import ChatOpenAI

    from router import Router
    from router.adapters.langgraph import create_agent

    router = Router.from_tools(functions)
    agent = create_agent(ChatOpenAI(model="gpt-5-mini"), router, router.call, k=5).compile()
    return lambda said: agent.invoke(user(said))


def openai_agents_own(functions: Sequence[Function]) -> Ask:
    """Bind all tools."""
    from agents import Agent, Runner, function_tool

    agent = Agent("desk", model="gpt-5-mini", tools=[function_tool(function) for function in functions])
    return lambda said: Runner.run_sync(agent, said)


def openai_agents_router(functions: Sequence[Function]) -> Ask:
    """Bind those that fit."""
    from agents import Agent, Runner

    from router import Router
    from router.adapters.openai_agents import RouterServer

    router = Router.from_tools(functions)
    agent = Agent("desk", model="gpt-5-mini", mcp_servers=[RouterServer(router, router.call, k=5)])
    return lambda said: Runner.run_sync(agent, said)


def pydantic_ai_own(functions: Sequence[Function]) -> Ask:
    """Bind all tools."""
    from pydantic_ai import Agent

    agent = Agent("openai-chat:gpt-5-mini", tools=functions)
    return lambda said: agent.run_sync(said)


def pydantic_ai_router(functions: Sequence[Function]) -> Ask:
    """Bind those that fit."""
    from pydantic_ai import Agent

    from router import Router
    from router.adapters.pydantic_ai import RouterToolset

    router = Router.from_tools(functions)
    agent = Agent("openai-chat:gpt-5-mini", toolsets=[RouterToolset(router, router.call, k=5)])
    return lambda said: agent.run_sync(said)


def llama_index_own(functions: Sequence[Function]) -> Ask:
    """Bind all tools. The model's class is the example's: LlamaIndex's own does not install beside openai 3."""
    from llama_index.core.agent.workflow import FunctionAgent

    from examples.llama_index_agent import ChatModel

    agent = FunctionAgent(llm=ChatModel(model="gpt-5-mini"), tools=[*functions], streaming=False)

    async def ask(said: str) -> Any:
        return await agent.run(user_msg=said)

    return lambda said: asyncio.run(ask(said))


def llama_index_router(functions: Sequence[Function]) -> Ask:
    """Bind those that fit."""
    from llama_index.core.agent.workflow import FunctionAgent

    from examples.llama_index_agent import ChatModel
    from router import Router
    from router.adapters.llama_index import RouterToolRetriever

    router = Router.from_tools(functions)
    retriever = RouterToolRetriever(router, call=router.call, k=5)
    agent = FunctionAgent(llm=ChatModel(model="gpt-5-mini"), tool_retriever=retriever, streaming=False)

    async def ask(said: str) -> Any:
        return await agent.run(user_msg=said)

    return lambda said: asyncio.run(ask(said))


def fastmcp_own(functions: Sequence[Function]) -> Any:
    """Serve all tools."""
    from fastmcp import FastMCP

    mcp = FastMCP("desk")
    for function in functions:
        mcp.tool(function)
    return mcp


def fastmcp_router(functions: Sequence[Function]) -> Any:
    """Serve a search."""
    from fastmcp import FastMCP

    from router.adapters.fastmcp import RouterSearch

    mcp = FastMCP("desk")
    for function in functions:
        mcp.tool(function)
    mcp.add_transform(RouterSearch(max_results=5))
    return mcp


WAYS: dict[str, tuple[Way, Way]] = {
    "langchain": (langchain_own, langchain_router),
    "langgraph": (langgraph_own, langgraph_router),
    "openai-agents": (openai_agents_own, openai_agents_router),
    "pydantic-ai-slim": (pydantic_ai_own, pydantic_ai_router),
    "llama-index-core": (llama_index_own, llama_index_router),
}


def made_functions() -> list[Function]:
    """Return a function for each verb and noun."""

    def made(verb: str, noun: str) -> Function:
        def function(item: str, note: str = "") -> str:
            return f"done with {item}"

        function.__name__ = function.__qualname__ = f"{verb}_{noun}"
        function.__doc__ = f"{verb.title()} one {noun} of the office, and say what was done with it."
        return function

    return [made(verb, noun) for verb in VERBS for noun in NOUNS]


def requests() -> dict[str, str]:
    """Return the name of the right tool by what the user says, turn by turn, the warm-up included; no two alike."""
    pairs = itertools.islice(zip(itertools.cycle(VERBS), NOUNS, strict=False), TURNS + WARM)
    return {f"please {verb} the {noun} number {place}": f"{verb}_{noun}" for place, (verb, noun) in enumerate(pairs)}


def lines(way: Callable[..., Any]) -> int:
    """Return the lines that a user types: a function's body without its docstring, blank lines and `return`."""
    source = inspect.getsource(way).splitlines()[2:]
    return sum(bool(line.strip()) and not line.startswith("    return ") for line in source)


def measured(own: Way, routed: Way, functions: Sequence[Function], server: ModelServer) -> dict[str, Any]:
    """Return the figures of both ways, whose turns alternate."""
    asks = {"own": own(functions), "router": routed(functions)}
    turns: dict[str, list[Turn]] = {"own": [], "router": []}
    for said, right in requests().items():
        for name, ask in asks.items():
            before = len(server.requests)
            begun = time.perf_counter()
            ask(said)
            lap = (time.perf_counter() - begun) * 1e3
            bodies = [request.body for request in server.requests[before:]]
            assert len(bodies) == 2, f"a turn made {len(bodies)} calls of the model"
            assert bodies[1]["messages"][-1]["role"] == "tool", "the model's call was not answered"
            fits = right in [tool["function"]["name"] for tool in bodies[0]["tools"]]
            turns[name].append(Turn(lap, sum(len(json.dumps(body)) for body in bodies) // 4, fits))
    return _figures(own, routed, turns)


async def measured_server(own: Any, routed: Any, functions: Sequence[Function]) -> dict[str, Any]:
    """Return the figures of a FastMCP server that lists all, and of one that lists a search."""
    from fastmcp import Client

    turns: dict[str, list[Turn]] = {"own": [], "router": []}
    async with Client(own(functions)) as all_tools, Client(routed(functions)) as search:
        for said, right in requests().items():
            begun = time.perf_counter()
            listed = await all_tools.list_tools()
            await all_tools.call_tool(listed[0].name, {"item": "some"})
            lap = (time.perf_counter() - begun) * 1e3
            text = json.dumps([tool.model_dump(mode="json") for tool in listed])
            turns["own"].append(Turn(lap, len(text) // 4, right in [tool.name for tool in listed]))
            begun = time.perf_counter()
            listed = await search.list_tools()
            result = await search.call_tool("search_tools", {"request": said})
            found = [tool["name"] for tool in (result.structured_content or {})["tools"]]
            await search.call_tool("call_tool", {"name": found[0], "arguments": {"item": "some"}})
            lap = (time.perf_counter() - begun) * 1e3
            text = json.dumps([tool.model_dump(mode="json") for tool in listed]) + str(result.content)
            turns["router"].append(Turn(lap, len(text) // 4, right in found))
    return _figures(own, routed, turns)


def _figures(own: Any, routed: Any, turns: Mapping[str, Sequence[Turn]]) -> dict[str, Any]:
    return {
        name: {
            "ms": round(statistics.median(turn.ms for turn in turns[name][WARM:]), 1),
            "tokens": round(statistics.median(turn.tokens for turn in turns[name][WARM:])),
            "fit": round(statistics.mean(turn.fits for turn in turns[name][WARM:]), 2),
            "lines": lines(way),
        }
        for name, way in (("own", own), ("router", routed))
    }


def figures() -> dict[str, Any]:
    """Return the figures of each integration, by the name of its package."""
    from agents import set_default_openai_api, set_tracing_disabled

    set_default_openai_api("chat_completions")
    set_tracing_disabled(True)
    os.environ["LANGSMITH_TRACING"] = "false"
    functions, found = made_functions(), dict[str, Any]()
    with ModelServer(call_the_first_tool) as server:
        os.environ |= {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "sk-loopback"}
        for name, (own, routed) in WAYS.items():
            found[name] = measured(own, routed, functions, server)
    found["fastmcp"] = asyncio.run(measured_server(fastmcp_own, fastmcp_router, functions))
    return found


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--against", type=Path, metavar="STORED", help="a stored run, to print ratios to")
    arguments = parser.parse_args()
    on_one_thread()
    found = about()
    found["versions"] |= {name: importlib.metadata.version(name) for name in (*WAYS, "fastmcp")}
    report("a turn with 200 tools", found, figures(), arguments.json, arguments.against)


if __name__ == "__main__":
    main()
