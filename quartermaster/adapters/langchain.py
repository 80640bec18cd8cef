"""LangChain: a middleware for `create_agent` that binds the tools of each turn, and keeps the prompt's beginning.

Needs the extra `langchain`.

    >>> router = Router.from_tools(tools)
    >>> agent = create_agent(model, tools, middleware=[RouterMiddleware(router, k=5)])
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Annotated, Any, NotRequired, cast

import msgspec
from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.agents.middleware.types import ExtendedModelResponse, OmitFromSchema
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.tools import BaseTool, ToolException
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command
from pydantic import Field

from quartermaster.adapters import Call, answer_call, finish_now, with_context
from quartermaster.adapters.tool_search import ToolSearch, known_id
from router.answer.options import RouteOptions
from router.dialogue.stable_selection import StableSelection
from router.errors import quoted
from router.provider_formats.formats import ProviderFormat
from router.provider_formats.names import legal_name
from router.router import Router
from router.selection.admission import admitted
from router.selection.settings import Selection

_KEEP_CALLED = 2  # turns of the user, as in StableSelection
_MAX_NAMES = 20_000  # kept; models invent names

Handler = Callable[[ModelRequest[Any]], ModelResponse[Any]]
AsyncHandler = Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
ToolResult = ToolMessage | Command[Any]
Tools = list[BaseTool | dict[str, Any]]


class RouterState(AgentState[Any]):
    """The agent's state, with the ids of the tools that this dialogue's model is bound to, in order."""

    selected_tool_ids: NotRequired[Annotated[list[str], OmitFromSchema(input=True, output=False)]]


class CatalogTool(BaseTool):
    """A tool of the catalog, that `call` calls by its id. Arguments that it refuses are an error that the model reads.

    It is no StructuredTool, which would take a model's argument called `config` for its own.
    """

    search: ToolSearch = Field(exclude=True)
    call: Call = Field(exclude=True)
    handle_tool_error: Any = True

    def _run(self, /, **arguments: Any) -> str:
        return finish_now(self._called(arguments, "run the agent with ainvoke or astream"))

    async def _arun(self, /, **arguments: Any) -> str:
        return await self._called(arguments)

    async def _called(self, arguments: dict[str, Any], remedy: str | None = None) -> str:
        answer = await answer_call(self.search, self.call, self.name, arguments, remedy)
        if answer.is_error:
            raise ToolException(answer.text)
        return answer.text


class RouterMiddleware(AgentMiddleware[RouterState, Any, Any]):
    """Bind the model to the tools that fit the user's messages, chosen anew at each call of the model.

    Tools of the agent that the router knows, by their names, are bound where they fit. Others are always bound:
    tools that the router does not know, those of other middleware, and a provider's own, given as dicts. New tools come
    last and earlier ones stay in place, so that the provider's prompt cache holds. What a dialogue needs is kept in the
    agent's state: one middleware serves all threads.

    Args:
        router: The router over the agent's tools, as by `Router.from_tools(tools)`, or over a catalog.
        call: Calls a tool of the router that the agent was not given. Without it, only the agent's tools are bound.
            A parameter `context` gets the ToolRuntime.
        k: How many of its best tools each turn of the user may add.
        capacity: The greatest number of routed tools at any time.
        token_budget: The greatest number of their tokens; None for any number.
        selection: Filters the tools, and names those that are `always` bound. The router's own for None.

    Raises:
        SettingsInvalid: A setting is out of its range.
    """

    state_schema = RouterState
    tools = ()

    def __init__(
        self,
        router: Router,
        *,
        call: Call | None = None,
        k: int = 5,
        capacity: int = 64,
        token_budget: int | None = None,
        selection: Selection | None = None,
    ) -> None:
        super().__init__()
        self._router, self._call, self._k = router, call, k
        self._selection = router.selection if selection is None else selection
        self._search = ToolSearch(router, ProviderFormat.LANGCHAIN, {"selection": self._selection})
        self._dialogue = partial(
            StableSelection,
            router,
            k=k,
            capacity=capacity,
            token_budget=token_budget,
            form=ProviderFormat.LANGCHAIN,
            keep_called=_KEEP_CALLED,
            selection=self._selection,
        )
        self._dialogue()  # checks the settings
        self._known_id = lru_cache(_MAX_NAMES)(lambda _served, name: known_id(router, name))

    def wrap_model_call(self, request: ModelRequest[Any], handler: Handler) -> ExtendedModelResponse[Any]:
        """Call the model with the tools of this turn. Raises what `Router.route` raises."""
        tools, selected = finish_now(self._bound(request, at_once=True))
        return _with_state(handler(request.override(tools=tools)), selected)

    async def awrap_model_call(self, request: ModelRequest[Any], handler: AsyncHandler) -> ExtendedModelResponse[Any]:
        """Call the model with the tools of this turn, routed beside the event loop."""
        tools, selected = await self._bound(request)
        return _with_state(await handler(request.override(tools=tools)), selected)

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolResult]) -> ToolResult:
        """Run a tool that is bound. A call of any other is answered with an error, which the model reads."""
        bound = self._bound_call(request)
        return bound if isinstance(bound, ToolMessage) else handler(bound)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolResult]]
    ) -> ToolResult:
        """Run a tool that is bound, as `wrap_tool_call` does."""
        bound = self._bound_call(request)
        return bound if isinstance(bound, ToolMessage) else await handler(bound)

    async def _bound(self, request: ModelRequest[Any], *, at_once: bool = False) -> tuple[Tools, list[str]]:
        """Return the tools to bind, and the ids of the routed ones, which stand last.

        They are from the request, and from the state of its dialogue. `at_once` routes without the event loop.
        """
        own: dict[str, BaseTool] = {}
        others: Tools = []
        for tool in request.tools:
            if isinstance(tool, BaseTool) and (tool_id := self._tool_id(tool.name)):
                own[tool_id] = tool
            else:
                others.append(tool)
        held = cast(RouterState, request.state).get("selected_tool_ids", [])
        selection: Selection | None = self._selection
        if self._call is None and len(own) < len(self._router):
            held = [tool_id for tool_id in held if tool_id in own]
            selection = self._only(own)
        messages = _texts(request.messages)
        if not messages or selection is None:
            return others, []
        options: RouteOptions = {"k": self._k, "form": ProviderFormat.LANGCHAIN, "selection": selection}
        route = self._router.route
        routed = route(messages, **options) if at_once else await self._router.route_async(messages, **options)
        dialogue = self._dialogue(held=held)
        for tool_id in self._called_ids(request.messages).intersection(dialogue.ids):
            dialogue.called(tool_id)
        asked = max(place for place, message in enumerate(request.messages, 1) if isinstance(message, HumanMessage))
        tokens = count_tokens_approximately(request.messages[:asked])  # the same at each call for one message
        rendered = dialogue.take(routed, message_tokens=tokens).render()
        bound: dict[str, BaseTool] = {}
        for definition in rendered.tools:
            tool_id = rendered.tool_id(definition["name"])
            if tool_id in own:
                bound[tool_id] = own[tool_id]
                if tool_id in rendered.withheld:  # the vendor's text has prompt injections or hidden characters
                    clean = {"description": definition.get("description", ""), "args_schema": definition["parameters"]}
                    bound[tool_id] = own[tool_id].model_copy(update=clean)
            elif self._call is not None:
                bound[tool_id] = self._catalog_tool(self._call, definition)
        return [*others, *bound.values()], list(bound)

    def _only(self, own: Mapping[str, BaseTool]) -> Selection | None:
        """Return the selection without tools that are not the agent's; None where no tool is left."""
        records = filter(None, map(self._router.record, own))
        allowed = tuple(r.tool_id for r in admitted(Selection(allow=self._selection.allow), [*records]))
        always = tuple(tool_id for tool_id in self._selection.always if tool_id in own)
        return msgspec.structs.replace(self._selection, allow=allowed, always=always) if allowed else None

    def _bound_call(self, request: ToolCallRequest) -> ToolCallRequest | ToolMessage:
        """Return the call of a bound tool, with the tool; else the message that answers it."""
        name = request.tool_call["name"]
        tool_id = self._tool_id(name)
        if tool_id is None and request.tool is not None:
            return request  # always bound
        if tool_id is None or tool_id not in request.state.get("selected_tool_ids", ()):
            text = f"the tool {quoted(name)} is not at hand now: call one of the tools that you are given"
            return ToolMessage(text, tool_call_id=request.tool_call["id"], name=name, status="error")
        if request.tool is not None or self._call is None:
            return request
        call = with_context(self._call, request.runtime)
        return request.override(tool=self._catalog_tool(call, {"name": name}))

    def _catalog_tool(self, call: Call, definition: Mapping[str, Any]) -> CatalogTool:
        return CatalogTool(
            name=definition["name"],
            description=definition.get("description", ""),
            args_schema=definition.get("parameters", {"type": "object", "properties": {}}),
            search=self._search,
            call=call,
        )

    def _called_ids(self, messages: Sequence[AnyMessage]) -> frozenset[str]:
        """Return the ids of the tools that the model called since the last few messages of the user."""
        turns = [place for place, message in enumerate(messages) if isinstance(message, HumanMessage)]
        since = turns[-_KEEP_CALLED - 1 :][:1]
        recent = messages[since[0] :] if since else messages
        names = {call["name"] for message in recent if isinstance(message, AIMessage) for call in message.tool_calls}
        return frozenset(tool_id for name in names if (tool_id := self._tool_id(name)))

    def _tool_id(self, name: str) -> str | None:
        """Return what `known_id` does, which takes .2 ms; ids are kept while the same tools serve."""
        return self._known_id((self._router.manifest.snapshot, self._router.overlay.revision), name)


def provider_names(tools: Mapping[str, Sequence[BaseTool]]) -> list[BaseTool]:
    """Return the tools of several providers under names that no two share: `github__search`, `jira__search`.

    `create_agent` keeps only the last of several tools of one name. A router over the same mapping,
    `Router.from_tools(tools)`, knows the tools by these names.
    """
    return [
        tool.model_copy(update={"name": legal_name(f"{provider}/{tool.name}", ProviderFormat.LANGCHAIN)})
        for provider, provided in tools.items()
        for tool in provided
    ]


def _texts(messages: Sequence[AnyMessage]) -> list[str]:
    """Return the texts of the user's messages. A summary of earlier messages counts only where nothing else does."""
    said = [message for message in messages if isinstance(message, HumanMessage) and message.text.strip()]
    own = [message for message in said if message.additional_kwargs.get("lc_source") != "summarization"]
    return [str(message.text) for message in own or said]


def _with_state(response: ModelResponse[Any], selected: list[str]) -> ExtendedModelResponse[Any]:
    return ExtendedModelResponse(response, Command(update={"selected_tool_ids": selected}))
