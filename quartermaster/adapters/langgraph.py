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
from langgraph.runtime import get_runtime

from quartermaster.adapters import Answer, Call, answer_call, finish_now, with_context
from quartermaster.adapters.tool_search import ToolSearch
from router.answer.options import SharedOptions
from router.answer.results import RoutedTools
from router.provider_formats.formats import ProviderFormat
from router.provider_formats.names import legal_name
from router.router import Router


class State(MessagesState):
    """The messages, and the ids of the tools that the model is bound to."""

    selected_tool_ids: list[str]


class AgentInput(TypedDict):
    """What a run takes: messages as LangChain's models take them, and the ids of tools, which a run chooses itself."""

    messages: list[MessageLikeRepresentation]
    selected_tool_ids: NotRequired[list[str]]


def create_agent(
    model: BaseChatModel, router: Router, call: Call, **options: Unpack[SharedOptions]
) -> "StateGraph[State, None, AgentInput, State]":
    """Return a graph, to be compiled, that binds the tools for the user's messages and calls them by `call`.

    Only the user's messages choose the tools: between them the tools stay the same, unless the catalog changes.
    `options` are those of `Router.route`, such as `k` and `token_budget`. The node "agent" raises what `Router.route`
    raises, the node "tools" what `call` raises, except RequestInvalid: the model reads that as an error of the tool,
    and so it does where it calls a tool that is not bound. A parameter `context` of `call` gets the graph's Runtime.
    """
    options = {"form": ProviderFormat.LANGCHAIN, **options}
    search = ToolSearch(router, ProviderFormat.LANGCHAIN, options)

    def bind(routed: RoutedTools) -> Runnable[Any, AIMessage]:
        tools = routed.render(ProviderFormat.LANGCHAIN).tools
        return model.bind_tools(tools) if tools else model

    def answer(state: State) -> dict[str, Any]:
        routed = router.route(_user_messages(state["messages"]), **options)
        return _state_update(bind(routed).invoke(state["messages"]), routed)

    async def answer_async(state: State) -> dict[str, Any]:
        routed = await router.route_async(_user_messages(state["messages"]), **options)
        return _state_update(await bind(routed).ainvoke(state["messages"]), routed)

    def run(state: State) -> dict[str, Any]:
        return finish_now(run_async(state, "run the graph with ainvoke or astream"))

    async def run_async(state: State, remedy: str | None = None) -> dict[str, Any]:
        last = state["messages"][-1]
        calls = last.tool_calls if isinstance(last, AIMessage) else []
        return {"messages": [await called(tool_call, state["selected_tool_ids"], remedy) for tool_call in calls]}

    async def called(tool_call: ToolCall, selected: list[str], remedy: str | None) -> ToolMessage:
        name = tool_call["name"]
        if router.tool_id_of(name) in selected:
            in_run = with_context(call, get_runtime())
            answer = await answer_call(search, in_run, name, tool_call["args"], remedy)
        else:  # a model may invent names
            names = ", ".join(legal_name(tool_id, ProviderFormat.LANGCHAIN) for tool_id in selected) or "none"
            answer = Answer(f"the tool {name!r} is not among those selected: {names}", True)
        status = "error" if answer.is_error else "success"
        return ToolMessage(answer.text, tool_call_id=tool_call["id"], name=name, status=status)

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
