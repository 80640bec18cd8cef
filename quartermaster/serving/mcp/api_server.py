"""The HTTP APIs of OpenAPI documents, as one of the places at which `call_tool` calls tools."""

from collections.abc import Mapping
from typing import Any

import mcp_types as types

from quartermaster.calling import ApiCalls
from router.record import ToolRecord


class ApiServer:
    """Calls operations, and returns their results as MCP has them."""

    def __init__(self, calls: ApiCalls) -> None:
        self._calls = calls

    def serves(self, record: ToolRecord) -> bool:
        """Return whether a tool is of an API that the settings name."""
        return self._calls.serves(record)

    async def call(self, record: ToolRecord, arguments: Mapping[str, Any]) -> types.CallToolResult:
        """Return what an API answers. Raises CallRefused and CallFailed."""
        result = await self._calls.call(record, arguments)
        # The text is the whole answer: as structured content the model's client would hand it over twice.
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=result.text)], is_error=result.is_error
        )
