"""MCP: a saved `tools/list` answer, or a live server over stdio or streamable HTTP."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from pipeline.errors import RecordRejected, RunAborted, Unavailable
from pipeline.settings import SourceSettings
from pipeline.sources import fetch
from pipeline.sources.document import read_document
from pipeline.sources.function_schema import listed_tool, tool_or_rejection
from router.definitions.nesting import listed
from router.definitions.raw_tool import RawTool
from router.record import Origin

# The most pages that a server may answer: 10,000 pages of even one tool are more than any real server has.
_MAX_PAGES = 10_000


def read(path: Path) -> Iterator[RawTool | RecordRejected]:
    """Yield the tools of saved answers: the result, the whole JSON-RPC response, a list of pages, a bare list of tools,
    or the answers of several servers by their names."""
    found = listed(read_document(path))
    if found is None:
        raise RunAborted(f"the source {path} is not a saved tools/list answer: it has no list of tools")
    for one in found:
        yield listed_tool(one, path.name)


def read_live(source: SourceSettings, folder: Path) -> Iterator[RawTool | RecordRejected]:
    """Tools of a running server, all its pages. A command runs in `folder`, the catalog's.

    Raises Unavailable where it does not start, answer or end, which may pass, else RunAborted.
    """
    place = fetch.place(source)
    program = fetch.program(source, folder) if source.command else None
    statuses: list[int] = []
    try:
        server, rows = asyncio.run(asyncio.wait_for(_introspect(source, program, folder, statuses), source.timeout_s))
    except TimeoutError:
        raise Unavailable(f"the MCP server {place!r} did not list its tools within {source.timeout_s:g} s") from None
    except RunAborted:
        raise
    except Exception as error:  # the client raises groups of whatever its transport met
        cause = _cause(error)
        status = statuses[-1] if statuses and statuses[-1] >= 400 else None
        kind = Unavailable if _may_pass(cause, status) else RunAborted
        why = fetch.said(f"{type(cause).__name__}: {cause}", source) + (f" (HTTP {status})" if status else "")
        raise kind(f"the MCP server {place!r} could not be read: {why}") from error
    for index, row in enumerate(rows):
        yield tool_or_rejection(row, Origin(place, f"/tools/{index}"), server)


async def _introspect(
    source: SourceSettings, program: str | None, folder: Path, statuses: list[int]
) -> tuple[str | None, list[dict[str, Any]]]:
    import httpx2
    from mcp import Client, StdioServerParameters  # 2 s to import: only where a live server is read
    from mcp.client.streamable_http import streamable_http_client

    async def note(response: httpx2.Response) -> None:
        # The client's own error does not tell a server that is busy from one that refuses.
        if response.request.method == "POST":
            statuses.append(response.status_code)

    async with AsyncExitStack() as stack:
        if program is not None:
            target: Any = StdioServerParameters(
                command=program,
                args=list((source.command or ())[1:]),
                env={"PATH": fetch.search_path()},
                cwd=folder,
            )
        else:
            http = httpx2.AsyncClient(timeout=source.timeout_s, event_hooks={"response": [note]})
            target = streamable_http_client(source.url or "", http_client=await stack.enter_async_context(http))
        client = await stack.enter_async_context(Client(target, read_timeout_seconds=source.timeout_s))
        name = client.server_info.name if client.server_info else None
        return name, [tool async for tool in _pages(client)]


async def _pages(client: Any) -> AsyncIterator[dict[str, Any]]:
    seen: set[str] = set()
    cursor = None
    for _ in range(_MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        for tool in page.tools:
            yield tool.model_dump(by_alias=True, exclude_none=True, mode="json")
        cursor = page.next_cursor
        if cursor is None:
            return
        if cursor in seen:
            raise RunAborted(f"the MCP server gave the cursor {cursor!r} twice: its list of tools has no end")
        seen.add(cursor)
    raise RunAborted(f"the MCP server answered {_MAX_PAGES:,} pages and more: its list of tools has no end")


def _cause(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _may_pass(cause: BaseException, status: int | None) -> bool:
    """Whether another try may go better: the server ended, did not answer, or said that it is busy or broken."""
    import httpx2
    from mcp.shared.exceptions import MCPError
    from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT

    if status is not None:
        return status == 429 or status >= 500
    if isinstance(cause, MCPError):
        return cause.code in (CONNECTION_CLOSED, REQUEST_TIMEOUT)
    return isinstance(cause, httpx2.TransportError | ConnectionError)
