"""The router as an MCP server of three tools, for any transport."""

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import mcp_types as types
from anyio.to_thread import run_sync
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server

from quartermaster.calling import ApiCalls
from quartermaster.serving.mcp.client import CallingClient
from quartermaster.serving.mcp.definitions import CALL_TOOL, DEFINITIONS, INSTRUCTIONS
from quartermaster.serving.mcp.long_results import MAX_RESULT_CHARACTERS, LongResults
from quartermaster.serving.mcp.results import error_result
from quartermaster.serving.mcp.session import Definition
from quartermaster.serving.mcp.tools import Tools
from quartermaster.serving.mcp.upstream import Upstream
from quartermaster.serving.mcp.upstreams import Upstreams, connected, usable
from quartermaster.serving.profiles import CALLER, Caller, Callers
from quartermaster.serving.recent_answers import RecentAnswers
from router.distribution import version
from router.errors import QuartermasterError, SettingsInvalid
from router.router import Router
from router.selection.settings import Selection

_Context = ServerRequestContext[Any]

_logger = logging.getLogger("quartermaster.serving")
_NAMES = frozenset(tool.name for tool in DEFINITIONS)


def server(
    router: Router,
    upstreams: Sequence[Upstream] = (),
    *,
    selection: Selection | None = None,
    connect: bool = False,
    callers: Callers | None = None,
    profile: str | None = None,
    calls: ApiCalls | None = None,
    max_result_characters: int = MAX_RESULT_CHARACTERS,
) -> Server[Upstreams]:
    """Return the MCP server, for any transport. Tools that `selection` excludes are neither found nor called.

    `upstreams` are the servers at which tools are called; each starts at the first call to it. If one notifies that
    its tools changed, the router serves the new ones from then on. With `connect`, all upstreams start at once, and
    the router serves the tools that they list beside the catalog's others.

    `calls` are the HTTP APIs at which the tools of OpenAPI documents are called. Of a result of more than
    `max_result_characters` the model reads the beginning, and may read on.

    With `callers`, each message is answered within the profile of its token, which `http_app` checks; with `profile`
    too, as over stdio, every message within that profile.
    """

    @asynccontextmanager
    async def lifespan(_: Server[Upstreams]) -> AsyncIterator[Upstreams]:
        async with connected(upstreams, partial(serve_listed, router), at_once=connect) as servers:
            yield servers

    handlers = _Handlers(
        router, selection or Selection(), callers, profile, calls, LongResults(max_result_characters), RecentAnswers()
    )
    return Server(
        "quartermaster",
        version=version(),
        title="Quartermaster",
        instructions=INSTRUCTIONS,
        lifespan=lifespan,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
    )


@dataclass(frozen=True, slots=True)
class _Handlers:
    """What a server answers its clients' messages with; the fields are arguments of `server`."""

    router: Router
    selection: Selection
    callers: Callers | None
    profile: str | None
    calls: ApiCalls | None
    long_results: LongResults
    recent: RecentAnswers

    async def list_tools(self, context: _Context, _: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        may_call = self._caller_of(context).may_call
        return types.ListToolsResult(tools=[tool for tool in DEFINITIONS if may_call or tool.name != CALL_TOOL])

    async def call_tool(self, context: _Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            caller = self._caller_of(context)
            tools = Tools(
                caller,
                self.selection,
                self.calls,
                upstreams=context.lifespan_context,
                client=CallingClient(context),
                long_results=self.long_results,
                recent=self.recent,
                dialogue=_dialogue_of(context, caller),
            )
            result = await tools.call(params.name, params.arguments or {})
            name = params.name if params.name in _NAMES else "unknown tool"
            await caller.record(name, "failed" if result.is_error else "ok")
        except QuartermasterError as error:  # the profile is gone, or the call cannot be recorded
            _logger.error("%s", error)
            return error_result(f"the call failed: {error}")
        return result

    def _caller_of(self, context: _Context) -> Caller:
        if self.callers is None:
            return Caller(self.router)
        if self.profile is not None:
            return self.callers.of_profile(self.profile)
        if context.request is None:
            raise SettingsInvalid("a caller is known by the token of an HTTP request: name a profile otherwise")
        caller: Caller = context.request.scope[CALLER]  # the request guard has set it
        return caller


def _dialogue_of(context: _Context, caller: Caller) -> str | None:
    """Return what ties a call to the answers before it: the token, or the only client of a server over stdio.

    None over HTTP without profiles: there are no sessions, and nothing distinguishes the clients.
    """
    if caller.token is not None:
        return f"token {caller.token}"
    return "" if context.request is None else None


async def serve_listed(router: Router, source: str, definitions: Sequence[Definition]) -> None:
    """Serve the tools that a server lists in place of its earlier ones. Invalid ones are left out with a warning."""

    try:
        # A thousand tools take seconds, in which the other servers go on.
        await run_sync(lambda: router.replace(source, usable(definitions, source)))
    except QuartermasterError as error:
        _logger.warning("the tools of %r are not served as their MCP server lists them: %s", source, error)
