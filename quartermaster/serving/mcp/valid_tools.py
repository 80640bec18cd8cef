"""What a server sends, with only the valid tools of its lists: the SDK refuses a whole page for one that is wrong."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import mcp_types as types
from anyio.abc import ObjectReceiveStream
from mcp_types.methods import validate_server_result
from pydantic import ValidationError

_MAX_NAMED = 5
_logger = logging.getLogger("quartermaster.serving")


@asynccontextmanager
async def with_valid_tools(
    transport: AbstractAsyncContextManager[tuple[Any, Any]], server: str, version: Callable[[], str]
) -> AsyncIterator[tuple[Any, Any]]:
    """Yield a transport's streams; tools that are not as `version` of the protocol has them only give a warning.

    `version` is empty until it is agreed on.
    """
    async with transport as (received, sent):
        yield _Received(received, server, version), sent


@dataclass
class _Received(ObjectReceiveStream[Any]):
    stream: Any
    server: str
    version: Callable[[], str]

    async def receive(self) -> Any:
        item = await self.stream.receive()
        page = getattr(getattr(item, "message", None), "result", None)
        if not self.version() or not isinstance(page, dict) or not isinstance(page.get("tools"), list):
            return item
        # A page that is wrong in itself is for the SDK to refuse.
        if self._is_valid(page, page["tools"]) or not self._is_valid(page, []):
            return item
        return replace(item, message=item.message.model_copy(update={"result": self._with_valid(page)}))

    async def aclose(self) -> None:
        await self.stream.aclose()

    def _with_valid(self, page: dict[str, Any]) -> dict[str, Any]:
        valid, wrong = list[Any](), list[Any]()
        for tool in page["tools"]:
            (valid if self._is_valid(page, [tool]) else wrong).append(tool)
        named = [ascii(tool.get("name") if isinstance(tool, dict) else tool)[:60] for tool in wrong[:_MAX_NAMED]]
        left_out = "of the MCP server %r %d tools are not as MCP has them, and left out: %s"
        _logger.warning(left_out, self.server, len(wrong), ", ".join(named) + ", …" * (len(wrong) > _MAX_NAMED))
        return {**page, "tools": valid}

    def _is_valid(self, page: dict[str, Any], tools: list[Any]) -> bool:
        try:
            validate_server_result("tools/list", self.version(), {**page, "tools": tools})
            types.ListToolsResult.model_validate({"tools": tools}, by_name=False)
        except ValidationError:
            return False
        return True
