"""The toolset of the tools that fit what the user says, and of those that the model searches."""

from collections.abc import Iterator, Sequence
from typing import Any, Unpack

from pydantic_ai import ModelRetry, RunContext
from pydantic_ai.messages import ModelMessage, TextContent, ToolCallPart, UserPromptPart
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import ToolsetTool

from quartermaster.adapters import Call
from quartermaster.adapters.dialogue_tools import Called, DialogueTools, Event, Searched, StableOptions
from quartermaster.adapters.pydantic_ai.catalog import CatalogToolset
from quartermaster.adapters.tool_search import DESCRIPTION, request_of
from router.errors import RequestInvalid
from router.provider_formats import Form
from router.router import Router

SEARCH = "find_tools"  # pydantic-ai keeps "search_tools" for itself


class RouterToolset(CatalogToolset):
    """A toolset of the tools that fit what the user says in a run and in the message history before it.

    They are chosen anew for each message of the user and stay the same between the model's calls. Tools of earlier
    messages stay in front while there is room. With `search` there is also the function `find_tools`; what it finds can
    be called from the model's next request on. It keeps nothing of a run: one serves all runs of all agents.

    Args:
        router: Knows the tools.
        call: Calls a tool by id with its arguments, synchronously or not.
        search: Whether the model can search for more tools.
        id: The toolset's id, for durable execution.
        options: `k`, `capacity`, `token_budget`, `form` and `selection`, as in `StableOptions`.

    Raises:
        SettingsInvalid: An option is out of its range.
    """

    def __init__(
        self,
        router: Router,
        call: Call,
        *,
        search: bool = False,
        id: str | None = None,
        **options: Unpack[StableOptions],
    ) -> None:
        super().__init__(router, call, options.get("form", Form.RESPONSES), options.get("selection"), id)
        self._dialogue = DialogueTools(router, **options)
        self._searches = search

    async def get_tools(self, ctx: RunContext[object]) -> dict[str, ToolsetTool[object]]:
        """Return the tools of a step. Raises what `Router.route` raises."""
        definitions = self.rendered(await self._dialogue.tools(list(self._events(ctx.messages))))
        if self._searches:
            parameters = self.search.parameters
            search = ToolDefinition(name=SEARCH, description=DESCRIPTION, parameters_json_schema=parameters)
            definitions.insert(0, search)
        return {definition.name: self.tool(definition, ctx) for definition in definitions}

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[object], tool: ToolsetTool[object]
    ) -> Any:
        """Search, or do what `call_tool` of all toolsets does."""
        if not (self._searches and name == SEARCH):
            return await super().call_tool(name, tool_args, ctx, tool)
        try:
            routed = await self._dialogue.routed([request_of(tool_args)])
        except RequestInvalid as error:
            raise ModelRetry(str(error)) from error
        return self.search.found_names(routed)

    def _events(self, messages: Sequence[ModelMessage]) -> Iterator[Event]:
        """Yield what was said, called and searched, in order."""
        for part in (part for message in messages for part in message.parts):
            if isinstance(part, UserPromptPart):
                yield _text(part)
            elif isinstance(part, ToolCallPart):
                if self._searches and part.tool_name == SEARCH:
                    yield Searched(str(part.args_as_dict().get("request", "")))
                elif tool_id := self.router.tool_id_of(part.tool_name):
                    yield Called(tool_id)


def _text(part: UserPromptPart) -> str:
    """Return what the user said in words; "" for pictures alone."""
    if isinstance(part.content, str):
        return part.content
    texts = (item.content if isinstance(item, TextContent) else item for item in part.content)
    return "\n".join(text for text in texts if isinstance(text, str))
