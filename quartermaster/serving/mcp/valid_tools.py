"""What a server sends, with only the valid tools of its lists: the SDK refuses a whole page for one that is wrong."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Self

import mcp_types as types
from mcp.shared.message import SessionMessage
from mcp_types.methods import validate_server_result
from pydantic import ValidationError

_MAX_NAMED = 5
_MAX_NAME = 60  # characters
_logger = logging.getLogger("quartermaster.serving")


@asynccontextmanager
async def with_valid_tools(
    transport: AbstractAsyncContextManager[tuple[Any, Any]], server: str, version: Callable[[], str]
) -> AsyncIterator[tuple[Any, Any]]:
    """Yield a transport's streams; of tools that are not as `version` has them, each list only gives a warning.

    `version` is the protocol's, empty until it is agreed on.
    """
    async with transport as (received, sent):
        yield _Received(received, server, version), sent


@dataclass
class _Received:
    """The stream of a server's messages, as the SDK reads it."""

    stream: Any
    server: str
    version: Callable[[], str]

    @property
    def last_context(self) -> Any:
        """Return the sender's context variables, which the SDK restores for each message."""
        return getattr(self.stream, "last_context", None)

    async def __aenter__(self) -> Self:
        await self.stream.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.stream.__aexit__(*error)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        item = await anext(self.stream)
        version = self.version()
        if version and isinstance(item, SessionMessage) and isinstance(item.message, types.JSONRPCResponse):
            page = item.message.result
            if isinstance(page.get("tools"), list) and (tools := self._valid(page, version)) is not page["tools"]:
                return replace(item, message=item.message.model_copy(update={"result": {**page, "tools": tools}}))
        return item

    def _valid(self, page: dict[str, Any], version: str) -> list[Any]:
        """Return the valid tools of a page; all of them where the page is wrong in itself, which the SDK tells."""
        tools: list[Any] = page["tools"]
        if _is_valid(page, tools, version) or not _is_valid(page, [], version):
            return tools
        valid, names = [], []
        for tool in tools:
            if _is_valid(page, [tool], version):
                valid.append(tool)
            else:
                names.append(ascii(tool.get("name") if isinstance(tool, dict) else tool)[:_MAX_NAME])
        shown = ", ".join(names[:_MAX_NAMED]) + ", …" * (len(names) > _MAX_NAMED)
        wrong = "of the MCP server %r %d tools are not as MCP has them, and left out: %s"
        _logger.warning(wrong, self.server, len(names), shown)
        return valid


def _is_valid(page: dict[str, Any], tools: list[Any], version: str) -> bool:
    try:
        validate_server_result("tools/list", version, {**page, "tools": tools})
        types.ListToolsResult.model_validate({"tools": tools}, by_name=False)
    except ValidationError:
        return False
    return True
