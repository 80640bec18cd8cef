"""OpenAI Agents SDK: the tools of an answer as FunctionTools, or tools that an agent chooses anew for each message.

Needs the extra `agents`.

    >>> agent = base.clone(tools=[*base.tools, *function_tools(router.route(request), call)])
    >>> Runner.run_sync(agent, request).final_output

    >>> server = RouterServer(router, call, k=5)
    >>> agent = Agent("support", mcp_servers=[server], tools=[server.search_tool])
    >>> Runner.run_sync(agent, request, context=SearchContext()).final_output
"""

import inspect
import logging
from collections.abc import Iterator, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Unpack

from agents import (
    AgentBase,
    FunctionTool,
    ModelBehaviorError,
    RunContextWrapper,
    Tool,
    ToolSearchTool,
    UserError,
    default_tool_error_function,
    tool_namespace,
)
from agents.mcp import MCPServer, MCPToolMetaContext
from agents.tool import ToolErrorFunction
from agents.tool_context import ToolContext
from mcp.types import CallToolResult, GetPromptResult, ListPromptsResult
from mcp.types import Tool as MCPTool

from quartermaster.adapters import Call, answer_call, as_text, call_tool, with_context
from quartermaster.adapters.dialogue_tools import Called, DialogueTools, Event, Read, StableOptions
from quartermaster.adapters.openai_items import hosted_tools
from quartermaster.adapters.tool_search import DESCRIPTION, NAME, Searched, ToolSearch, called_tool
from router.answer.results import RoutedTools
from router.errors import RequestInvalid
from router.provider_formats.formats import ProviderFormat
from router.provider_formats.rendering import Rendered, render
from router.record import ToolRecord
from router.router import Router
from router.selection.settings import Selection

_logger = logging.getLogger(__name__)
_RUN: ContextVar[RunContextWrapper[Any] | None] = ContextVar("run", default=None)  # of the call that is under way


def function_tools(
    routed: RoutedTools,
    call: Call,
    *,
    strict: bool = False,
    failure_error_function: ToolErrorFunction | None = default_tool_error_function,
) -> list[Tool]:
    """Return the tools of an answer in its order, each called by `call`.

    `strict` enables strict mode for tools whose schema has a strict form. The model gets the error where its arguments
    are no JSON object, and where `call` raises RequestInvalid. Of any other exception of `call` it gets what
    `failure_error_function` says, as of the SDK's own tools; with None that ends the run. A parameter `context` of
    `call` gets the SDK's ToolContext.
    """
    rendered = routed.render(ProviderFormat.RESPONSES, strict=strict)
    records = {tool.tool_id: tool.record for tool in (*routed.always, *routed.tools)}
    return [_function_tool(tool, rendered, records, call, failure_error_function) for tool in rendered.tools]


def hosted_function_tools(
    router: Router,
    call: Call,
    *,
    selection: Selection | None = None,
    strict: bool = False,
    failure_error_function: ToolErrorFunction | None = default_tool_error_function,
) -> list[Tool]:
    """Return a ToolSearchTool, and all tools as deferred functions in namespaces, for the search that OpenAI hosts.

    Tools of the selection's `always` are loaded from the start. The rest is as in `function_tools`. It needs OpenAI's
    Responses API and a model with tool search; all definitions go with each request. Raises SettingsInvalid where no
    tool is left to search.
    """
    rendered = hosted_tools(router, selection, strict=strict)
    records, failure = {record.tool_id: record for record in router.tools}, failure_error_function
    tools: list[Tool] = []
    for tool in rendered.tools:
        if tool["type"] == "tool_search":
            tools.append(ToolSearchTool())
        elif tool["type"] == "namespace":
            functions = [_function_tool(function, rendered, records, call, failure) for function in tool["tools"]]
            tools += tool_namespace(name=tool["name"], description=tool["description"], tools=functions)
        else:
            tools.append(_function_tool(tool, rendered, records, call, failure))
    return tools


def _function_tool(
    tool: dict[str, Any],
    rendered: Rendered,
    records: Mapping[str, ToolRecord],
    call: Call,
    failure: ToolErrorFunction | None,
) -> FunctionTool:
    record = records[rendered.tool_id(tool["name"])]

    async def invoke(context: ToolContext[Any], arguments: str) -> str:
        try:
            called = called_tool(rendered, record, tool["name"], arguments)
            return called.text(as_text(await call_tool(with_context(call, context), called.tool_id, called.arguments)))
        except RequestInvalid as error:
            return str(error)
        except Exception as error:  # of the tool itself, for the SDK's own `failure_error_function`
            if failure is None:
                raise
            _logger.exception("the call of %s failed", record.tool_id)
            told = failure(context, error)
            return await told if inspect.isawaitable(told) else told

    return FunctionTool(
        name=tool["name"],
        description=tool.get("description", ""),
        params_json_schema=tool["parameters"],
        on_invoke_tool=invoke,
        strict_json_schema=tool["strict"],
        defer_loading=tool.get("defer_loading", False),
    )


@dataclass
class SearchContext:
    """The context of runs whose agent has a `search_tool`: keep one for a dialogue, or let your own class inherit it.

    Attributes:
        searches: What the model searched for, by the id of its call.
    """

    searches: dict[str, Searched] = field(default_factory=dict)


class RouterServer(MCPServer):
    """The router's tools as one of an agent's `mcp_servers`, in process: those that fit what the user says.

    The SDK asks it for tools before each call of the model. They are chosen anew for each message of the user and stay
    the same between the model's calls; tools of earlier messages stay in front while there is room. It keeps nothing of
    a run: one serves all runs of all agents.

    `name` is what traces call it, `failure_error_function` that of `function_tools`; the options are those of
    `StableOptions`. Raises SettingsInvalid for an option out of its range.
    """

    def __init__(
        self,
        router: Router,
        call: Call,
        *,
        name: str = "router",
        failure_error_function: ToolErrorFunction | None = default_tool_error_function,
        **options: Unpack[StableOptions],
    ) -> None:
        super().__init__(failure_error_function=self._tell_model, tool_meta_resolver=_keep_run)
        self._failure = failure_error_function
        self._router, self._call, self._name = router, call, name
        self._search = ToolSearch(router, ProviderFormat.RESPONSES, {"selection": options.get("selection")})
        self._dialogue = DialogueTools(router, **options)

    @property
    def name(self) -> str:
        """Return what traces call it."""
        return self._name

    @property
    def search_tool(self) -> FunctionTool:
        """Return the function `search_tools`: what it finds can be called from the model's next call on.

        Runs of its agent need a `SearchContext`.
        """
        return FunctionTool(NAME, DESCRIPTION, self._search.parameters, self._searched)

    async def list_tools(
        self, run_context: RunContextWrapper[Any] | None = None, agent: AgentBase[Any] | None = None
    ) -> list[MCPTool]:
        """Return the tools for the messages of a run. Raises what `Router.route` raises."""
        records = [] if run_context is None else await self._dialogue.tools(list(self._events(run_context)))
        rendered = render(records, ProviderFormat.RESPONSES, vendor_text=self._router.vendor_text)
        return [
            MCPTool(name=tool["name"], description=tool.get("description"), inputSchema=tool["parameters"])
            for tool in rendered.tools
        ]

    async def call_tool(
        self, tool_name: str, arguments: dict[str, Any] | None, meta: dict[str, Any] | None = None
    ) -> CallToolResult:
        """Return what `call` returns, as text; what RequestInvalid says, as an error of the tool."""
        answer = await answer_call(self._search, with_context(self._call, _RUN.get()), tool_name, arguments)
        content = [{"type": "text", "text": answer.text}]
        return CallToolResult.model_validate({"content": content, "isError": answer.is_error})

    async def connect(self) -> None:
        """Do nothing: it runs in this process."""

    async def cleanup(self) -> None:
        """Do nothing: the router is its owner's to close."""

    async def list_prompts(self) -> ListPromptsResult:
        """Return no prompts."""
        return ListPromptsResult(prompts=[])

    async def get_prompt(self, name: str, arguments: dict[str, Any] | None = None) -> GetPromptResult:
        """Raise UserError: there are no prompts."""
        raise UserError(f"{self.name} has no prompts")

    async def _searched(self, context: ToolContext[Any], arguments: str) -> str:
        if not isinstance(context.context, SearchContext):
            raise UserError("the run has no SearchContext: pass Runner.run(…, context=SearchContext())")
        try:
            search = Searched.read(arguments)
            routed = await self._dialogue.routed([search.request], search.needs)
        except RequestInvalid as error:
            return str(error)
        context.context.searches[context.tool_call_id] = search
        return as_text(self._search.found_names(routed))

    async def _tell_model(self, context: RunContextWrapper[Any], error: Exception) -> str:
        """Return what a model reads of its own mistake, such as broken JSON, or of another error."""
        if isinstance(error, ModelBehaviorError):
            return str(error)
        if self._failure is None:
            raise error
        told = self._failure(context, error)
        return await told if inspect.isawaitable(told) else told

    def _events(self, run_context: RunContextWrapper[Any]) -> Iterator[Event]:
        """Yield what was said, called and searched before a call of the model."""
        context = run_context.context
        searches = dict(context.searches) if isinstance(context, SearchContext) else {}
        for item in run_context.turn_input:
            if item.get("role") == "user":
                yield _text(item.get("content"))
            elif item.get("type") == "function_call":
                name = str(item.get("name"))
                if name == NAME:
                    searches.pop(str(item.get("call_id")), None)
                    with suppress(RequestInvalid):  # the model read the error when it searched
                        yield Searched.read(item.get("arguments"))
                elif tool_id := self._router.tool_id_of(name):
                    yield Called(tool_id)
            else:
                yield Read(len(str(item)))
        yield from searches.values()  # of this run, whose calls are not in its input


def _keep_run(call: MCPToolMetaContext) -> None:
    """Keep the run of a call, whose metadata the SDK asks for first: it gives `call_tool` none."""
    _RUN.set(call.run_context)


def _text(content: Any) -> str:
    """Return what a message says in words; "" where there are only pictures."""
    if isinstance(content, str):
        return content
    texts = (part.get("text") for part in content or () if isinstance(part, Mapping))
    return "\n".join(text for text in texts if isinstance(text, str))
