"""LangGraph: an agent whose model is bound to the tools of each turn, as in langgraph-bigtool.

Needs the extra `langgraph`. Works with any chat model that has `bind_tools`.
"""

from typing import Any, NotRequired, TypedDict, Unpack

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    MessageLikeRepresentation,
    ToolCall,
    ToolMessage,
)
from langchain_core.runnables import Runnable, RunnableLambda
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import tools_condition

from quartermaster.adapters import Call, as_text, call_tool, finish_now
from router.answer.options import RouteOptions
from router.answer.results import RoutedTools
from router.errors import RequestInvalid
from router.provider_formats import Form, legal_name
from router.router import Router


class State(MessagesState):
    """The messages, and the ids of the tools that the model is bound to."""

    selected_tool_ids: list[str]


class AgentInput(TypedDict):
    """What a run takes: messages as LangChain's models take them, and the ids of tools, which a run chooses itself."""

    messages: list[MessageLikeRepresentation]
    selected_tool_ids: NotRequired[list[str]]


def create_agent(
    model: BaseChatModel, router: Router, call: Call, **options: Unpack[RouteOptions]
) -> "StateGraph[State, None, AgentInput, State]":
    """Return a graph, to be compiled, that binds the tools for the user's messages and calls them by `call`.

    Only the user's messages choose the tools: between them the tools stay the same, unless the catalog changes.
    `options` are those of `Router.route`, such as `k` and `token_budget`. The node "agent" raises what `Router.route`
    raises, the node "tools" what `call` raises, except RequestInvalid: that, and a call of a tool that is not bound, is
    answered with an error that the model reads.
    """
    options = {"form": Form.LANGCHAIN, **options}

    def bind(routed: RoutedTools) -> Runnable[Any, AIMessage]:
        tools = routed.render(Form.LANGCHAIN).tools
        return model.bind_tools(tools) if tools else model

    def answer(state: State) -> dict[str, Any]:
        routed = router.route(_user_messages(state["messages"]), **options)
        return _state_update(bind(routed).invoke(state["messages"]), routed)

    async def answer_async(state: State) -> dict[str, Any]:
        routed = await router.route_async(_user_messages(state["messages"]), **options)
        return _state_update(await bind(routed).ainvoke(state["messages"]), routed)

    def run(state: State) -> dict[str, Any]:
        way_out = "run the graph with ainvoke or astream"
        return {"messages": [finish_now(_called(call, one, state, way_out)) for one in _tool_calls(state)]}

    async def run_async(state: State) -> dict[str, Any]:
        return {"messages": [await _called(call, one, state) for one in _tool_calls(state)]}

    graph: StateGraph[State, None, AgentInput, State] = StateGraph(State)
    graph.add_node("agent", RunnableLambda(answer, answer_async))
    graph.add_node("tools", RunnableLambda(run, run_async))
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", tools_condition)
    graph.add_edge("tools", "agent")
    return graph


def _user_messages(messages: list[AnyMessage]) -> list[dict[str, Any]]:
    """Return the user's messages as a dialogue for the router."""
    return [{"role": "user", "content": m.content} for m in messages if isinstance(m, HumanMessage)]


def _state_update(message: BaseMessage, routed: RoutedTools) -> dict[str, Any]:
    ids = [tool.tool_id for tool in (*routed.always, *routed.tools)]
    return {"messages": [message], "selected_tool_ids": ids}


def _tool_calls(state: State) -> list[ToolCall]:
    last = state["messages"][-1]
    return last.tool_calls if isinstance(last, AIMessage) else []


def _tool_id(tool_call: ToolCall, state: State) -> str:
    """Return the id of the called tool. Raises RequestInvalid if it is not bound: a model may invent names."""
    ids_by_name = {legal_name(tool_id, Form.LANGCHAIN): tool_id for tool_id in state["selected_tool_ids"]}
    name = tool_call["name"]
    if name not in ids_by_name:
        raise RequestInvalid(f"the tool {name!r} is not among those selected: {', '.join(ids_by_name) or 'none'}")
    return ids_by_name[name]


async def _called(call: Call, tool_call: ToolCall, state: State, way_out: str | None = None) -> ToolMessage:
    try:
        text = as_text(await call_tool(call, _tool_id(tool_call, state), tool_call["args"], way_out))
        status = "success"
    except RequestInvalid as error:
        text, status = str(error), "error"
    return ToolMessage(text, tool_call_id=tool_call["id"], name=tool_call["name"], status=status)
