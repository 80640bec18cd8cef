"""An open session with an upstream: its transport, its tools and its end."""

import logging
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import anyio
import httpx2
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import SubscriptionLost
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from router.serving.mcp.upstream import Upstream, UpstreamFailed

Definition = Mapping[str, Any]

_logger = logging.getLogger("router.serving")
# No real server has so many tools; this ends a list whose pages never end.
_MAX_TOOLS = 100_000
# A stream of notifications may be silent for long; the client bounds the time of a call.
_MAX_SILENCE_S = 300.0
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

    `ended` is set when the server has ended, or to end it; `closed` once the session is cleaned up; `stale` when the
    server's tools have changed since they were read.
    """

    client: Client
    ended: anyio.Event
    stale: _RepeatableEvent
    closed: anyio.Event = field(default_factory=anyio.Event)
    tools: Mapping[str, Definition] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Return the server's own name, which a build uses as the provider of its tools unless it has a label."""
        return self.client.server_info.name if self.client.server_info else "mcp"

    async def read_tools(self) -> None:
        """Read all pages of the server's tools. Raises MCPError, and UpstreamFailed if the pages never end."""
        tools: dict[str, Definition] = {}
        cursors: set[str] = set()
        cursor: str | None = None
        while True:
            page = await self.client.list_tools(cursor=cursor, cache_mode="bypass")
            tools |= {tool.name: tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in page.tools}
            cursor = page.next_cursor
            if cursor is None:
                self.tools = tools
                return
            if cursor in cursors or len(cursors) + len(tools) > _MAX_TOOLS:
                raise UpstreamFailed(f"the server's list of tools has no end: {len(tools):,} so far")
            cursors.add(cursor)

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

    async with AsyncExitStack() as stack:
        if upstream.url is None:
            transport: Any = _report_end(stdio_client(_parameters(upstream), errlog=sys.stderr), ended)
        else:
            timeout = httpx2.Timeout(upstream.timeout_s, read=max(_MAX_SILENCE_S, 2 * upstream.timeout_s))
            http = httpx2.AsyncClient(headers=dict(upstream.headers), auth=upstream.auth, timeout=timeout)
            transport = streamable_http_client(upstream.url, http_client=await stack.enter_async_context(http))
        client = Client(transport, read_timeout_seconds=upstream.timeout_s, message_handler=on_message)
        session = Session(await stack.enter_async_context(client), ended, stale)
        await session.read_tools()
        yield session


def _parameters(upstream: Upstream) -> StdioServerParameters:
    # Finds programs beside this Python even if its environment is not activated.
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH") or os.defpath))
    program, *arguments = upstream.command
    environment = {"PATH": path, **upstream.environment}
    return StdioServerParameters(command=program, args=arguments, env=environment, cwd=upstream.folder)


@asynccontextmanager
async def _report_end(transport: Any, ended: anyio.Event) -> AsyncIterator[tuple[Any, Any]]:
    """Yield a transport that sets `ended` when the other side ends; the client itself notices only at the next call."""
    async with transport as (reading, writing):
        yield _EndReportingStream(reading, ended), writing


class _EndReportingStream:
    """A stream of messages that sets `ended` after the last one."""

    def __init__(self, stream: Any, ended: anyio.Event) -> None:
        self._stream = stream
        self._ended = ended

    async def receive(self) -> Any:
        return await self._stream.receive()

    async def aclose(self) -> None:
        await self._stream.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._stream.__anext__()
        except (StopAsyncIteration, anyio.ClosedResourceError):
            self._ended.set()
            raise

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stream.__aexit__(kind, error, trace)
