"""An open session with an upstream: its transport, its tools, and when it ended."""

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
# No real server has so many tools; one that always gives another page has no end.
_MOST_TOOLS = 100_000
# A stream of notifications may be silent for long; what a call may take is bounded by the client.
_SILENCE_S = 300.0
_LISTEN_AGAIN_S = 5.0


class _Signal:
    """An event that can be waited for again and again; what comes before the wait counts as one."""

    def __init__(self) -> None:
        self._event = anyio.Event()

    def set(self) -> None:
        self._event.set()

    async def wait(self) -> None:
        await self._event.wait()
        self._event = anyio.Event()


@dataclass(slots=True)
class Session:
    """`ended` is set where the server ended, or to end it; `closed` once nothing of it is left. `stale` says that the
    server's tools changed since they were read."""

    client: Client
    ended: anyio.Event
    stale: _Signal
    closed: anyio.Event = field(default_factory=anyio.Event)
    tools: Mapping[str, Definition] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What the server calls itself, which a build takes for its tools' provider where it is given no label."""
        return self.client.server_info.name if self.client.server_info else "mcp"

    async def read_tools(self) -> None:
        """Ask for all pages of the server's tools. Raises MCPError, and UpstreamFailed where they have no end."""
        found: dict[str, Definition] = {}
        cursors: set[str] = set()
        cursor: str | None = None
        while True:
            page = await self.client.list_tools(cursor=cursor, cache_mode="bypass")
            found |= {tool.name: tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in page.tools}
            cursor = page.next_cursor
            if cursor is None:
                self.tools = found
                return
            if cursor in cursors or len(cursors) + len(found) > _MOST_TOOLS:
                raise UpstreamFailed(f"the server's list of tools has no end: {len(found):,} so far")
            cursors.add(cursor)

    async def listen(self) -> None:
        """Hear of changes where the protocol is of 2026: older servers say them unasked."""
        tools = self.client.server_capabilities.tools
        if self.client.protocol_version not in MODERN_PROTOCOL_VERSIONS or tools is None or not tools.list_changed:
            return
        while True:
            try:
                async with self.client.listen(tools_list_changed=True) as events:
                    self.stale.set()  # what changed before is not said again
                    async for _ in events:
                        self.stale.set()
            except (MCPError, SubscriptionLost, TimeoutError) as error:
                _logger.info("changes of its tools cannot be received for now: %s", error)
            await anyio.sleep(_LISTEN_AGAIN_S)


@asynccontextmanager
async def opened(upstream: Upstream) -> AsyncIterator[Session]:
    """A session with its tools read. A command's process ends with it, and all that the process started."""
    ended, stale = anyio.Event(), _Signal()

    async def heard(message: types.ServerNotification | Exception) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            stale.set()

    async with AsyncExitStack() as stack:
        if upstream.url is None:
            transport: Any = _watched(stdio_client(_parameters(upstream), errlog=sys.stderr), ended)
        else:
            timeout = httpx2.Timeout(upstream.timeout_s, read=max(_SILENCE_S, 2 * upstream.timeout_s))
            http = httpx2.AsyncClient(headers=dict(upstream.headers), auth=upstream.auth, timeout=timeout)
            transport = streamable_http_client(upstream.url, http_client=await stack.enter_async_context(http))
        client = Client(transport, read_timeout_seconds=upstream.timeout_s, message_handler=heard)
        session = Session(await stack.enter_async_context(client), ended, stale)
        await session.read_tools()
        yield session


def _parameters(upstream: Upstream) -> StdioServerParameters:
    # Programs that are installed beside this Python are found though the environment is not activated.
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH") or os.defpath))
    program, *arguments = upstream.command
    environment = {"PATH": path, **upstream.environment}
    return StdioServerParameters(command=program, args=arguments, env=environment, cwd=upstream.folder)


@asynccontextmanager
async def _watched(transport: Any, ended: anyio.Event) -> AsyncIterator[tuple[Any, Any]]:
    """A transport that says when the other side ended, which the client tells only who calls next."""
    async with transport as (reading, writing):
        yield _UntilEnd(reading, ended), writing


class _UntilEnd:
    """A stream of messages, as the client reads it, that sets `ended` behind the last."""

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
