"""The three tools: find_tools, describe_tool, call_tool."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import mcp_types as types

from router.errors import QuartermasterError, RequestInvalid
from router.provider_formats import Form
from router.record import ToolRecord
from router.router import Router
from router.selection import Selection
from router.selection.admission import refusal_reason
from router.serving.mcp import answers
from router.serving.mcp.asked import CallTool, DescribeTool, FindTools, read, schema_of
from router.serving.mcp.upstreams import Upstreams

_Call = Callable[[Mapping[str, Any] | None], Awaitable[types.CallToolResult]]

_READS = types.ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
DEFINITIONS = (
    types.Tool(
        name="find_tools",
        title="Find tools",
        description=(
            "Search the catalog for the tools that fit a request. Each line is a tool: its id, parameters (? optional) "
            "and what it does. Says so when most likely none fits."
        ),
        input_schema=schema_of(FindTools),
        output_schema=dict(answers.FOUND),
        annotations=_READS,
    ),
    types.Tool(
        name="describe_tool",
        title="Describe a tool",
        description="The whole description and input schema of a tool that find_tools named.",
        input_schema=schema_of(DescribeTool),
        output_schema=dict(answers.DESCRIBED),
        annotations=_READS,
    ),
    types.Tool(
        name="call_tool",
        title="Call a tool",
        description=(
            "Call a tool of the catalog by its id, at its own server, and return what that answers. Arguments are "
            "checked first. Read the tool's description before a call that changes anything."
        ),
        input_schema=schema_of(CallTool),
        annotations=types.ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=True),
    ),
)
INSTRUCTIONS = """A catalog of tools, too many to list. For each thing to be done:
1. find_tools with the user's own words. It answers with tool ids and signatures, the best first.
2. describe_tool, where a signature does not say enough to call the tool.
3. call_tool with the tool's id and arguments.
Where find_tools says that most likely no tool fits, say so, or ask in other words; where it says "perhaps", look at the
tools first. An error of find_tools does not mean that none fits."""


@dataclass(frozen=True, slots=True)
class Tools:
    """Answers the calls of the three tools. `selection` filters all of them: what it does not admit is not called."""

    router: Router
    upstreams: Upstreams
    selection: Selection

    async def call(self, name: str, arguments: Mapping[str, Any] | None) -> types.CallToolResult:
        """The answer of a tool; what is wrong with the call, or went wrong, is an error result that says so."""
        calls: dict[str, _Call] = {"find_tools": self.find, "describe_tool": self.describe, "call_tool": self.pass_on}
        if name not in calls:
            return answers.failed(
                f"there is no tool {name!r} here, only {', '.join(calls)}: call the catalog's tools with call_tool"
            )
        try:
            return await calls[name](arguments)
        except QuartermasterError as error:
            return answers.failed(f"{name} failed: {error}")

    async def find(self, arguments: Mapping[str, Any] | None) -> types.CallToolResult:
        """find_tools."""
        asked = read(FindTools, arguments)
        selection = self.selection
        if asked.read_only:
            selection = replace(selection, annotations={**selection.annotations, "readOnlyHint": True})
        if asked.category:
            selection = replace(selection, use_category_filter=True)
        routed = await self.router.route_async(
            asked.request,
            k=asked.k,
            selection=selection,
            category=asked.category,
            category_confidence=1.0 if asked.category else None,
            token_budget=asked.token_budget,
            form=Form.MCP,
            detail=asked.detail,
        )
        return answers.found(routed, asked.k)

    async def describe(self, arguments: Mapping[str, Any] | None) -> types.CallToolResult:
        """describe_tool."""
        return answers.described(await self._record(read(DescribeTool, arguments).tool_id))

    async def pass_on(self, arguments: Mapping[str, Any] | None) -> types.CallToolResult:
        """call_tool."""
        asked = read(CallTool, arguments)
        answer = await self.upstreams.call(await self._record(asked.tool_id), asked.arguments)
        # Its metadata is between the two of us and the server.
        return types.CallToolResult(
            content=answer.content, structured_content=answer.structured_content, is_error=answer.is_error
        )

    async def _record(self, tool_id: str) -> ToolRecord:
        """The record of an id. Raises RequestInvalid, with what comes close, where there is none that is admitted."""
        # A model that saw the tool elsewhere may know it by the name that it had there.
        record = self.router.record(tool_id) or self.router.record(self.router.tool_id_of(tool_id) or "")
        if record is None:
            near = await self.router.route_async(tool_id, k=3, selection=self.selection)
            raise RequestInvalid(
                f"the catalog has no tool {tool_id!r}; ids that come close: {', '.join(near.ids) or 'none'}. "
                "find_tools gives ids"
            )
        if refused := refusal_reason(self.selection, record):
            raise RequestInvalid(f"{record.tool_id} may not be used here: {refused}")
        return record
