"""An open session with an upstream: its lists, each read within the server's bounds."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import mcp_types as types
import msgspec
from mcp import Client, MCPError
from mcp_types.version import LATEST_MODERN_VERSION

from quartermaster.mcp_lists import with_mended_lists
from quartermaster.serving.mcp.transports import http_transport, stdio_transport
from quartermaster.serving.mcp.upstream import Upstream, UpstreamFailed

Definition = Mapping[str, Any]
_NO_HANDSHAKE = (types.UNSUPPORTED_PROTOCOL_VERSION, types.METHOD_NOT_FOUND)
_MODES = {"auto": "legacy", "2025": "legacy", "2026": LATEST_MODERN_VERSION}  # what the SDK calls them
_MAX_NAMED = 5  # of the tools that are left out
_logger = logging.getLogger("quartermaster.serving")


@dataclass(slots=True, eq=False)
class Session:
    """A session with an upstream, by the version `protocol`.

    `complete` says whether `tools` are all of the server's. `ended` is set when the server has ended, or to end it;
    `closed` once the session is cleaned up; `stale` when the server's tools have changed since they were read.
    """

    upstream: Upstream
    client: Client = field(init=False)
    ended: anyio.Event = field(default_factory=anyio.Event)
    stale: anyio.Event = field(default_factory=anyio.Event)
    closed: anyio.Event = field(default_factory=anyio.Event)
    tools: Mapping[str, Definition] = field(default_factory=dict)
    complete: bool = True
    protocol: str = ""

    @property
    def name(self) -> str:
        """Return the server's own name, which a build uses as the provider of its tools unless it has a label."""
        return self.client.server_info.name if self.client.server_info else "mcp"

    async def read_tools(self) -> None:
        """Read the server's tools, up to `max_tools` of them.

        Raises MCPError, and UpstreamFailed for a list that takes too many pages, bytes or seconds.
        """
        limits, tools, size, complete = self.upstream, dict[str, Definition](), 0, True
        with anyio.move_on_after(limits.timeout_s) as timer:
            async for tool in self._listed():
                if limits.offers and not limits.offers(tool.name):
                    continue
                if len(tools) >= limits.max_tools and tool.name not in tools:
                    most = "the MCP server %r lists more than %d tools (max_tools): the others are left out"
                    _logger.warning(most, limits.name, limits.max_tools)
                    complete = False
                    break
                tools[tool.name] = tool.model_dump(by_alias=True, exclude_none=True, mode="json")
                size += len(msgspec.json.encode(tools[tool.name]))
                if size > limits.max_list_bytes:
                    raise UpstreamFailed(f"its tools have more than {limits.max_list_bytes:,} bytes (max_list_bytes)")
        if timer.cancelled_caught:
            raise UpstreamFailed(f"its list of tools takes more than {limits.timeout_s:g} s (timeout_s)")
        self.tools, self.complete = tools, complete

    def valid(self, tools: list[Any], wrong: Collection[int]) -> list[Any]:
        """Return the tools of a page that are not wrong, and warn of the others, with their names."""
        first = [tools[number] for number in [*wrong][:_MAX_NAMED]]
        named = [ascii(tool.get("name") if isinstance(tool, dict) else tool)[:60] for tool in first]
        names = ", ".join(named) + ", …" * (len(wrong) > _MAX_NAMED)
        left_out = "of the MCP server %r %d tools are not as MCP has them, and left out: %s"
        _logger.warning(left_out, self.upstream.name, len(wrong), names)
        return [tool for number, tool in enumerate(tools) if number not in wrong]

    async def _listed(self) -> AsyncIterator[types.Tool]:
        cursors: set[str] = set()
        cursor: str | None = None
        for _ in range(self.upstream.max_pages):
            page = await self.client.list_tools(cursor=cursor, cache_mode="bypass")
            for tool in page.tools:
                yield tool
            cursor = page.next_cursor
            if cursor is None:
                return
            if cursor in cursors:
                break
            cursors.add(cursor)
        raise UpstreamFailed(
            f"the server's list of tools has no end: {len(cursors):,} pages (max_pages is {self.upstream.max_pages:,})"
        )


@asynccontextmanager
async def open_session(
    upstream: Upstream, ask: Callable[[Any], Awaitable[Any]] | None = None
) -> AsyncIterator[Session]:
    """Yield a session with its tools read. A command's process ends with it, including its child processes.

    Unless the upstream names its `protocol`, it is that of 2025 where the server has it: by that of 2026, a server
    cannot ask in the midst of a call. What it asks is answered by `ask`.
    """
    session, asking = Session(upstream), dict[str, Any]()
    if ask is not None and upstream.may_ask:
        asking["elicitation_callback"] = lambda _, params: ask(types.ElicitRequest(params=params))
        asking["sampling_callback"] = lambda _, params: ask(types.CreateMessageRequest(params=params))

    async def on_message(message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            session.stale.set()

    def client(mode: str) -> Client:
        session.ended = anyio.Event()
        transport = stdio_transport(upstream, session.ended) if upstream.url is None else http_transport(upstream)
        transport = with_mended_lists(transport, lambda: session.protocol, session.valid)
        timeout_s = upstream.timeout_s
        return Client(transport, mode=mode, read_timeout_seconds=timeout_s, message_handler=on_message, **asking)

    async with AsyncExitStack() as stack:
        try:
            session.client = await stack.enter_async_context(client(_MODES[upstream.protocol]))
        except Exception as error:  # exception groups of the transport
            cause = cause_of(error)
            if upstream.protocol != "auto" or not isinstance(cause, MCPError) or cause.code not in _NO_HANDSHAKE:
                raise
            session.client = await stack.enter_async_context(client("auto"))
        session.protocol = session.client.protocol_version
        await session.read_tools()
        yield session


def cause_of(error: BaseException) -> BaseException:
    """Return the first exception inside nested exception groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
