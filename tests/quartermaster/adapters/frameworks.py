"""How the contract's tests talk with each adapter: a dialogue of a scripted model, in a real agent of the framework."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import pytest

from quartermaster.adapters import Call
from router import Router
from tests.pipeline.enrichment.model_server import ModelServer, Reply, completion
from tests.quartermaster.adapters.agent_model import calling

# Imported once here: the first test of a framework would pay some seconds for it.
for _module in ("langchain.agents", "langchain_openai", "llama_index.core.agent.workflow", "agents", "pydantic_ai"):
    with suppress(ImportError):
        import_module(_module)

Calls = Sequence[tuple[str, str]]  # names of tools, with the text that the model writes for arguments


@dataclass
class Talk:
    """A dialogue: the tools that the model was offered in the end, by name, and the tools' results as it read them."""

    offered: dict[str, dict[str, Any]] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Framework:
    """An adapter: `talk(router, call, request, calls, is_async, **options)`, and where it differs from the others.

    `binds` says that only tools offered may be called, `runs_without_a_loop` that there are runs that are not async,
    `error` is what the model reads where a tool raises PermissionError("not yours"); the run ends where there is none.
    `context` is the type of what a tool gets of a run. `unknown` is what the framework raises for an unknown tool.
    """

    talk: Callable[..., Talk]
    binds: bool = True
    runs_without_a_loop: bool = True
    error: str = ""
    context: str = "NoneType"
    unknown: str = ""


def over_chat(run: Callable[..., None]) -> Callable[..., Talk]:
    """Let a model behind a server of chat completions make the calls, one a request."""

    def talk(router: Router, call: Call, request: str, calls: Calls, is_async: bool = True, **options: Any) -> Talk:
        left = [*calls]
        with pytest.MonkeyPatch.context() as patch, ModelServer(lambda *_: _next(left)) as server:
            patch.setenv("OPENAI_BASE_URL", server.base_url)
            patch.setenv("OPENAI_API_KEY", "sk-loopback")
            run(router, call, request, is_async, **options)
        body = server.requests[-1].body
        offered = {tool["function"]["name"]: tool["function"] for tool in body.get("tools", ())}
        return Talk(offered, [_text(message["content"]) for message in body["messages"] if message["role"] == "tool"])

    return talk


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def _next(calls: list[tuple[str, str]]) -> Reply:
    return calling(*calls.pop(0)) if calls else Reply(completion("done"))


def _langchain(router: Router, call: Call, request: str, is_async: bool, **options: Any) -> None:
    pytest.importorskip("langchain")
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI

    from quartermaster.adapters.langchain import RouterMiddleware

    middleware = RouterMiddleware(router, call=call, **options)
    _invoke(create_agent(ChatOpenAI(model="gpt-5-mini"), [], middleware=[middleware]), request, is_async)


def _langgraph(router: Router, call: Call, request: str, is_async: bool, **options: Any) -> None:
    pytest.importorskip("langgraph")
    from langchain_openai import ChatOpenAI

    from quartermaster.adapters.langgraph import create_agent

    _invoke(create_agent(ChatOpenAI(model="gpt-5-mini"), router, call, **options).compile(), request, is_async)


def _invoke(agent: Any, request: str, is_async: bool) -> None:
    question = {"messages": [("user", request)]}
    if is_async:
        asyncio.run(agent.ainvoke(question))
    else:
        agent.invoke(question)


def _llama_index(router: Router, call: Call, request: str, _: bool, **options: Any) -> None:
    pytest.importorskip("llama_index.core")
    from llama_index.core.agent.workflow import FunctionAgent

    from examples.llama_index_agent import ChatModel
    from quartermaster.adapters.llama_index import RouterToolRetriever

    async def run() -> None:
        retriever: Any = RouterToolRetriever(router, call=call, **options)
        await FunctionAgent(llm=ChatModel(model="gpt-5-mini"), tool_retriever=retriever, streaming=False).run(request)

    asyncio.run(run())


def _agents_functions(router: Router, call: Call, request: str, _: bool, **options: Any) -> None:
    pytest.importorskip("agents")
    from quartermaster.adapters.openai_agents import function_tools

    _run_agent(request, tools=function_tools(router.route(request, **options), call))


def _agents_server(router: Router, call: Call, request: str, _: bool, **options: Any) -> None:
    pytest.importorskip("agents")
    from quartermaster.adapters.openai_agents import RouterServer

    _run_agent(request, mcp_servers=[RouterServer(router, call, **options)])


def _run_agent(request: str, **parts: Any) -> None:
    from agents import Agent, Runner, set_default_openai_api, set_tracing_disabled

    set_default_openai_api("chat_completions")
    set_tracing_disabled(True)
    asyncio.run(Runner.run(Agent("desk", model="gpt-5-mini", **parts), request))


def _pydantic_ai(router: Router, call: Call, request: str, _: bool, **options: Any) -> None:
    pytest.importorskip("pydantic_ai")
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel

    from quartermaster.adapters.pydantic_ai import RouterToolset

    Agent(OpenAIChatModel("gpt-5-mini"), toolsets=[RouterToolset(router, call, **options)]).run_sync(request)


def _anthropic(router: Router, call: Call, request: str, calls: Calls, is_async: bool = True, **options: Any) -> Talk:
    from quartermaster.adapters.anthropic import AnthropicToolSearch

    search = AnthropicToolSearch(router, **options)

    def answers(name: str, given: Any) -> list[dict[str, Any]]:
        content = [{"type": "tool_use", "id": "toolu_1", "name": name, "input": given}]
        return asyncio.run(search.answers_async(content, call)) if is_async else search.answers(content, call)

    found = answers("search_tools", {"request": request})
    tools = search.tools([{"role": "user", "content": found}])[1:]
    told = [result["content"] for name, given in calls for result in answers(name, given)]
    return Talk({tool["name"]: {**tool, "parameters": tool["input_schema"]} for tool in tools}, told)


def _responses(router: Router, call: Call, request: str, calls: Calls, is_async: bool = True, **options: Any) -> Talk:
    from quartermaster.adapters.openai_responses import ResponsesToolSearch

    search = ResponsesToolSearch(router, **options)

    def answers(item: Mapping[str, Any]) -> list[dict[str, Any]]:
        output = [{"call_id": "call_1", **item}]
        return asyncio.run(search.answers_async(output, call)) if is_async else search.answers(output, call)

    found, *_ = answers({"type": "tool_search_call", "arguments": json.dumps({"request": request})})
    told = [
        answer["output"]
        for name, given in calls
        for answer in answers({"type": "function_call", "name": name, "arguments": given})
    ]
    return Talk({tool["name"]: tool for tool in found["tools"]}, told)


_AGENTS: dict[str, Any] = {
    "runs_without_a_loop": False,
    "error": "An error occurred while running the tool. Please try again.",
    "context": "ToolContext",
    "unknown": "not found in agent",
}
FRAMEWORKS = {
    "anthropic": Framework(_anthropic, binds=False, error="PermissionError('not yours')"),
    "langchain": Framework(over_chat(_langchain), context="ToolRuntime"),
    "langgraph": Framework(over_chat(_langgraph), context="Runtime"),
    "llama_index": Framework(over_chat(_llama_index), binds=False, runs_without_a_loop=False, error="not yours"),
    "openai_agents functions": Framework(over_chat(_agents_functions), **_AGENTS),
    "openai_agents server": Framework(over_chat(_agents_server), **_AGENTS),
    "openai_responses": Framework(_responses, binds=False),
    "pydantic_ai": Framework(over_chat(_pydantic_ai), runs_without_a_loop=False, context="RunContext"),
}
