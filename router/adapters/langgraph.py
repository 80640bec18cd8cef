"""LangGraph: an agent whose model has the tools of each turn bound, in the manner of langgraph-bigtool.

Needs the extra `langgraph`. Works with any chat model that has `bind_tools`.
"""

import inspect
from typing import Any, Unpack

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.runnables import Runnable, RunnableLambda
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import tools_condition

from router.adapters.calling import Call, as_text
from router.answer.options import RouteOptions
from router.answer.results import RoutedTools
from router.errors import RequestInvalid
from router.provider_formats import Form, legal_name
from router.router import Router


class State(MessagesState):
    """Messages, and the ids of the tools that the model has at hand."""

    selected_tool_ids: list[str]


def create_agent(
    model: BaseChatModel, router: Router, call: Call, **options: Unpack[RouteOptions]
) -> "StateGraph[State]":
    """A graph, to be compiled, that answers with the tools of the user's messages bound, and calls them by `call`.

    The tools are chosen by what the user has said: between his messages they stay the same, unless the catalog changes.
    `options` are those of `Router.route`, such as `k` and `token_budget`. The node "agent" raises what `Router.route`
    raises; the node "tools" what `call` raises, and answers a call of a tool that was not at hand with an error that
    the model sees.
    """
    options = {"form": Form.LANGCHAIN, **options}

    def bound(routed: RoutedTools) -> Runnable[Any, AIMessage]:
        tools = routed.render(Form.LANGCHAIN).tools
        return model.bind_tools(tools) if tools else model

    def answer(state: State) -> dict[str, Any]:
        routed = router.route(_said(state["messages"]), **options)
        return _answered(bound(routed).invoke(state["messages"]), routed)

    async def answer_async(state: State) -> dict[str, Any]:
        routed = await router.route_async(_said(state["messages"]), **options)
        return _answered(await bound(routed).ainvoke(state["messages"]), routed)

    def run(state: State) -> dict[str, Any]:
        return {"messages": [_run(call, asked, state) for asked in _calls(state)]}

    async def run_async(state: State) -> dict[str, Any]:
        return {"messages": [await _run_async(call, asked, state) for asked in _calls(state)]}

    graph = StateGraph(State)
    graph.add_node("agent", RunnableLambda(answer, answer_async))
    graph.add_node("tools", RunnableLambda(run, run_async))
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", tools_condition)
    graph.add_edge("tools", "agent")
    return graph


def _said(messages: list[AnyMessage]) -> list[dict[str, Any]]:
    """What the user said, as the router takes a dialogue."""
    return [{"role": "user", "content": m.content} for m in messages if isinstance(m, HumanMessage)]


def _answered(message: BaseMessage, routed: RoutedTools) -> dict[str, Any]:
    ids = [tool.tool_id for tool in (*routed.always, *routed.tools)]
    return {"messages": [message], "selected_tool_ids": ids}


def _calls(state: State) -> list[ToolCall]:
    last = state["messages"][-1]
    return last.tool_calls if isinstance(last, AIMessage) else []


def _tool_id(asked: ToolCall, state: State) -> str:
    """The id of the tool that is called. Raises RequestInvalid where it was not at hand: a model may make names up."""
    names = {legal_name(tool_id, Form.LANGCHAIN): tool_id for tool_id in state["selected_tool_ids"]}
    if asked["name"] not in names:
        raise RequestInvalid(f"the tool {asked['name']!r} is not among those selected: {', '.join(names) or 'none'}")
    return names[asked["name"]]


def _run(call: Call, asked: ToolCall, state: State) -> ToolMessage:
    try:
        tool_id = _tool_id(asked, state)
    except RequestInvalid as error:
        return _message(asked, str(error), "error")
    answer = call(tool_id, asked["args"])
    if inspect.isawaitable(answer):
        if inspect.iscoroutine(answer):
            answer.close()
        raise TypeError(f"the call of {tool_id} is asynchronous: run the graph with ainvoke or astream")
    return _message(asked, as_text(answer))


async def _run_async(call: Call, asked: ToolCall, state: State) -> ToolMessage:
    try:
        tool_id = _tool_id(asked, state)
    except RequestInvalid as error:
        return _message(asked, str(error), "error")
    answer = call(tool_id, asked["args"])
    return _message(asked, as_text(await answer if inspect.isawaitable(answer) else answer))


def _message(asked: ToolCall, text: str, status: str = "success") -> ToolMessage:
    return ToolMessage(text, tool_call_id=asked["id"], name=asked["name"], status=status)
