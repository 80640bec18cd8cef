"""LangChain: the tool search of OpenAI's Responses API that the client executes, as a middleware of `create_agent`.

The prompt holds one tool, and what the model finds is appended: nothing before it changes. Needs the extra `langchain`,
and `langchain-openai`.

    >>> model = ChatOpenAI(model="gpt-5.4", use_responses_api=True)
    >>> agent = create_agent(model, [], middleware=[ToolSearchMiddleware(router, router.call, k=5)])
"""

from collections.abc import Callable, Iterable
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage
from langgraph.prebuilt.tool_node import ToolCallRequest

from quartermaster.adapters import Call, finish_now, with_context
from quartermaster.adapters.openai_responses import ResponsesToolSearch
from router.router import Router

_MOST_SEARCHES = 8  # in a row: a model that finds nothing may search for ever

Blocks = list[dict[str, Any]]
Handler = Callable[[Any], Any]  # sync or async, of a request to the model or of a call of a tool


class ToolSearchMiddleware(AgentMiddleware[Any, Any, Any]):
    """Give the model a search for the router's tools beside the agent's own, and call what it found.

    What is loaded is read from the messages: one middleware serves all threads.

    Args:
        router: The router over the tools to be found.
        call: Calls one of them by its id. A parameter `context` gets the ToolRuntime.
        options: Those of `ResponsesToolSearch`, such as `k`, and `own` with the names of the agent's own tools.
    """

    def __init__(self, router: Router, call: Call, **options: Any) -> None:
        super().__init__()
        self._search, self._call = ResponsesToolSearch(router, **options), call

    def wrap_model_call(self, request: ModelRequest[Any], handler: Handler) -> ModelResponse[Any]:
        """Call the model, and again with what it searched for, until it does something else."""
        return finish_now(self._searched(request, handler, at_once=True))

    async def awrap_model_call(self, request: ModelRequest[Any], handler: Handler) -> ModelResponse[Any]:
        """Do what `wrap_model_call` does, and search beside the event loop."""
        return await self._searched(request, handler)

    async def _searched(self, request: ModelRequest[Any], model: Handler, at_once: bool = False) -> ModelResponse[Any]:
        request = request.override(tools=[*request.tools, *self._search.tools])
        answers, said = self._search.answers if at_once else self._search.answers_async, list[Any]()
        for _ in range(_MOST_SEARCHES):
            messages = [*request.messages, *said]
            answer = model(request.override(messages=messages))
            response = answer if at_once else await answer
            said += response.result
            searches = [block for block in _blocks(response.result) if block.get("type") == "tool_search_call"]
            if not searches:
                break
            found: Any = answers(searches, self._call, history=_blocks(messages))
            said.append(_as_message(found if at_once else await found))
            if any(isinstance(message, AIMessage) and message.tool_calls for message in response.result):
                break  # its calls first
        return ModelResponse(result=said, structured_response=response.structured_response)

    def wrap_tool_call(self, request: ToolCallRequest, handler: Handler) -> Any:
        """Run a tool of the agent, or call one that the search found."""
        if request.tool is not None:
            return handler(request)
        return _result(request, self._search.answers([_called(request)], with_context(self._call, request.runtime)))

    async def awrap_tool_call(self, request: ToolCallRequest, handler: Handler) -> Any:
        """Do what `wrap_tool_call` does; `call` may be async."""
        if request.tool is not None:
            return await handler(request)
        call = with_context(self._call, request.runtime)
        return _result(request, await self._search.answers_async([_called(request)], call))


def _blocks(messages: Iterable[BaseMessage]) -> Blocks:
    """Return the items of the Responses API in the contents of messages."""
    contents = (message.content for message in messages if isinstance(message.content, list))
    return [block for content in contents for block in content if isinstance(block, dict)]


def _as_message(items: Blocks) -> SystemMessage:
    """Return the answers of searches as a message; their notes stand behind them in the developer's name."""
    notes = [{"type": "text", "text": item["content"]} for item in items if item["type"] == "message"]
    found: list[Any] = [item for item in items if item["type"] != "message"]
    return SystemMessage([*found, *notes], additional_kwargs={"__openai_role__": "developer"})


def _called(request: ToolCallRequest) -> dict[str, Any]:
    call = request.tool_call
    return {"type": "function_call", "call_id": call["id"], "name": call["name"], "arguments": call["args"]}


def _result(request: ToolCallRequest, answers: Blocks) -> ToolMessage:
    return ToolMessage(answers[0]["output"], tool_call_id=request.tool_call["id"], name=request.tool_call["name"])
