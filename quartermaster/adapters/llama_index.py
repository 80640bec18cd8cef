"""LlamaIndex: a retriever that gives an agent the tools that fit the user's message.

Needs the extra `llama-index`.

    >>> router = Router.from_tools(tools)
    >>> agent = FunctionAgent(llm=llm, tool_retriever=RouterToolRetriever(router, tools, k=5))
"""

from collections.abc import Iterable, Mapping
from typing import Any, Unpack

from llama_index.core.objects import ObjectRetriever
from llama_index.core.schema import QueryBundle
from llama_index.core.tools import AsyncBaseTool, BaseTool, ToolMetadata, ToolOutput
from llama_index.core.tools.types import adapt_to_async_tool

from quartermaster.adapters import Call, as_text, call_tool, finish_now
from quartermaster.adapters.tool_search import ToolSearch, known_id
from router.answer.options import SharedOptions
from router.errors import SettingsInvalid
from router.provider_formats.formats import ProviderFormat
from router.provider_formats.rendering import render
from router.router import Router
from router.selection.admission import refusal_reason


class RouterToolRetriever(ObjectRetriever[BaseTool]):
    """The `tool_retriever` of an agent: tools by the user's message. One serves all agents and runs.

    Args:
        router: The router over `tools`, as by `Router.from_tools(tools)`, or over a catalog.
        tools: Tools that LlamaIndex calls itself. The router knows them by their names.
        call: Calls a tool of the router that is not among `tools`. Without it, there are only those.
        options: Those of `Router.route`, such as `k` and `selection`.

    Raises:
        SettingsInvalid: One of `tools` is not in the router, or there are neither `tools` nor `call`.
    """

    def __init__(
        self,
        router: Router,
        tools: Iterable[BaseTool] = (),
        *,
        call: Call | None = None,
        **options: Unpack[SharedOptions],
    ) -> None:
        # ObjectRetriever's own parts are an index of nodes and a mapping from them to objects: the router is both.
        self._router, self._call = router, call
        self._search = ToolSearch(router, ProviderFormat.OPENAI, options)
        self._own: dict[str, BaseTool] = {}
        for tool in tools:
            name = tool.metadata.get_name()
            if (tool_id := known_id(router, name)) is None:
                raise SettingsInvalid(
                    f"the tool {name!r} is not in the router: make that of the same tools, by from_tools"
                )
            self._own[tool_id] = tool
        if not self._own and call is None:
            raise SettingsInvalid("RouterToolRetriever has neither tools nor call: give the agent's tools, or call")

    def retrieve(self, str_or_query_bundle: str | QueryBundle) -> list[BaseTool]:
        """Return the tools for a message, best first; none for an empty one. Raises what `Router.route` raises.

        An agent also asks by the name of the tool that the model called: that tool then stands first, if the selection
        admits it.
        """
        return finish_now(self._found(str_or_query_bundle, at_once=True))

    async def aretrieve(self, str_or_query_bundle: str | QueryBundle) -> list[BaseTool]:
        """Run `retrieve` beside the event loop."""
        return await self._found(str_or_query_bundle)

    async def _found(self, asked: str | QueryBundle, *, at_once: bool = False) -> list[BaseTool]:
        """Return the tools of an answer, the agent's own as they are, behind the one that the query names, if any."""
        query = asked if isinstance(asked, str) else asked.query_str
        if not query.strip():
            return []
        routed = await self._search.found({"request": query}, at_once=at_once)
        tools: dict[str, BaseTool] = {}
        named = self._router.record(known_id(self._router, query) or "")
        if named is not None and refusal_reason(self._search.selection, named):
            named = None
        of_name = render([named] if named else [], ProviderFormat.OPENAI, vendor_text=self._router.vendor_text)
        for rendered in (of_name, routed.render()):
            for function in (definition["function"] for definition in rendered.tools):
                tool_id = rendered.tool_id(function["name"])
                if own := self._own.get(tool_id):
                    tools.setdefault(tool_id, self._cleaned(own, function) if tool_id in rendered.withheld else own)
                elif self._call is not None:
                    tools.setdefault(tool_id, CatalogTool(function, self._search, self._call))
        return [*tools.values()]

    def _cleaned(self, own: BaseTool, definition: Mapping[str, Any]) -> BaseTool:
        """Return a tool of the agent as the model may read it: without prompt injections and hidden characters."""

        async def call(_: str, arguments: Mapping[str, Any]) -> Any:
            return (await adapt_to_async_tool(own).acall(**arguments)).raw_output

        return CatalogTool(definition, self._search, call, return_direct=own.metadata.return_direct)


class CatalogTool(AsyncBaseTool):
    """A tool that `call` calls by its id. What `call` raises becomes an error that the model reads."""

    def __init__(
        self, definition: Mapping[str, Any], search: ToolSearch, call: Call, *, return_direct: bool = False
    ) -> None:
        self._metadata = _Metadata(definition.get("description", ""), definition["name"], return_direct=return_direct)
        self._metadata.parameters = definition["parameters"]
        self._search, self._call = search, call

    @property
    def metadata(self) -> ToolMetadata:
        """Return name, description and parameters, as the router renders them."""
        return self._metadata

    # Agents pass a tool's arguments by name, whatever the base class declares.
    def call(self, /, **arguments: Any) -> ToolOutput:  # type: ignore[override]
        """Call the tool. Raises RequestInvalid for a tool that may not be used, and what `call` raises."""
        return finish_now(self._called(arguments, "use acall"))

    async def acall(self, /, **arguments: Any) -> ToolOutput:  # type: ignore[override]
        """Call the tool in an event loop, as agents do."""
        return await self._called(arguments)

    async def _called(self, arguments: dict[str, Any], remedy: str | None = None) -> ToolOutput:
        name = self.metadata.get_name()
        called = self._search.called(name, arguments)
        result = await call_tool(self._call, called.tool_id, called.arguments, remedy)
        return ToolOutput(tool_name=name, content=called.text(as_text(result)), raw_input=arguments, raw_output=result)


class _Metadata(ToolMetadata):
    """The metadata of a tool whose parameters are a JSON Schema. LlamaIndex derives them from a Pydantic model."""

    parameters: Mapping[str, Any]

    def get_parameters_dict(self) -> dict[str, Any]:
        return dict(self.parameters)
