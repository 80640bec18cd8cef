"""All upstreams together: finds the one at which a tool is called."""

import json
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types as types

from quartermaster.calling.argument_check import refused_arguments
from quartermaster.serving.mcp.calling_client import CallingClient
from quartermaster.serving.mcp.connection import Connection, OnTools
from quartermaster.serving.mcp.pass_through import named_apart, with_unique_uris
from quartermaster.serving.mcp.results import prompt_result
from quartermaster.serving.mcp.upstream import Upstream, UpstreamFailed
from router.record import Kind, ToolRecord

_logger = logging.getLogger("quartermaster.serving")


class Upstreams:
    """The servers at which tools are called, by unique names. Each starts at the first call to it."""

    def __init__(self, connections: Sequence[Connection], *, unique_uris: bool) -> None:
        """Internal: use `connected`."""
        self.connections = named_apart(connections)
        self._unique_uris = unique_uris

    def serves(self, record: ToolRecord) -> bool:
        """Return whether a server is connected for a record's tool."""
        return any(connection.upstream.serves(record) for connection in self.connections.values())

    async def call(
        self, record: ToolRecord, arguments: Mapping[str, Any], client: CallingClient | None = None
    ) -> types.CallToolResult:
        """Return the result of calling a record's tool at its own server, under the name that it has there.

        A prompt is answered with its messages. `client` is told of progress, and asked what the server asks. Raises
        UpstreamFailed if no server is connected for it, the arguments do not fit its schema (then nothing is sent), or
        there is no answer.
        """
        server = await self._server(record)
        connection = self.connections[server]
        if wrong := refused_arguments(record, arguments):
            raise UpstreamFailed(wrong)
        if record.kind is Kind.PROMPT:
            result = await _prompt(connection, record.name, arguments, client)
        else:
            result = await connection.call(record.name, arguments, client)
        if not self._unique_uris:
            return result
        return result.model_copy(update={"content": [with_unique_uris(server, block) for block in result.content]})

    async def start(self) -> None:
        """Start all servers. Logs a warning for each that does not start."""

        async def start(connection: Connection) -> None:
            try:
                await connection.tools()
            except UpstreamFailed as error:
                _logger.warning("%s", error)

        async with anyio.create_task_group() as tasks:
            for connection in self.connections.values():
                tasks.start_soon(start, connection)

    async def _server(self, record: ToolRecord) -> str:
        """Return the name of the server of a record's tool."""
        candidates = [name for name, connection in self.connections.items() if connection.upstream.serves(record)]
        # If servers share a label, prefer the one from which the build read the tool.
        candidates.sort(key=lambda name: self.connections[name].upstream.place != record.origin.file)
        if not candidates:
            raise _not_connected(record, self.connections)
        if len(candidates) == 1:
            return candidates[0]
        failed: UpstreamFailed | None = None
        # Servers that one program runs (npx, uvx) are told apart by the name that they report once they are open.
        same_label: list[str] = []
        for name in candidates:
            connection = self.connections[name]
            try:
                listed = await (connection.listed("prompts") if record.kind is Kind.PROMPT else connection.tools())
            except UpstreamFailed as error:
                _logger.warning("%s", error)
                failed = failed or error
                continue
            if connection.label == record.provider:
                if record.name in listed:
                    return name
                same_label.append(name)
        if failed or not same_label:  # never call another server's tool of the same name
            raise failed or UpstreamFailed(f"none of {len(candidates)} MCP servers calls itself {record.provider!r}")
        return same_label[-1]


def _not_connected(record: ToolRecord, connections: Mapping[str, Connection]) -> UpstreamFailed:
    names = ", ".join(connections) or "none"
    missing = f"no MCP server is connected for the provider {record.provider!r} (connected: {names})"
    options = "name its server to `quartermaster serve mcp` (--upstream, --catalog-folder"
    if record.kind is Kind.PROMPT:
        return UpstreamFailed(f"the prompt {record.tool_id} cannot be read here: {missing}. To read it, {options})")
    return UpstreamFailed(
        f"{record.tool_id} cannot be called here: {missing}. Call it yourself with the schema of describe_tool, or "
        f"{options}; --calls for the HTTP APIs of OpenAPI documents)"
    )


async def _prompt(
    connection: Connection, name: str, arguments: Mapping[str, Any], client: CallingClient | None
) -> types.CallToolResult:
    """Return the messages of a server's prompt. Raises UpstreamFailed where it has none of that name."""
    listed = await connection.listed("prompts")
    if name not in listed and len(listed) < connection.upstream.max_tools:
        raise UpstreamFailed(f"{connection} no longer offers the prompt {name!r}: search again, or rebuild the catalog")
    # The protocol has texts alone.
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in arguments.items()}
    return prompt_result(await connection.get_prompt(name, texts, client))


@asynccontextmanager
async def connected(
    upstreams: Sequence[Upstream],
    on_tools: OnTools | None = None,
    *,
    at_once: bool = False,
    unique_uris: bool = False,
) -> AsyncIterator[Upstreams]:
    """Yield the upstreams; the processes that they started end with this block.

    `on_tools` is called when a server's list of tools changes. `at_once` starts all servers now and reports their
    first lists too; logs a warning for each that does not start. With `unique_uris`, results name resources by the
    URIs that `pass_through` makes.
    """
    async with anyio.create_task_group() as tasks:
        servers = Upstreams(
            [Connection(one, tasks, on_tools, report_first=at_once) for one in upstreams],
            unique_uris=unique_uris,
        )
        if at_once:
            tasks.start_soon(servers.start)
        yield servers
        tasks.cancel_scope.cancel()
