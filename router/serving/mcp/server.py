"""The router as an MCP server of three tools, for any transport."""

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial

import mcp_types as types
from anyio.to_thread import run_sync
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server

from router.distribution import version
from router.errors import QuartermasterError, SettingsInvalid
from router.router import Router
from router.selection import Selection
from router.serving.mcp.session import Definition
from router.serving.mcp.tools import DEFINITIONS, INSTRUCTIONS, Tools
from router.serving.mcp.upstream import Upstream
from router.serving.mcp.upstreams import connected
from router.tools.definitions import record_of

_Context = ServerRequestContext[Tools]

_logger = logging.getLogger("router.serving")


def server(
    router: Router, upstreams: Sequence[Upstream] = (), *, selection: Selection | None = None, connect: bool = False
) -> Server[Tools]:
    """The MCP server, for any transport. What `selection` does not admit is neither found nor called.

    `upstreams` are the servers that tools are called at, each started by the first call to it. Where one says that its
    tools changed, the router serves those from then on; with `connect`, all are started at once, and the router serves
    what they list beside the catalog's other tools.
    """

    @asynccontextmanager
    async def lifespan(_: Server[Tools]) -> AsyncIterator[Tools]:
        async with connected(upstreams, partial(_replace, router), at_once=connect) as servers:
            yield Tools(router, servers, selection or Selection())

    async def list_tools(_: _Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=list(DEFINITIONS))

    async def call_tool(context: _Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        return await context.lifespan_context.call(params.name, params.arguments)

    return Server(
        "quartermaster",
        version=version(),
        title="Quartermaster",
        instructions=INSTRUCTIONS,
        lifespan=lifespan,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def _replace(router: Router, source: str, definitions: Sequence[Definition]) -> None:
    """Serve the tools that a server lists, in place of those of its label before. One that cannot be used is left out,
    and a warning says why: the server's other tools are not to suffer."""
    usable = []
    for definition in definitions:
        try:
            record_of(definition, source)
            usable.append(definition)
        except SettingsInvalid as error:
            _logger.warning("a tool of %r is not served: %s", source, error)
    try:
        await run_sync(router.replace, source, usable)
    except QuartermasterError as error:
        _logger.warning("the tools of %r are not served as their MCP server lists them: %s", source, error)
