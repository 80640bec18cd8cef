"""All upstreams together: finds the one at which a tool is called."""

import json
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types as types
from anyio.abc import TaskGroup

from quartermaster.calling.argument_check import refused_arguments
from quartermaster.serving.mcp.change_reports import OnChange, OnTools
from quartermaster.serving.mcp.connection import Connection, MayClaim
from quartermaster.serving.mcp.pass_through import named_apart, with_unique_uris
from quartermaster.serving.mcp.results import prompt_result
from quartermaster.serving.mcp.upstream import Upstream, UpstreamFailed
from router.record import Kind, ToolRecord

_logger = logging.getLogger("quartermaster.serving")


class Upstreams:
    """The servers at which tools are called. Each starts at the first call to it, and ends with `connected`."""

    def __init__(
        self,
        upstreams: Sequence[Upstream],
        tasks: TaskGroup,
        on_tools: OnTools | None,
        report_first: bool,
        may_claim: MayClaim | None,
        on_change: OnChange | None,
        unique_uris: bool,
    ) -> None:
        """Internal: use `connected`."""
        self._connections = [
            Connection(upstream, tasks, on_tools, report_first=report_first, may_claim=may_claim, on_change=on_change)
            for upstream in upstreams
        ]
        self._unique_uris = unique_uris
        self.connections = named_apart(self._connections)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the servers, in the given order."""
        return tuple(connection.upstream.name for connection in self._connections)

    def serves(self, record: ToolRecord) -> bool:
        """Return whether a server is connected for a record's tool."""
        return any(connection.serves(record) for connection in self._connections)

    async def call(self, record: ToolRecord, arguments: Mapping[str, Any]) -> types.CallToolResult:
        """Return the result of calling a record's tool at its own server, under the name that it has there.

        A prompt is answered with its messages. Raises UpstreamFailed if no server is connected for it, the arguments do
        not fit its schema (then nothing is sent), or there is no answer.
        """
        connection = await self._connection(record)
        if wrong := refused_arguments(record, arguments):
            raise UpstreamFailed(wrong)
        if record.kind is Kind.PROMPT:
            result = await _prompt(connection, record.name, arguments)
        else:
            result = await connection.call(record.name, arguments)
        if not self._unique_uris:
            return result
        server = next(name for name, known in self.connections.items() if known is connection)
        return result.model_copy(update={"content": [with_unique_uris(server, block) for block in result.content]})

    async def start(self) -> None:
        """Start all servers. Logs a warning for each that does not start."""
        async with anyio.create_task_group() as tasks:
            for connection in self._connections:
                tasks.start_soon(self._start, connection)

    async def _start(self, connection: Connection) -> None:
        try:
            await connection.tools()
        except UpstreamFailed as error:
            _logger.warning("%s", error)

    async def _connection(self, record: ToolRecord) -> Connection:
        candidates = [connection for connection in self._connections if connection.serves(record)]
        # If servers share a label, prefer the one from which the build read the tool.
        candidates.sort(key=lambda connection: connection.upstream.place != record.origin.file)
        if not candidates:
            connected = ", ".join(self.names) or "none"
            missing = f"no MCP server is connected for the provider {record.provider!r} (connected: {connected})"
            if record.kind is Kind.PROMPT:
                raise UpstreamFailed(
                    f"the prompt {record.tool_id} cannot be read here: {missing}. Name its server to `quartermaster "
                    "serve mcp` (--upstream, --catalog-folder)"
                )
            raise UpstreamFailed(
                f"{record.tool_id} cannot be called here: {missing}. Call it yourself with the schema of "
                "describe_tool, or name its server to `quartermaster serve mcp` (--upstream, --catalog-folder; --calls "
                "for the HTTP APIs of OpenAPI documents)"
            )
        if len(candidates) == 1:
            return candidates[0]
        failed: UpstreamFailed | None = None
        # Servers that one program runs (npx, uvx) are told apart by the name that they report once they are open.
        same_label: list[Connection] = []
        for connection in candidates:
            try:
                names = await (connection.listed("prompts") if record.kind is Kind.PROMPT else connection.tools())
            except UpstreamFailed as error:
                _logger.warning("%s", error)
                failed = failed or error
                continue
            if connection.label == record.provider:
                if record.name in names:
                    return connection
                same_label.append(connection)
        if failed or not same_label:  # never call another server's tool of the same name
            raise failed or UpstreamFailed(f"none of {len(candidates)} MCP servers calls itself {record.provider!r}")
        return same_label[-1]


async def _prompt(connection: Connection, name: str, arguments: Mapping[str, Any]) -> types.CallToolResult:
    """Return the messages of a server's prompt. Raises UpstreamFailed where it has none of that name."""
    listed = await connection.listed("prompts")
    if name not in listed and len(listed) < connection.upstream.max_tools:
        raise UpstreamFailed(f"{connection} no longer offers the prompt {name!r}: search again, or rebuild the catalog")
    # The protocol has texts alone.
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in arguments.items()}
    return prompt_result(await connection.get_prompt(name, texts))


@asynccontextmanager
async def connected(
    upstreams: Sequence[Upstream],
    on_tools: OnTools | None = None,
    *,
    at_once: bool = False,
    may_claim: MayClaim | None = None,
    on_change: OnChange | None = None,
    unique_uris: bool = False,
) -> AsyncIterator[Upstreams]:
    """Yield the upstreams; the processes that they started end with this block.

    `on_tools` is called when a server's list of tools changes. `at_once` starts all servers now and reports their
    first lists too; logs a warning for each that does not start. `may_claim` says under which names servers without a
    configured provider may list tools; None permits any. `on_change` is told when resources or prompts change. With
    `unique_uris`, results name resources by the URIs that `server_names` makes.
    """
    async with anyio.create_task_group() as tasks:
        servers = Upstreams(upstreams, tasks, on_tools, at_once, may_claim, on_change, unique_uris)
        if at_once:
            tasks.start_soon(servers.start)
        yield servers
        tasks.cancel_scope.cancel()
