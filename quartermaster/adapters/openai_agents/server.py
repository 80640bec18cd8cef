"""The router's tools for an agent, chosen anew for each message of the user, and searched by the model."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Unpack

from agents import AgentBase, FunctionTool, ModelBehaviorError, RunContextWrapper, UserError
from agents.mcp import MCPServer
from agents.tool_context import ToolContext
from mcp.types import CallToolResult, GetPromptResult, ListPromptsResult
from mcp.types import Tool as MCPTool

from quartermaster.adapters import Call, as_text, call_tool
from quartermaster.adapters.dialogue_tools import Called, DialogueTools, Event, Searched, StableOptions
from quartermaster.adapters.tool_search import DESCRIPTION, NAME, ToolSearch, request_of
from router.errors import RequestInvalid
from router.provider_formats import Form, render
from router.router import Router


@dataclass
class SearchContext:
    """The context of runs whose agent has a `search_tool`: keep one for a dialogue, or let your own class inherit it.

    Attributes:
        searches: What the model searched for, by the id of its call.
    """

    searches: dict[str, str] = field(default_factory=dict)


class RouterServer(MCPServer):
    """The router's tools as one of an agent's `mcp_servers`, in process: those that fit what the user says.

    The SDK asks it for tools before each call of the model. They are chosen anew for each message of the user and stay
    the same between the model's calls; tools of earlier messages stay in front while there is room. It keeps nothing of
    a run: one serves all runs of all agents.

    Args:
        router: Knows the tools.
        call: Calls a tool by id with its arguments, synchronously or not. RequestInvalid is told to the model; any
            other exception ends the run.
        name: What traces call it.
        options: `k`, `capacity`, `token_budget`, `form` and `selection`, as in `StableOptions`.

    Raises:
        SettingsInvalid: An option is out of its range.
    """

    def __init__(self, router: Router, call: Call, *, name: str = "router", **options: Unpack[StableOptions]) -> None:
        super().__init__(failure_error_function=_tell_model)
        self._router, self._call, self._name = router, call, name
        self._search = ToolSearch(router, Form.RESPONSES, {"selection": options.get("selection")})
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
        rendered = render(records, self._search.form, vendor_text=self._router.vendor_text)
        return [_mcp_tool(tool) for tool in rendered.tools]

    async def call_tool(
        self, tool_name: str, arguments: dict[str, Any] | None, meta: dict[str, Any] | None = None
    ) -> CallToolResult:
        """Return what `call` returns, as text; what RequestInvalid says, as an error of the tool."""
        try:
            called = self._search.called(tool_name, arguments)
            text, is_error = as_text(await call_tool(self._call, called.tool_id, called.arguments)), False
        except RequestInvalid as error:
            text, is_error = str(error), True
        return CallToolResult.model_validate({"content": [{"type": "text", "text": text}], "isError": is_error})

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
        searches = _searches(context)
        if searches is None:
            raise UserError("the run has no SearchContext: pass Runner.run(…, context=SearchContext())")
        try:
            request = request_of(arguments)
            routed = await self._dialogue.routed([request])
        except RequestInvalid as error:
            return str(error)
        searches[context.tool_call_id] = request
        return as_text(self._search.found_names(routed))

    def _events(self, run_context: RunContextWrapper[Any]) -> Iterator[Event]:
        """Yield what was said, called and searched before a call of the model."""
        searches = dict(_searches(run_context) or {})
        for item in run_context.turn_input:
            if item.get("role") == "user":
                yield _text(item.get("content"))
            elif item.get("type") == "function_call":
                name = str(item.get("name"))
                if name == NAME:
                    searches.pop(str(item.get("call_id")), None)
                    with suppress(RequestInvalid):  # its model was told when it searched
                        yield Searched(request_of(item.get("arguments")))
                elif tool_id := self._router.tool_id_of(name):
                    yield Called(tool_id)
        yield from map(Searched, searches.values())  # of this run, whose calls are not in its input


def _searches(context: RunContextWrapper[Any]) -> dict[str, str] | None:
    return context.context.searches if isinstance(context.context, SearchContext) else None


def _tell_model(_: RunContextWrapper[Any], error: Exception) -> str:
    """Return what a model reads of its own mistake, such as broken JSON. Any other error ends the run."""
    if isinstance(error, ModelBehaviorError):
        return str(error)
    raise error


def _mcp_tool(tool: Mapping[str, Any]) -> MCPTool:
    named = {key: tool[key] for key in ("name", "description") if key in tool}
    return MCPTool.model_validate({**named, "inputSchema": tool["parameters"]})


def _text(content: Any) -> str:
    """Return what a message says in words; "" for pictures alone."""
    if isinstance(content, str):
        return content
    texts = (part.get("text") for part in content or () if isinstance(part, Mapping))
    return "\n".join(text for text in texts if isinstance(text, str))
