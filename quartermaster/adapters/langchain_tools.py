"""A tool of the router's catalog as LangChain's agents run it."""

from typing import Any

from langchain_core.tools import BaseTool, ToolException
from pydantic import Field

from quartermaster.adapters import Call, as_text, call_tool, finish_now
from quartermaster.adapters.tool_search import ToolSearch
from router.errors import RequestInvalid


class CatalogTool(BaseTool):
    """A tool that `call` calls by its id. Arguments that it refuses are an error that the model reads.

    It is no StructuredTool, which would take a model's argument called `config` for its own.
    """

    search: ToolSearch = Field(exclude=True)
    call: Call = Field(exclude=True)
    handle_tool_error: Any = True

    def _run(self, /, **arguments: Any) -> str:
        return finish_now(self._called(arguments, "run the agent with ainvoke or astream"))

    async def _arun(self, /, **arguments: Any) -> str:
        return await self._called(arguments)

    async def _called(self, arguments: dict[str, Any], way_out: str | None = None) -> str:
        try:
            called = self.search.called(self.name, arguments)
            return as_text(await call_tool(self.call, called.tool_id, called.arguments, way_out))
        except RequestInvalid as error:
            raise ToolException(str(error)) from error
