"""An open session with an upstream: its lists, each read within the server's bounds."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import anyio
import mcp_types as types
import msgspec
from mcp import Client, MCPError

from quartermaster.serving.mcp.transports import http_transport, stdio_transport
from quartermaster.serving.mcp.upstream import Upstream, UpstreamFailed

Definition = Mapping[str, Any]
ListName = Literal["tools", "resources", "resource templates", "prompts"]

KEYS: Mapping[ListName, str] = {
    "tools": "name",
    "resources": "uri",
    "resource templates": "uriTemplate",
    "prompts": "name",
}
_NO_HANDSHAKE = (types.UNSUPPORTED_PROTOCOL_VERSION, types.METHOD_NOT_FOUND)
_logger = logging.getLogger("quartermaster.serving")


@dataclass(slots=True, eq=False)
class Session:
    """A session with an upstream.

    `complete` says whether `tools` are all of the server's. `ended` is set when the server has ended, or to end it;
    `closed` once the session is cleaned up; `stale` when the server's tools have changed since they were read.
    """

    upstream: Upstream
    client: Client
    ended: anyio.Event
    stale: anyio.Event = field(default_factory=anyio.Event)
    closed: anyio.Event = field(default_factory=anyio.Event)
    tools: Mapping[str, Definition] = field(default_factory=dict)
    complete: bool = True

    @property
    def name(self) -> str:
        """Return the server's own name, which a build uses as the provider of its tools unless it has a label."""
        return self.client.server_info.name if self.client.server_info else "mcp"

    async def read_tools(self) -> None:
        """Read the server's tools. Raises as `listed` does."""
        self.tools, self.complete = await self._read("tools")

    async def listed(self, what: ListName) -> Mapping[str, Definition]:
        """Return the items of a list by their name or URI, up to `max_tools` of them.

        Raises MCPError, and UpstreamFailed for a list that takes too many pages, bytes or seconds.
        """
        offered = self.client.server_capabilities
        if (offered.prompts if what == "prompts" else offered.resources) is None:
            return {}
        return (await self._read(what))[0]

    async def _read(self, what: ListName) -> tuple[dict[str, Definition], bool]:
        """Return the items of a list, and whether they are all."""
        limits, items, size = self.upstream, dict[str, Definition](), 0
        name = what.replace(" ", "_")
        read = getattr(self.client, f"list_{name}")
        cursors: set[str] = set()
        cursor: str | None = None
        with anyio.move_on_after(limits.timeout_s):
            for _ in range(limits.max_pages):
                page = await read(cursor=cursor, cache_mode="bypass")
                for row in getattr(page, name):
                    definition = row.model_dump(by_alias=True, exclude_none=True, mode="json")
                    key = definition[KEYS[what]]
                    if len(items) >= limits.max_tools and key not in items:
                        _logger.warning(
                            "the MCP server %r lists more than %d %s (max_tools): the others are left out",
                            limits.name,
                            limits.max_tools,
                            what,
                        )
                        return items, False
                    items[key] = definition
                    size += len(msgspec.json.encode(definition))
                    if size > limits.max_list_bytes:
                        raise UpstreamFailed(
                            f"its {what} have more than {limits.max_list_bytes:,} bytes (max_list_bytes)"
                        )
                cursor = page.next_cursor
                if cursor is None:
                    return items, True
                if cursor in cursors:
                    break
                cursors.add(cursor)
            pages = f"{len(cursors):,} pages with {len(items):,} {what} so far (max_pages is {limits.max_pages:,})"
            raise UpstreamFailed(f"the server's list of {what} has no end: {pages}")
        raise UpstreamFailed(f"its list of {what} takes more than {limits.timeout_s:g} s (timeout_s)")


@asynccontextmanager
async def open_session(
    upstream: Upstream, ask: Callable[[Any], Awaitable[Any]] | None = None
) -> AsyncIterator[Session]:
    """Yield a session with its tools read. A command's process ends with it, including its child processes.

    It is one of the 2025 protocol where the server has that: by that of 2026, a server cannot ask during a call. What
    it asks is answered by `ask`.
    """
    ended, stale = anyio.Event(), list[Session]()

    async def on_message(message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            for session in stale:
                session.stale.set()

    async def on_elicitation(_: Any, params: Any) -> Any:
        return await ask(types.ElicitRequest(params=params)) if ask else None

    async def on_sampling(_: Any, params: Any) -> Any:
        return await ask(types.CreateMessageRequest(params=params)) if ask else None

    def client(mode: str) -> Client:
        return Client(
            stdio_transport(upstream, ended) if upstream.url is None else http_transport(upstream),
            mode=mode,
            read_timeout_seconds=upstream.timeout_s,
            message_handler=on_message,
            elicitation_callback=on_elicitation if ask and upstream.may_ask else None,
            sampling_callback=on_sampling if ask and upstream.may_ask else None,
        )

    async with AsyncExitStack() as stack:
        try:
            connected = await stack.enter_async_context(client("legacy"))
        except Exception as error:  # exception groups of the transport
            cause = cause_of(error)
            if not isinstance(cause, MCPError) or cause.code not in _NO_HANDSHAKE:
                raise
            ended = anyio.Event()
            connected = await stack.enter_async_context(client("auto"))
        session = Session(upstream, connected, ended)
        stale.append(session)
        await session.read_tools()
        yield session


def cause_of(error: BaseException) -> BaseException:
    """Return the first exception inside nested exception groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
