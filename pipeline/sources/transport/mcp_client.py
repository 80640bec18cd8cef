"""List the tools and prompts of a live MCP server, over stdio or streamable HTTP."""

import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from pydantic import ValidationError

from pipeline.errors import RecordRejected, RunAborted, Unavailable
from pipeline.settings import LimitsSettings, SourceSettings
from pipeline.sources.formats.document import DEFAULT_LIMITS
from pipeline.sources.formats.function_schema import listed_tool
from pipeline.sources.formats.mcp import read_prompts
from pipeline.sources.naming import location, redacted
from pipeline.sources.provider_label import label_of_server
from pipeline.sources.transport import commands
from pipeline.sources.transport.access import Access, resolve_access
from quartermaster.validation import describe_requirement
from router.tools.definitions.nesting import ListedDefinition
from router.tools.definitions.raw_tool import RawTool

if TYPE_CHECKING:
    from pipeline.sources.transport.http import Allowance
    from pipeline.sources.transport.oauth import Authentication

# They log addresses with their queries, and the answers of token servers.
_LOGGERS = ("httpx2", "httpcore2", "mcp")


def read_live(
    source: SourceSettings, folder: Path, limits: LimitsSettings = DEFAULT_LIMITS
) -> Iterator[RawTool | RecordRejected]:
    """Yield the tools of a running server, all its pages, then its prompts where the source asks for them.

    A command runs in `folder`, the catalog's.

    Raises Unavailable where it does not start, answer or end, which may pass, else RunAborted.
    """
    where, access = location(source), resolve_access(source)
    auth = None
    if source.oauth is not None:
        from pipeline.sources.transport.oauth import authentication  # with the SDK, which takes 2 s to import

        auth = authentication(source, access, folder)
    listed = list_server(source, folder, access, auth, limits)
    label = label_of_server(listed.server) if listed.server else None
    for index, row in enumerate(listed.tools):
        yield listed_tool(ListedDefinition(f"/tools/{index}", row, label), where)
    prompts = [(f"/prompts/{index}", row) for index, row in enumerate(listed.prompts)]
    yield from read_prompts(prompts, where, label)


@dataclass(frozen=True, slots=True)
class Listed:
    """What a server lists, and the name that it gives itself."""

    server: str | None
    tools: list[dict[str, Any]]
    prompts: list[dict[str, Any]]


def list_server(
    source: SourceSettings,
    folder: Path,
    access: Access,
    auth: "Authentication | None" = None,
    limits: LimitsSettings = DEFAULT_LIMITS,
) -> Listed:
    """Return what a source's server lists, with `auth` where it needs a token. Raises as `read_live`."""
    from pipeline.sources.transport.http import Allowance, finished  # with httpx, only where a live server is read

    where = location(source)
    program = commands.program(source, folder) if source.command else None
    allowance = Allowance(limits, f"the MCP server {where!r}")
    try:
        with _quiet():
            listed = finished(_within(allowance, source, access, auth, program, folder))
    except Exception as error:  # noqa: BLE001 - the client raises groups of whatever its transport met
        cause = _cause(error)
        if allowance.failure is not None:
            raise allowance.failure from None
        if (failure := auth.failure if auth is not None else None) or isinstance(cause, RunAborted):
            raise failure or type(cause)(f"the MCP server {where!r} could not be read: {cause}") from None
        status = allowance.status if allowance.status >= 400 else None
        kind = Unavailable if _may_pass(cause, status) else RunAborted
        secrets = [*access.secrets, *(auth.secrets if auth is not None else ())]
        why = redacted(_words(cause), source, secrets) + (f" (HTTP {status})" if status else "")
        # Without its cause, which quotes what it was asked with.
        raise kind(f"the MCP server {where!r} could not be read: {why}{_hint(source, status)}") from None
    if listed is None:
        late = Unavailable(f"the MCP server {where!r} did not list its tools within {source.timeout_s:g} s")
        raise allowance.failure or late
    return listed


async def _within(allowance: "Allowance", source: SourceSettings, *how: Any) -> Listed | None:
    """Return what a server lists; None where it takes too long, or says more than it is allowed."""
    with anyio.move_on_after(source.timeout_s) as allowance.scope:
        return await _introspect(allowance, source, *how)
    return None


async def _introspect(
    allowance: "Allowance", source: SourceSettings, access: Access, auth: Any, program: str | None, folder: Path
) -> Listed:
    import httpx2
    from mcp import Client, StdioServerParameters  # 2 s to import: only where a live server is read
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamable_http_client

    from pipeline.sources.transport.http import Reach, Transport

    async with AsyncExitStack() as stack:
        if program is not None:
            arguments, env = list((source.command or ())[1:]), {**commands.minimal_environment(), **access.env}
            target: Any = stdio_client(StdioServerParameters(command=program, args=arguments, env=env, cwd=folder))
        else:
            # Authorization servers, which the server names, are held to the same addresses.
            reach = Reach(f"the MCP server {location(source)!r}", httpx2.URL(access.url).host, source.private_hosts)
            client = httpx2.AsyncClient(
                transport=Transport(reach),
                timeout=source.timeout_s,
                headers=access.headers,
                auth=auth,
                event_hooks={"response": [allowance.bound]},
            )
            client.headers["Accept-Encoding"] = "identity"
            target = streamable_http_client(
                access.url,
                http_client=await stack.enter_async_context(client),
                max_sse_event_size=allowance.limits.message_bytes,
            )
        session = await stack.enter_async_context(Client(target, read_timeout_seconds=source.timeout_s))
        name = session.server_info.name if session.server_info else None
        tools = [tool async for tool in _pages(session.list_tools, "tools", allowance.limits)]
        prompts = []
        if source.prompts and session.server_capabilities.prompts:
            prompts = [prompt async for prompt in _pages(session.list_prompts, "prompts", allowance.limits)]
        return Listed(name, tools, prompts)


async def _pages(list_page: Callable[..., Any], kind: str, limits: LimitsSettings) -> AsyncIterator[dict[str, Any]]:
    seen: set[str] = set()
    cursor = None
    count = 0
    for _ in range(limits.pages):
        page = await list_page(cursor=cursor)
        rows = getattr(page, kind)
        count += len(rows)
        if count > limits.tools:
            raise RunAborted(f"the MCP server lists more than the {limits.tools:,} {kind} of limits.tools")
        for row in rows:
            yield row.model_dump(by_alias=True, exclude_none=True, mode="json")
        cursor = page.next_cursor
        if cursor is None:
            return
        if cursor in seen:
            raise RunAborted(f"the MCP server gave the cursor {cursor[:100]!r} twice: its list of {kind} has no end")
        seen.add(cursor)
    raise RunAborted(
        f"the MCP server answered {limits.pages:,} pages and more, the limit of limits.pages: its list of {kind} has "
        "no end"
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the client's libraries from logging, whatever the log's level."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.CRITICAL + 1)
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _words(cause: BaseException) -> str:
    """Say what went wrong, without a validator's own words."""
    if not isinstance(cause, ValidationError):
        return f"{type(cause).__name__}: {cause}"
    first, *others = cause.errors(include_url=False, include_input=False)
    field = ".".join(map(str, first["loc"])) or "it"
    wrong = describe_requirement(first["type"], first.get("ctx"), table="an object")
    more = f", and {len(others)} more" if others else ""
    return f"its answer is not as MCP has it: {field} {wrong}{more}"


def _hint(source: SourceSettings, status: int | None) -> str:
    """Say what to do about a server that refuses a request without the right token, or knows no such request."""
    if status == 405:
        return ": if it has the old HTTP+SSE transport alone, give a command that bridges to it, such as mcp-remote"
    if status not in (401, 403):
        return ""
    if source.oauth is not None:
        return ": it refuses the token that it was sent"
    return ": it refuses the headers" if source.headers else ": give it a token, by headers or oauth of the [[source]]"


def _cause(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _may_pass(cause: BaseException, status: int | None) -> bool:
    """Return whether another try may go better: the server ended, did not answer, or said that it is busy or broken."""
    import httpx2
    from mcp.shared.exceptions import MCPError
    from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT

    if status is not None:
        return status == 429 or status >= 500
    if isinstance(cause, MCPError):
        return cause.code in (CONNECTION_CLOSED, REQUEST_TIMEOUT)
    return isinstance(cause, httpx2.TransportError | ConnectionError)
