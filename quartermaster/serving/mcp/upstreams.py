"""All upstreams together: finds the one at which a tool is called."""

import json
import logging
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types as types

from quartermaster.calling.argument_check import fitting_arguments
from quartermaster.serving.mcp.client import CallingClient
from quartermaster.serving.mcp.connection import Connection, OnTools
from quartermaster.serving.mcp.results import prompt_result, with_note
from quartermaster.serving.mcp.session import Definition
from quartermaster.serving.mcp.upstream import Upstream, UpstreamFailed
from router.errors import SettingsInvalid
from router.record import Kind, ToolRecord
from router.tools.definitions.reading import record_of

_logger = logging.getLogger("quartermaster.serving")
_FIRST_LISTS_S = 10.0  # a client waits about 30 s for its server


class Upstreams:
    """The servers at which tools are called. Each starts at the first call to it, and ends with `connected`."""

    def __init__(self, connections: Sequence[Connection]) -> None:
        """Internal: use `connected`."""
        self.connections = connections

    async def call(
        self, record: ToolRecord, arguments: Mapping[str, Any], client: CallingClient | None = None
    ) -> types.CallToolResult:
        """Return the result of calling a record's tool at its own server, under the name that it has there.

        A prompt is answered with its messages. `client` gets the progress, and is asked what the server asks. Raises
        UpstreamFailed if no server is connected for it or there is no answer, and CallRefused if the arguments do not
        fit its schema, and cannot be mended.
        """
        connection = await self._connection(record)
        fitting, mended = fitting_arguments(record, arguments)
        if record.kind is not Kind.PROMPT:
            return with_note(await connection.call(record.name, fitting, client), mended)
        # Arguments of prompts are texts.
        texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in fitting.items()}
        return with_note(prompt_result(await connection.get_prompt(record.name, texts, client)), mended)

    async def _connection(self, record: ToolRecord) -> Connection:
        """Return the connection to the server of a record's tool. Raises UpstreamFailed."""
        candidates = [connection for connection in self.connections if connection.upstream.serves(record)]
        if not candidates:
            raise _not_connected(record, self.connections)
        if len(candidates) == 1:
            return candidates[0]
        # If servers share a label, prefer the one from which the build read the tool. Those that one program runs
        # (npx, uvx) report their names, so they are all asked: two that say the same cannot be told apart.
        candidates.sort(key=lambda connection: connection.upstream.place != record.origin.file)
        failed: UpstreamFailed | None = None
        claiming: list[Connection] = []
        for connection in candidates:
            try:
                if await connection.offers(record):
                    if connection.upstream.provider:
                        return connection
                    claiming.append(connection)
            except UpstreamFailed as error:
                _logger.warning("%s", error)
                failed = failed or error
        if len(claiming) == 1:
            return claiming[0]
        if claiming:
            raise UpstreamFailed(
                f"{record.tool_id} cannot be called: {len(claiming)} MCP servers that one program runs call themselves "
                f"{record.provider!r} and offer {record.name!r}: write a provider of its own at the [[source]] of each"
            )
        # Never call another server's tool of the same name.
        raise failed or UpstreamFailed(
            f"none of {len(candidates)} MCP servers calls itself {record.provider!r} and offers {record.name!r}: "
            "search again, or rebuild the catalog"
        )


def _not_connected(record: ToolRecord, connections: Sequence[Connection]) -> UpstreamFailed:
    names = ", ".join(connection.upstream.name for connection in connections) or "none"
    missing = f"no MCP server is connected for the provider {record.provider!r} (connected: {names})"
    options = "name its server to `quartermaster serve mcp` (--upstream, --catalog-folder"
    if record.kind is Kind.PROMPT:
        return UpstreamFailed(f"the prompt {record.tool_id} cannot be read here: {missing}. To read it, {options})")
    return UpstreamFailed(
        f"{record.tool_id} cannot be called here: {missing}. Call it yourself with the schema of describe_tool, or "
        f"{options}; --calls for the HTTP APIs of OpenAPI documents)"
    )


async def list_tools(upstreams: Sequence[Upstream]) -> dict[str, list[Definition]]:
    """Return the tools that servers list, by name, in the order of the servers, which are all asked at once.

    Logs a warning for each that fails, or that has not answered in ten seconds while others have.
    """
    listed: dict[str, list[Definition]] = {}
    waiting = [upstream.name for upstream in upstreams]

    async def ask(connection: Connection) -> None:
        name = connection.upstream.name
        try:
            listed[name] = usable((await connection.open()).tools.values(), name)
        except UpstreamFailed as error:
            _logger.warning("%s", error)
        waiting.remove(name)

    until = anyio.current_time() + _FIRST_LISTS_S
    async with anyio.create_task_group() as tasks:
        for upstream in upstreams:
            tasks.start_soon(ask, Connection(upstream, tasks))
        while waiting and (anyio.current_time() < until or not any(listed.values())):
            await anyio.sleep(0.02)
        if waiting:
            _logger.warning("served once they list their tools, which takes them long: %s", ", ".join(waiting))
        tasks.cancel_scope.cancel()
    return {upstream.name: listed[upstream.name] for upstream in upstreams if listed.get(upstream.name)}


def usable(definitions: Iterable[Definition], source: str) -> list[Definition]:
    """Return the definitions that can be served; logs a warning for each of the others."""
    found = []
    for definition in definitions:
        try:
            record_of(definition, source)
        except SettingsInvalid as error:
            _logger.warning("a tool of %r is not served: %s", source, error)
        else:
            found.append(definition)
    return found


@asynccontextmanager
async def connected(
    upstreams: Sequence[Upstream], on_tools: OnTools | None = None, *, at_once: bool = False
) -> AsyncIterator[Upstreams]:
    """Yield the upstreams; the processes that they started end with this block.

    `on_tools` is called when a server's list of tools changes. `at_once` starts all servers now and reports their
    first lists too; logs a warning for each that does not start.
    """

    async def start(connection: Connection) -> None:
        try:
            await connection.open()
        except UpstreamFailed as error:
            _logger.warning("%s", error)

    async with anyio.create_task_group() as tasks:
        servers = Upstreams([Connection(upstream, tasks, on_tools, report_first=at_once) for upstream in upstreams])
        for connection in servers.connections if at_once else ():
            tasks.start_soon(start, connection)
        yield servers
        tasks.cancel_scope.cancel()
