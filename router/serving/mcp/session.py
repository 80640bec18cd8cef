"""An open session with an upstream: its transport, its tools and its end."""

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import mcp_types as types
import msgspec
from mcp import Client, MCPError
from mcp.client.subscriptions import SubscriptionLost
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from router.serving.mcp.transports import http_transport, stdio_transport
from router.serving.mcp.upstream import Upstream, UpstreamFailed

Definition = Mapping[str, Any]

_logger = logging.getLogger("router.serving")
_RETRY_LISTEN_S = 5.0


class _RepeatableEvent:
    """An event that resets when awaited; several sets before a wait count as one."""

    def __init__(self) -> None:
        self._event = anyio.Event()

    def set(self) -> None:
        self._event.set()

    async def wait(self) -> None:
        await self._event.wait()
        self._event = anyio.Event()


@dataclass(slots=True)
class Session:
    """A session with an upstream.

    `complete` says whether `tools` are all of the server's. `ended` is set when the server has ended, or to end it;
    `closed` once the session is cleaned up; `stale` when the server's tools have changed since they were read.
    """

    client: Client
    upstream: Upstream
    ended: anyio.Event
    stale: _RepeatableEvent
    closed: anyio.Event = field(default_factory=anyio.Event)
    tools: Mapping[str, Definition] = field(default_factory=dict)
    complete: bool = True

    @property
    def name(self) -> str:
        """Return the server's own name, which a build uses as the provider of its tools unless it has a label."""
        return self.client.server_info.name if self.client.server_info else "mcp"

    async def read_tools(self) -> None:
        """Read the pages of the server's tools, up to `max_tools` of them.

        Raises MCPError, and UpstreamFailed for a list that takes too many pages, bytes or seconds.
        """
        limits = self.upstream
        try:
            with anyio.fail_after(limits.timeout_s):
                tools, self.complete = await self._read_pages()
        except TimeoutError:
            raise UpstreamFailed(f"its list of tools takes more than {limits.timeout_s:g} s (timeout_s)") from None
        if not self.complete:
            _logger.warning(
                "the MCP server %r lists more than %s tools (max_tools): the first %s serve, the others are left out",
                limits.name,
                f"{limits.max_tools:,}",
                f"{len(tools):,}",
            )
        self.tools = tools

    async def _read_pages(self) -> tuple[dict[str, Definition], bool]:
        """Return the tools, and whether they are all."""
        limits, tools, size = self.upstream, dict[str, Definition](), 0
        cursors: set[str] = set()
        cursor: str | None = None
        for _ in range(limits.max_pages):
            page = await self.client.list_tools(cursor=cursor, cache_mode="bypass")
            for tool in page.tools:
                if len(tools) >= limits.max_tools and tool.name not in tools:
                    return tools, False
                tools[tool.name] = definition = tool.model_dump(by_alias=True, exclude_none=True, mode="json")
                size += len(msgspec.json.encode(definition))
                if size > limits.max_list_bytes:
                    raise UpstreamFailed(f"its tools have more than {limits.max_list_bytes:,} bytes (max_list_bytes)")
            cursor = page.next_cursor
            if cursor is None:
                return tools, True
            if cursor in cursors:
                break
            cursors.add(cursor)
        pages = f"{len(cursors):,} pages with {len(tools):,} tools so far (max_pages is {limits.max_pages:,})"
        raise UpstreamFailed(f"the server's list of tools has no end: {pages}")

    async def listen(self) -> None:
        """Subscribe to changes of the tools under the 2026 protocol; older servers notify without a subscription."""
        capability = self.client.server_capabilities.tools
        modern = self.client.protocol_version in MODERN_PROTOCOL_VERSIONS
        if not modern or capability is None or not capability.list_changed:
            return
        while True:
            try:
                async with self.client.listen(tools_list_changed=True) as events:
                    self.stale.set()  # changes before the subscription are not notified
                    async for _ in events:
                        self.stale.set()
            except (MCPError, SubscriptionLost, TimeoutError) as error:
                _logger.info("changes of its tools cannot be received for now: %s", error)
            await anyio.sleep(_RETRY_LISTEN_S)


@asynccontextmanager
async def open_session(upstream: Upstream) -> AsyncIterator[Session]:
    """Yield a session with its tools read. A command's process ends with it, including its child processes."""
    ended, stale = anyio.Event(), _RepeatableEvent()

    async def on_message(message: types.ServerNotification | Exception) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            stale.set()

    transport: Any = http_transport(upstream) if upstream.url is not None else stdio_transport(upstream, ended)
    client = Client(transport, read_timeout_seconds=upstream.timeout_s, message_handler=on_message)
    async with client:
        session = Session(client, upstream, ended, stale)
        await session.read_tools()
        yield session
