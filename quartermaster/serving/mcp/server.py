"""The router as an MCP server of three tools, for any transport."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import mcp_types as types
from anyio import create_task_group
from anyio.to_thread import run_sync
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from quartermaster.calling import ApiCalls
from quartermaster.serving.mcp.api_server import ApiServer
from quartermaster.serving.mcp.calling_client import CALLING_CLIENT, CallingClient
from quartermaster.serving.mcp.connection import RUN_TIME_ORIGIN
from quartermaster.serving.mcp.definitions import CALL_TOOL, DEFINITIONS, INSTRUCTIONS
from quartermaster.serving.mcp.list_changes import List, ListChanges
from quartermaster.serving.mcp.pass_through import PassThrough
from quartermaster.serving.mcp.results import error_result
from quartermaster.serving.mcp.session import Definition
from quartermaster.serving.mcp.suspended_calls import Result, SuspendedCalls
from quartermaster.serving.mcp.tools import Tools
from quartermaster.serving.mcp.upstream import Upstream
from quartermaster.serving.mcp.upstream_lists import UpstreamLists
from quartermaster.serving.mcp.upstreams import connected
from quartermaster.serving.profiles import CALLER, Caller, Callers
from router.distribution import version
from router.errors import QuartermasterError, RequestInvalid, SettingsInvalid
from router.router import Router
from router.selection import Selection
from router.snapshot.facets import normalize_name
from router.tools.definitions import record_of
from router.tools.definitions.raw_tool import compose_tool_id

_Context = ServerRequestContext[Any]

_logger = logging.getLogger("quartermaster.serving")
_NAMES = frozenset(tool.name for tool in DEFINITIONS)


@dataclass(frozen=True, slots=True)
class Served:
    """What a running server answers with: its tools, the calls that wait for an answer, the upstreams' lists."""

    tools: Tools
    suspended: SuspendedCalls
    lists: PassThrough


def server(
    router: Router,
    upstreams: Sequence[Upstream] = (),
    *,
    selection: Selection | None = None,
    connect: bool = False,
    callers: Callers | None = None,
    profile: str | None = None,
    calls: ApiCalls | None = None,
    resources: bool = False,
    prompts: bool = False,
) -> Server[Served]:
    """Return the MCP server, for any transport. Tools that `selection` excludes are neither found nor called.

    `upstreams` are the servers at which tools are called; each starts at the first call to it. If one notifies that
    its tools changed, the router serves the new ones from then on. With `connect`, all upstreams start at once, and
    the router serves the tools that they list beside the catalog's others.

    `calls` are the HTTP APIs at which the tools of OpenAPI documents are called.

    With `callers`, each message is answered within the profile of its token, which `http_app` checks; with `profile`
    too, as over stdio, every message within that profile.

    With `resources` and `prompts`, those of the upstreams are listed and read through this server.
    """
    lists: tuple[List, ...] = ("tools", *(("resources",) if resources else ()), *(("prompts",) if prompts else ()))
    changes = ListChanges(lists)

    async def on_change(what: str) -> None:
        changes.tell("prompts" if what == "prompts" else "resources")

    @asynccontextmanager
    async def lifespan(_: Server[Served]) -> AsyncIterator[Served]:
        may_claim = partial(_may_claim, router, upstreams)
        async with (
            connected(
                upstreams,
                partial(_serve_listed, router),
                at_once=connect,
                may_claim=may_claim,
                on_change=on_change,
                unique_uris=resources,
            ) as servers,
            create_task_group() as tasks,
        ):
            tasks.start_soon(changes.run)
            if callers is not None:
                tasks.start_soon(changes.watch, callers)
            allowed = selection or Selection()
            apis = [ApiServer(calls)] if calls else []
            yield Served(
                Tools(router, servers, allowed, servers=apis),
                SuspendedCalls(tasks),
                PassThrough(router, allowed, servers.connections),
            )
            tasks.cancel_scope.cancel()

    def caller_of(context: _Context) -> Caller:
        if callers is None:
            return Caller(router)
        if profile is not None:
            return callers.of_profile(profile)
        if context.request is None:
            raise SettingsInvalid("a caller is known by the token of an HTTP request: name a profile otherwise")
        caller: Caller = context.request.scope[CALLER]  # the request guard has set it
        return caller

    async def list_tools(context: _Context, _: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        changes.note(context)
        may_call = caller_of(context).may_call
        return types.ListToolsResult(tools=[tool for tool in DEFINITIONS if may_call or tool.name != CALL_TOOL])

    async def call_tool(
        context: _Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        try:
            caller = caller_of(context)
            tools = context.lifespan_context.tools.of(caller, _dialogue_of(context, caller))
            run = partial(_recorded, tools, caller, params)
            if params.name == CALL_TOOL:
                return await _answer(context, caller, params, run)  # type: ignore[return-value]
            return await run()
        except RequestInvalid as error:  # the client answers a question that is not open
            return error_result(f"the call failed: {error}")
        except QuartermasterError as error:  # the profile is gone, or the call cannot be recorded
            _logger.error("%s", error)
            return error_result(f"the call failed: {error}")

    through = UpstreamLists(caller_of, lambda context: context.lifespan_context.lists, _answer, changes.note)
    return Server(
        "quartermaster",
        version=version(),
        title="Quartermaster",
        instructions=INSTRUCTIONS,
        lifespan=lifespan,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_subscriptions_listen=changes.listen,
        on_list_resources=through.resources if resources else None,
        on_list_resource_templates=through.templates if resources else None,
        on_read_resource=through.read if resources else None,
        on_list_prompts=through.prompts if prompts else None,
        on_get_prompt=through.prompt if prompts else None,
    )


async def _recorded(tools: Tools, caller: Caller, params: types.CallToolRequestParams) -> types.CallToolResult:
    result = await tools.call(params.name, params.arguments)
    name = params.name if params.name in _NAMES else "unknown tool"
    await caller.record(name, "failed" if result.is_error else "ok")
    return result


async def _answer(
    context: _Context, caller: Caller, params: Any, run: Callable[[], Awaitable[Result]]
) -> Result | types.InputRequiredResult:
    """Return the result of a call during which its client may be told of progress and asked."""
    if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
        owner = (caller.profile.name if caller.profile else None, caller.token)
        suspended: SuspendedCalls = context.lifespan_context.suspended
        return await suspended.answer(context, owner, params, run, _dialogue_of(context, caller))
    token = CALLING_CLIENT.set(CallingClient(context, owner=_dialogue_of(context, caller)))
    try:
        return await run()
    finally:
        CALLING_CLIENT.reset(token)


def _dialogue_of(context: _Context, caller: Caller) -> str | None:
    """Return what ties a call to the answers before it: the token, or the only client of a server over stdio.

    None over HTTP without profiles: there are no sessions, and the clients cannot be told apart.
    """
    if caller.token is not None:
        return f"token {caller.token}"
    return "" if context.request is None else None


def _may_claim(router: Router, upstreams: Sequence[Upstream], upstream: Upstream, name: str) -> bool:
    """Return whether a server may list tools under the name that it gives itself: it must not take another's place."""
    prefix = _id_prefix(name)
    if any(other.provider and _id_prefix(other.provider) == prefix for other in upstreams):
        return False
    served = router.tools
    taken = [provider for provider in router.providers if provider and _id_prefix(provider) == prefix]
    records = (served[place] for provider in taken for place in served.places_of(provider))
    return all(upstream.serves(record) or record.origin.file == RUN_TIME_ORIGIN for record in records)


def _id_prefix(provider: str) -> str:
    """Return what the ids of a provider's tools begin with, as filters compare it: "aws s3" and "AWS-S3" share it."""
    return normalize_name(compose_tool_id(provider.strip(), ""))


async def _serve_listed(router: Router, source: str, definitions: Sequence[Definition]) -> None:
    """Serve the tools that a server lists in place of its earlier ones. Invalid ones are left out with a warning."""

    def replace() -> None:
        router.replace(source, list(_usable(source, definitions)))

    try:
        await run_sync(replace)  # a thousand tools take seconds, in which the other servers go on
    except QuartermasterError as error:
        _logger.warning("the tools of %r are not served as their MCP server lists them: %s", source, error)


def _usable(source: str, definitions: Sequence[Definition]) -> Iterator[Definition]:
    for definition in definitions:
        try:
            record_of(definition, source)
        except SettingsInvalid as error:
            _logger.warning("a tool of %r is not served: %s", source, error)
        else:
            yield definition
