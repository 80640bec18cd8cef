"""What the toolsets of a router's tools share, and the toolset of all of them, deferred."""

import inspect
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import getitem
from typing import Any

import anyio.to_thread
from pydantic_ai import ModelRetry, RunContext
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from quartermaster.adapters import Call
from quartermaster.adapters.tool_search import ToolSearch
from router.errors import RequestInvalid
from router.provider_formats import Form, render
from router.record import ToolRecord
from router.router import Router
from router.selection import Selection
from router.selection.admission import refusal_reason

_ARGUMENTS = SchemaValidator(core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema()))


class CatalogToolset(AbstractToolset[object]):
    """What the toolsets share: definitions of records, and the way from a model's call to `call`."""

    def __init__(
        self, router: Router, call: Call, form: Form | str, selection: Selection | None, id: str | None
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
        """Return what `call` returns for a tool. A call that the router or `call` refuses is told to the model.

        A synchronous `call` runs in a thread, as pydantic-ai's own tools do.

        Raises:
            ModelRetry: RequestInvalid was raised.
            Exception: Whatever else `call` raises; it ends the run.
        """
        try:
            called = self.search.called(name, tool_args)
            if inspect.iscoroutinefunction(self._call):
                return await self._call(called.tool_id, called.arguments)
            result = await anyio.to_thread.run_sync(self._call, called.tool_id, called.arguments)
            return await result if inspect.isawaitable(result) else result
        except RequestInvalid as error:
            raise ModelRetry(str(error)) from error

    def rendered(self, records: Sequence[ToolRecord], *, deferred: bool = False) -> list[ToolDefinition]:
        """Return the definitions of records, in their order."""
        form = self.search.form
        rendered = render(records, form, cap=None, vendor_text=self.router.vendor_text)
        return [_definition(tool, form, deferred) for tool in rendered.tools]

    def tool(self, definition: ToolDefinition, ctx: RunContext[object]) -> ToolsetTool[object]:
        """Return a definition as a tool of a run."""
        return ToolsetTool(toolset=self, tool_def=definition, max_retries=ctx.max_retries, args_validator=_ARGUMENTS)


class DeferredToolset(CatalogToolset):
    """A toolset of all tools that the selection admits, deferred: `tool_search(router)` finds them.

    pydantic-ai sends the definitions of all deferred tools with each request to a model that has a tool search of its
    own. For more than some hundred tools take `RouterToolset(search=True)`, which sends none but those found.

    Args:
        router: Knows the tools.
        call: Calls a tool by id with its arguments, synchronously or not.
        form: The provider's format, whose rules hold for names and parameters.
        selection: Which tools there are; the router's own for None.
        id: The toolset's id, for durable execution.
    """

    def __init__(
        self,
        router: Router,
        call: Call,
        *,
        form: Form | str = Form.RESPONSES,
        selection: Selection | None = None,
        id: str | None = None,
    ) -> None:
        super().__init__(router, call, form, selection, id)
        self._served: tuple[object, ...] = ()
        self._definitions: list[ToolDefinition] = []

    async def get_tools(self, ctx: RunContext[object]) -> dict[str, ToolsetTool[object]]:
        """Return all tools, ordered by id."""
        served = (self.router.manifest, self.router.overlay)
        if served != self._served:
            self._definitions, self._served = await anyio.to_thread.run_sync(self._read), served
        return {definition.name: self.tool(definition, ctx) for definition in self._definitions}

    def _read(self) -> list[ToolDefinition]:
        selection = self.search.selection
        records = [record for record in self.router.tools if refusal_reason(selection, record) is None]
        return self.rendered(records, deferred=True)


def _definition(tool: Mapping[str, Any], form: Form, deferred: bool) -> ToolDefinition:
    named = tool.get("function", tool)
    schema: Any = reduce(getitem, form.spec.schema_path, tool)
    return ToolDefinition(
        name=named["name"],
        description=named.get("description"),
        parameters_json_schema=schema,
        defer_loading=deferred,
    )
