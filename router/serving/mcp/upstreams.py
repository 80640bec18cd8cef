"""All upstreams together: which of them a tool is called at."""

import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import mcp_types as types
from anyio.abc import TaskGroup

from router.provider_formats import signature
from router.record import ToolRecord
from router.serving.mcp.arguments import problems
from router.serving.mcp.connection import Connection, OnTools
from router.serving.mcp.upstream import Upstream, UpstreamFailed

_logger = logging.getLogger("router.serving")


class Upstreams:
    """The servers that tools are called at. Each is started by the first call to it, and ends with `connected`."""

    def __init__(
        self, upstreams: Sequence[Upstream], tasks: TaskGroup, on_tools: OnTools | None, tell_first: bool
    ) -> None:
        """Internal: use `connected`."""
        self._connections = [Connection(one, tasks, on_tools, tell_first=tell_first) for one in upstreams]

    @property
    def names(self) -> tuple[str, ...]:
        """The servers' names, as they were given."""
        return tuple(connection.upstream.name for connection in self._connections)

    async def call(self, record: ToolRecord, arguments: Mapping[str, Any]) -> types.CallToolResult:
        """What the tool of a record answers at its own server, under the name that it has there.

        Raises UpstreamFailed where no server is connected for it, the arguments do not fit its schema (then nothing is
        sent), or no answer comes.
        """
        connection = await self._connection(record)
        if wrong := problems(record.input_schema, arguments):
            raise UpstreamFailed(
                f"the arguments of {record.tool_id} are wrong, so nothing was sent: {'; '.join(wrong)}. "
                f"Its signature is {signature(replace(record, name=record.tool_id))}"
            )
        return await connection.call(record.name, arguments)

    async def start(self) -> None:
        """Start all servers. One that does not start is a warning."""
        async with anyio.create_task_group() as tasks:
            for connection in self._connections:
                tasks.start_soon(self._start, connection)

    async def _start(self, connection: Connection) -> None:
        try:
            await connection.tools()
        except UpstreamFailed as error:
            _logger.warning("%s", error)

    async def _connection(self, record: ToolRecord) -> Connection:
        own = [connection for connection in self._connections if connection.serves(record)]
        # Where two servers share a label, the one that the build read it from.
        own.sort(key=lambda connection: connection.upstream.place != record.origin.file)
        if not own:
            connected = ", ".join(self.names) or "none"
            raise UpstreamFailed(
                f"{record.tool_id} cannot be called here: no MCP server is connected for the provider "
                f"{record.provider!r} (connected: {connected}). Call it yourself with the schema of "
                "describe_tool, or name its server to `quartermaster serve mcp` (--upstream, --catalog-folder)"
            )
        if len(own) == 1:
            return own[0]
        failed: UpstreamFailed | None = None
        alike: list[Connection] = []  # servers that one program runs (npx, uvx) share their place until they are open
        for connection in own:
            try:
                tools = await connection.tools()
            except UpstreamFailed as error:
                _logger.warning("%s", error)
                failed = failed or error
                continue
            if connection.label == record.provider:
                if record.name in tools:
                    return connection
                alike.append(connection)
        if failed or not alike:  # never at another that has a tool of this name
            raise failed or UpstreamFailed(f"none of {len(own)} MCP servers calls itself {record.provider!r}")
        return alike[-1]


@asynccontextmanager
async def connected(
    upstreams: Sequence[Upstream], on_tools: OnTools | None = None, *, at_once: bool = False
) -> AsyncIterator[Upstreams]:
    """The upstreams, for as long as they are needed; processes that they started end with it.

    `on_tools` is told when a server lists other tools than at first. `at_once` starts all of them now and tells what
    they list; one that does not start is a warning.
    """
    async with anyio.create_task_group() as tasks:
        servers = Upstreams(upstreams, tasks, on_tools, tell_first=at_once)
        if at_once:
            tasks.start_soon(servers.start)
        yield servers
        tasks.cancel_scope.cancel()
