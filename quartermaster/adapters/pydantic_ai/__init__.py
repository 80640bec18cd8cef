"""pydantic-ai: its tool search over the router, and toolsets of the router's tools.

Needs the extra `pydantic-ai`.

    >>> Agent(model, tools=[Tool(function, defer_loading=True), ...], capabilities=[tool_search()])
    >>> Agent(model, toolsets=[RouterToolset(router, call, k=5)])
    >>> Agent(model, toolsets=[RouterToolset(router, call, k=5, search=True)])
    >>> Agent(model, toolsets=[DeferredToolset(router, call)], capabilities=[tool_search(router)])
"""

import inspect
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import reduce
from operator import getitem
from typing import Any, Unpack

import anyio.to_thread
from pydantic_ai import ModelRetry, RunContext
from pydantic_ai.messages import ModelMessage, TextContent, ToolCallPart, ToolReturn, ToolReturnPart, UserPromptPart
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from quartermaster.adapters import MAX_RESULT, Call, as_text, with_context
from quartermaster.adapters.dialogue_tools import Called, DialogueTools, Event, Read, StableOptions
from quartermaster.adapters.pydantic_ai.strategy import RouterStrategy, tool_search
from quartermaster.adapters.tool_search import DESCRIPTION, CalledTool, Searched, ToolSearch
from router.errors import RequestInvalid
from router.provider_formats.formats import FormName, ProviderFormat
from router.provider_formats.rendering import render
from router.record import ToolRecord
from router.router import Router
from router.selection.admission import admitted
from router.selection.settings import Selection

__all__ = ["DeferredToolset", "RouterStrategy", "RouterToolset", "tool_search"]

SEARCH = "find_tools"  # pydantic-ai keeps "search_tools" for itself
_ARGUMENTS = SchemaValidator(core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema()))


class _CatalogToolset(AbstractToolset[object]):
    """What the toolsets share: definitions of records, and the way from a model's call to `call`."""

    def __init__(
        self, router: Router, call: Call, form: ProviderFormat | FormName, selection: Selection | None, id: str | None
    ) -> None:
        self.router, self._call, self._id = router, call, id
        self.search = ToolSearch(router, form, {"selection": selection})

    @property
    def id(self) -> str | None:
        """Return the toolset's own id, which durable execution asks for."""
        return self._id

    @property
    def tool_name_conflict_hint(self) -> str:
        """Return what to do where another toolset has a tool of the same name."""
        return "Wrap one of them in a `PrefixedToolset`, or block the tool: `selection=Selection(block=(…))`."

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[object], tool: ToolsetTool[object]
    ) -> Any:
        """Return what `call` returns for a tool; a synchronous one runs in a thread, as pydantic-ai's own tools do.

        A parameter `context` of `call` gets the RunContext. Raises ModelRetry, which the model reads, for
        RequestInvalid; what else `call` raises ends the run.
        """
        try:
            called = self.search.called(name, tool_args)
            call = with_context(self._call, ctx)
            if inspect.iscoroutinefunction(call):
                result = await call(called.tool_id, called.arguments)
            else:
                result = await anyio.to_thread.run_sync(call, called.tool_id, called.arguments)
            result = await result if inspect.isawaitable(result) else result
            return _told(name, called, result)
        except RequestInvalid as error:
            raise ModelRetry(str(error)) from error

    def _definitions(self, records: Sequence[ToolRecord], *, deferred: bool = False) -> list[ToolDefinition]:
        """Return the definitions of records, in their order."""
        form = self.search.form
        rendered = render(records, form, cap=None, vendor_text=self.router.vendor_text)
        return [
            ToolDefinition(
                name=(named := tool.get("function", tool))["name"],
                description=named.get("description"),
                parameters_json_schema=reduce(getitem, form.spec.schema_path, tool),
                defer_loading=deferred,
            )
            for tool in rendered.tools
        ]

    def _tools(self, definitions: Sequence[ToolDefinition], ctx: RunContext[object]) -> dict[str, ToolsetTool[object]]:
        """Return definitions as tools of a run."""
        parts: dict[str, Any] = {"toolset": self, "max_retries": ctx.max_retries, "args_validator": _ARGUMENTS}
        return {definition.name: ToolsetTool(tool_def=definition, **parts) for definition in definitions}


class DeferredToolset(_CatalogToolset):
    """A toolset of all tools that the selection admits, deferred: `tool_search(router)` finds them.

    pydantic-ai sends the definitions of all deferred tools with each request to a model that has a tool search of its
    own. For more than some hundred tools take `RouterToolset(search=True)`, which sends none but those found.

    Args:
        form: The provider's format, whose rules hold for names and parameters.
        selection: Which tools there are; the router's own for None.
        id: The toolset's id, for durable execution.
    """

    def __init__(
        self,
        router: Router,
        call: Call,
        *,
        form: ProviderFormat | FormName = ProviderFormat.RESPONSES,
        selection: Selection | None = None,
        id: str | None = None,
    ) -> None:
        super().__init__(router, call, form, selection, id)
        self._served: tuple[object, ...] = ()
        self._all: list[ToolDefinition] = []

    async def get_tools(self, ctx: RunContext[object]) -> dict[str, ToolsetTool[object]]:
        """Return all tools, ordered by id."""
        served = (self.router.manifest, self.router.overlay)
        if served != self._served:
            self._all, self._served = await anyio.to_thread.run_sync(self._read), served
        return self._tools(self._all, ctx)

    def _read(self) -> list[ToolDefinition]:
        return self._definitions(admitted(self.search.selection, [*self.router.tools]), deferred=True)


class RouterToolset(_CatalogToolset):
    """A toolset of the tools that fit what the user says in a run and in the message history before it.

    They are chosen anew for each message of the user and stay the same between the model's calls. Tools of earlier
    messages stay in front while there is room. With `search` there is also the function `find_tools`; what it finds can
    be called from the model's next request on. It keeps nothing of a run: one serves all runs of all agents.

    Args:
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
        super().__init__(router, call, options.get("form", ProviderFormat.RESPONSES), options.get("selection"), id)
        self._dialogue = DialogueTools(router, **options)
        self._searches = search

    async def get_tools(self, ctx: RunContext[object]) -> dict[str, ToolsetTool[object]]:
        """Return the tools of a step. Raises what `Router.route` raises."""
        definitions = self._definitions(await self._dialogue.tools(list(self._events(ctx.messages))))
        if self._searches:
            parameters = self.search.parameters
            search = ToolDefinition(name=SEARCH, description=DESCRIPTION, parameters_json_schema=parameters)
            definitions.insert(0, search)
        return self._tools(definitions, ctx)

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[object], tool: ToolsetTool[object]
    ) -> Any:
        """Search, or do what `call_tool` of all toolsets does."""
        if not (self._searches and name == SEARCH):
            return await super().call_tool(name, tool_args, ctx, tool)
        try:
            search = Searched.read(tool_args)
            routed = await self._dialogue.routed([search.request], search.needs)
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
                    with suppress(RequestInvalid):  # the model read the error when it searched
                        yield Searched.read(part.args_as_dict())
                elif tool_id := self.router.tool_id_of(part.tool_name):
                    yield Called(tool_id)
            else:
                yield Read(len(str(getattr(part, "content", part))))  # its times are written anew by a store


def _told(name: str, called: CalledTool, result: Any) -> Any:
    """Return what the model reads of a result: a text, or what pydantic-ai writes, unless it is too long."""
    if isinstance(result, ToolReturn):
        return result
    part = ToolReturnPart(name, result)
    text = part.model_response_str()
    is_cut = len(text) > MAX_RESULT and not part.files
    return called.text(as_text(text)) if is_cut or isinstance(result, str) else result


def _text(part: UserPromptPart) -> str:
    """Return what the user said in words; "" where there are only pictures."""
    if isinstance(part.content, str):
        return part.content
    texts = (item.content if isinstance(item, TextContent) else item for item in part.content)
    return "\n".join(text for text in texts if isinstance(text, str))
