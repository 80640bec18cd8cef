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
from pipeline.sources.provider_label import label_of_server
from router.definitions.raw_tool import RawTool
from router.definitions.vendors import mcp_tool
from router.record import Origin

# The most pages that a server may answer: 10,000 pages of even one tool are more than any real server has.
_MAX_PAGES = 10_000


def read(path: Path) -> Iterator[RawTool | RecordRejected]:
    """Tools of a saved answer: the result, the whole JSON-RPC response, a list of pages, or a bare list of tools."""
    value = read_document(path)
    server = _server_name(value)
    for pointer, row in _saved(value, path):
        yield _tool(row, Origin(path.name, pointer), server)


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
        yield _tool(row, Origin(place, f"/tools/{index}"), server)


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


def pages(value: Any) -> list[tuple[str, list[Any]]] | None:
    """The lists of tools in a saved answer, each with its JSON pointer; None where it is no such answer.

    An answer is a page (`{"tools": […]}`), a JSON-RPC response around one, or a list of either.
    """
    listed = [(f"/{number}", page) for number, page in enumerate(value)] if isinstance(value, list) else [("", value)]
    found = []
    for pointer, page in listed:
        if isinstance(page, dict) and isinstance(page.get("result"), dict):
            pointer, page = f"{pointer}/result", page["result"]
        if not isinstance(page, dict) or not isinstance(page.get("tools"), list):
            return None
        found.append((f"{pointer}/tools", page["tools"]))
    return found or None


def _saved(value: Any, path: Path) -> Iterator[tuple[str, Any]]:
    found = pages(value)
    if found is None and isinstance(value, list) and not any("tools" in row for row in value if isinstance(row, dict)):
        found = [("", value)]  # tools alone
    if found is None:
        raise RunAborted(f"the source {path} is not a saved tools/list answer: it has no list of tools")
    for pointer, tools in found:
        for index, row in enumerate(tools):
            yield f"{pointer}/{index}", row


def _server_name(value: Any) -> str | None:
    """Some recorders keep the `serverInfo` of the handshake beside the answer."""
    info = value.get("serverInfo") if isinstance(value, dict) else None
    name = info.get("name") if isinstance(info, dict) else None
    return name if isinstance(name, str) else None


def _tool(row: object, origin: Origin, server: str | None) -> RawTool | RecordRejected:
    try:
        return mcp_tool(row, origin, server and label_of_server(server))
    except RecordRejected as rejected:
        return rejected


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
