"""List the tools and prompts of a live MCP server, over stdio or streamable HTTP."""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
from pydantic import ValidationError

from pipeline.errors import RecordRejected, RunAborted, Unavailable
from pipeline.settings import LimitsSettings, SourceSettings
from pipeline.sources.formats.document import DEFAULT_LIMITS, Items
from pipeline.sources.formats.tool_lists import listed_tool, read_prompts
from pipeline.sources.naming import location, name_of, redacted, wrong_field
from pipeline.sources.provider_label import label_of_server
from pipeline.sources.transport import fetch
from pipeline.sources.transport.access import Access, resolve_access
from router.record import Origin
from router.tools.definitions.nesting import ListedDefinition

# The SDK takes 2 s to import: it is imported only where a live server is read.
if TYPE_CHECKING:
    from pipeline.sources.transport.http import Allowance
    from pipeline.sources.transport.oauth import Authentication

# They log addresses with their queries, and the answers of token servers.
_LOGGERS = ("httpx2", "httpcore2", "mcp")
_REFUSAL = "quartermaster/refusal"  # where a row that stands in for a bad one says why it is bad


def read_live(source: SourceSettings, folder: Path, limits: LimitsSettings = DEFAULT_LIMITS) -> Items:
    """Yield the tools of a running server, all its pages, then its prompts where the source asks for them.

    A command runs in `folder`, the catalog's. Raises Unavailable where the server does not start, answer or end, which
    may pass, else RunAborted.
    """
    where, access, auth = location(source), resolve_access(source), None
    if source.oauth is not None:
        from pipeline.sources.transport.oauth import authentication

        auth = authentication(source, access, folder)
    listed = list_server(source, folder, access, auth, limits)
    label = label_of_server(listed.server) if listed.server else None
    for kind, rows in (("tools", listed.tools), ("prompts", listed.prompts)):
        for index, row in enumerate(rows):
            origin = Origin(where, f"/{kind}/{index}")
            if why := (row.get("_meta") or {}).get(_REFUSAL):
                yield RecordRejected(origin, str(why))
            elif kind == "tools":
                yield listed_tool(ListedDefinition(origin.pointer, row, label), where)
            else:
                yield from read_prompts([(origin.pointer, row)], where, label)


class Listed(NamedTuple):
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
    from pipeline.sources.transport.http import Allowance, finished

    server = f"the MCP server {name_of(source)!r}"
    program = fetch.program(access, folder) if source.command else None
    allowance = Allowance(limits, server)
    try:
        with _quiet():
            listed = finished(_introspect(allowance, source, access, auth, program, folder))
    except Exception as error:  # noqa: BLE001 - the client raises groups of whatever its transport met
        cause: BaseException = error
        while isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[0]
        if failure := allowance.failure or (auth.failure if auth else None):
            raise failure from None
        if isinstance(cause, RunAborted):
            raise type(cause)(f"{server} could not be read: {cause}") from None
        status = allowance.status if allowance.status >= 400 else None
        kind = Unavailable if _may_pass(cause, status) else RunAborted
        words = f"{type(cause).__name__}: {cause}"
        if isinstance(cause, ValidationError):
            words = f"its answer is not as MCP has it: {wrong_field(cause)}"
        why = redacted(words, source, [*access.secrets, *(auth.secrets if auth else ())])
        why += f" (HTTP {status})" if status else ""
        # Without its cause, which quotes what it was asked with.
        raise kind(f"{server} could not be read: {why}{_hint(source, status)}") from None
    if listed is None:
        late = Unavailable(f"{server} did not list its tools within {source.timeout_s:g} s")
        raise allowance.failure or late
    return listed


async def _introspect(
    allowance: "Allowance", source: SourceSettings, access: Access, auth: Any, program: str | None, folder: Path
) -> Listed | None:
    """Return what a server lists; None where it takes too long, or sends more than it is allowed."""
    import httpx2
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamable_http_client

    from pipeline.sources.transport.http import Reach, Transport
    from quartermaster.mcp_lists import with_mended_lists

    protocol = ""
    with anyio.move_on_after(source.timeout_s) as allowance.scope:
        async with AsyncExitStack() as stack:
            if program is not None:
                arguments, env = list(access.command[1:]), fetch.environment(access)
                target: Any = stdio_client(StdioServerParameters(command=program, args=arguments, env=env, cwd=folder))
            else:
                # Authorization servers, which the server names, are held to the same addresses.
                reach = Reach(f"the MCP server {name_of(source)!r}", httpx2.URL(access.url).host, source.private_hosts)
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
            target = with_mended_lists(target, lambda: protocol, _as_refusals)
            session = await stack.enter_async_context(Client(target, read_timeout_seconds=source.timeout_s))
            protocol = session.protocol_version
            tools = await _pages(session.list_tools, "tools", allowance.limits)
            prompts = []
            if source.prompts and session.server_capabilities.prompts:
                prompts = await _pages(session.list_prompts, "prompts", allowance.limits)
            return Listed(session.server_info.name if session.server_info else None, tools, prompts)
    return None


async def _pages(list_page: Callable[..., Any], kind: str, limits: LimitsSettings) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    seen: set[str] = set()
    cursor = None
    for _ in range(limits.pages):
        page = await list_page(cursor=cursor)
        rows += [row.model_dump(by_alias=True, exclude_none=True, mode="json") for row in getattr(page, kind)]
        if len(rows) > limits.tools:
            raise RunAborted(f"the MCP server lists more than the {limits.tools:,} {kind} of limits.tools")
        if not (cursor := page.next_cursor):  # some servers end with an empty one
            return rows
        if cursor in seen:
            raise RunAborted(f"the MCP server gave the cursor {cursor[:100]!r} twice: its list of {kind} has no end")
        seen.add(cursor)
    raise RunAborted(
        f"the MCP server answered {limits.pages:,} pages and more, the limit of limits.pages: its list of {kind} has "
        "no end"
    )


def _as_refusals(rows: list[Any], wrong: Mapping[int, ValidationError]) -> list[Any]:
    """Return a page's rows; one that is not as MCP has it is replaced by one that says so."""
    return [_refusal(row, wrong[number]) if number in wrong else row for number, row in enumerate(rows)]


def _refusal(row: Any, error: ValidationError) -> dict[str, Any]:
    name = row["name"] if isinstance(row, dict) and isinstance(row.get("name"), str) else ""
    why = f"{f'{name[:80]!r} ' if name else ''}is not as MCP has it: {wrong_field(error, inside=2)}"
    return {"name": "", "inputSchema": {"type": "object"}, "_meta": {_REFUSAL: why}}


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the client's libraries from logging, whatever the log's level."""
    levels = {logger: logger.level for logger in map(logging.getLogger, _LOGGERS)}
    try:
        for logger in levels:
            logger.setLevel(logging.CRITICAL + 1)
        yield
    finally:
        for logger, level in levels.items():
            logger.setLevel(level)


def _hint(source: SourceSettings, status: int | None) -> str:
    """Say what to do about a server that refuses a request without the right token, or knows no such request."""
    if status == 405:
        return ": if it has only the old HTTP+SSE transport, give a command that bridges to it, such as mcp-remote"
    if status not in (401, 403):
        return ""
    if source.oauth is not None:
        return ": it refuses the token that it was sent"
    return ": it refuses the headers" if source.headers else ": give it a token, by headers or oauth of the [[source]]"


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
