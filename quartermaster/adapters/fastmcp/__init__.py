"""FastMCP: a server lists a search in place of its own tools, and finds them by the router.

Needs the extra `fastmcp`.

    >>> mcp.add_transform(RouterSearch())                               # over the server's tools as they are
    >>> mcp.add_transform(RouterSearch(Router.open("snapshots/crm")))   # with the phrases of a build of this server
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from anyio.to_thread import run_sync
from fastmcp.exceptions import ToolError
from fastmcp.server.context import Context
from fastmcp.server.transforms.search.base import BaseSearchTransform
from fastmcp.tools.base import Tool, ToolResult
from mcp_types import ToolAnnotations

from quartermaster.adapters import first_tools, withheld_notes
from quartermaster.adapters.fastmcp.catalog import Catalog, definition, provider_of
from quartermaster.adapters.tool_search import DESCRIPTION, Searched, ToolSearch, schema_of
from router.answer.results import RoutedTools
from router.errors import QuartermasterError
from router.provider_formats.formats import Detail, ProviderFormat, parse_choice
from router.provider_formats.rendering import listed_line, listed_row
from router.provider_formats.shaping import handed_record
from router.router import Router
from router.snapshot.memory import EncoderChoice
from router.tools.definitions.reading import record_of

__all__ = ["RouterSearch"]

_READ_ONLY = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
_OBJECT, _TEXT = {"type": "object"}, {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_FIRST = {**_TEXTS, "description": "Tools to call before this one."}
_TOOL_SCHEMA = {
    **_OBJECT,
    "properties": {"name": _TEXT, "signature": _TEXT, "description": _TEXT, "inputSchema": _OBJECT, "first": _FIRST},
    "required": ["name"],
}
_RESULT_SCHEMA: dict[str, Any] = {
    **_OBJECT,
    "properties": {
        "tools": {"type": "array", "items": _TOOL_SCHEMA},
        "none_fits": {"type": "boolean"},
        "notes": _TEXTS,
    },
    "required": ["tools", "none_fits", "notes"],
}
_NO_TOOLS = "There are no tools to search."


class RouterSearch(BaseSearchTransform):
    """A search transform, as FastMCP's BM25SearchTransform is: the server lists only a search and a call tool.

    A search covers the tools that its caller may see by FastMCP's own rules: authorization, tags, versions, sessions.
    The call tool is FastMCP's own, with its middleware and its check of arguments.
    """

    def __init__(
        self,
        router: Router | None = None,
        *,
        provider: str | None = None,
        encoder: EncoderChoice = "auto",
        detail: Detail | str = Detail.SIGNATURE,
        max_results: int = 5,
        always_visible: list[str] | None = None,
        search_tool_name: str = "search_tools",
        call_tool_name: str = "call_tool",
    ) -> None:
        """Return the transform. The first search indexes the tools.

        Args:
            router: A router over a snapshot of this server, which the transform has to itself: tools are matched by
                name, so that the build's phrases count, and those that the snapshot lacks are registered with it.
                Without one, the transform makes a router of the server's tools, in memory.
            provider: The provider of this server's tools in the snapshot, where that has several.
            encoder: Without a router: as in `Router.from_tools`.
            detail: How much a search tells of each tool: "signature" (one line), "short" or "full" (its schema).
            max_results: The most tools that a search finds.
            always_visible: Names of tools that stay in the list, and are not searched.
            search_tool_name: The name of the search.
            call_tool_name: The name of the tool that calls what was found.

        Raises:
            SettingsInvalid: The detail is unknown, or `provider` does not say which of the router's providers it is.
        """
        super().__init__(
            max_results=max_results,
            always_visible=always_visible,
            search_tool_name=search_tool_name,
            call_tool_name=call_tool_name,
        )
        self._detail = parse_choice(Detail, detail)
        self._catalog = Catalog(router, None if router is None else provider_of(router, provider), encoder)

    def _make_search_tool(self) -> Tool:
        async def search_tools(
            request: Any,
            needs: Any = None,
            ctx: Context = None,  # type: ignore[assignment]  # FastMCP passes it
        ) -> ToolResult:
            tools = await self._get_visible_tools(ctx)
            try:
                return await run_sync(partial(self._find, tools, {"request": request, "needs": needs}))
            except QuartermasterError as error:  # a ToolError reaches the model even where other errors are masked
                raise ToolError(str(error)) from error

        found = Tool.from_function(
            search_tools,
            name=self._search_tool_name,
            title="Search tools",
            description=f"{DESCRIPTION} Call what you find with {self._call_tool_name}.",
            annotations=_READ_ONLY,
            output_schema=_RESULT_SCHEMA,
        )
        return found.model_copy(update={"parameters": schema_of(Searched)})

    def _find(self, tools: Sequence[Tool], arguments: Mapping[str, Any]) -> ToolResult:
        router, by_id = self._catalog.among(tools)
        if router is None:
            return ToolResult(_NO_TOOLS, {"tools": [], "none_fits": True, "notes": [_NO_TOOLS]})
        search = ToolSearch(router, ProviderFormat.MCP, {"k": self._max_results, "detail": self._detail})
        return _result(search.find(arguments), by_id)

    async def _search(self, tools: Sequence[Tool], query: str) -> Sequence[Tool]:
        """Return the best of some tools: what FastMCP's base class asks of a search."""
        result = await run_sync(partial(self._find, tools, {"request": query}))
        by_name = {tool.name: tool for tool in tools}
        return [by_name[row["name"]] for row in (result.structured_content or {})["tools"]]


def _result(routed: RoutedTools, tools: Mapping[str, Tool]) -> ToolResult:
    """Return a search's result: a short text for a model, and the same as JSON for programs.

    `tools` are those that its caller may see, by the router's ids. Each is shown as its caller's server lists it, never
    as another caller's search indexed it.
    """
    found = {tool.tool_id: tool for tool in (*routed.always, *routed.tools) if tool.tool_id in tools}
    handed = {i: handed_record(record_of(definition(tools[i])), routed.vendor_text) for i in found}
    names = {tool_id: its.record.name for tool_id, its in handed.items() if not its.unusable}
    rows = {
        tool_id: {"name": name, **listed_row(handed[tool_id].record, found[tool_id].detail, "inputSchema")}
        for tool_id, name in names.items()
    }
    for first in first_tools(found.values(), names):
        rows[first.needing].setdefault("first", []).append(names[first.tool_id])
    notes = [f"{routed.doubt} Below is what comes closest."] if routed.none_fits and rows else []
    notes += [routed.gaps] if routed.gaps and rows else []
    notes += withheld_notes({name: handed[tool_id] for tool_id, name in names.items()})
    notes += [] if rows else [routed.nothing]
    answer = {"tools": list(rows.values()), "none_fits": routed.none_fits or not rows, "notes": notes}
    lines = [listed_line(row, row.get("first", ())) for row in rows.values()]
    return ToolResult("\n".join([*notes, *lines]), answer)
