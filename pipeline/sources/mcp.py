"""MCP: a saved `tools/list` answer, or a live server over stdio or streamable HTTP."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from pipeline.errors import RecordRejected, RunAborted
from pipeline.settings import SourceSettings
from pipeline.sources.document import read_document
from pipeline.sources.raw_tool import Fields, RawTool
from router.record import Origin

# The most pages that a server may answer: 10,000 pages of even one tool are more than any real server has.
_MAX_PAGES = 10_000


def read(path: Path) -> Iterator[RawTool | RecordRejected]:
    """Tools of a saved answer: the result, the whole JSON-RPC response, a list of pages, or a bare list of tools."""
    value = read_document(path)
    server = _server_name(value)
    for pointer, row in _saved(value, path):
        yield _tool(row, Origin(path.name, pointer), server)


def read_live(source: SourceSettings) -> Iterator[RawTool | RecordRejected]:
    """Tools of a running server, all its pages. Raises RunAborted where it does not start, answer or end."""
    place = source.url or " ".join(source.command or ())
    try:
        server, rows = asyncio.run(asyncio.wait_for(_introspect(source), source.timeout_s))
    except TimeoutError:
        raise RunAborted(f"the MCP server {place!r} did not list its tools within {source.timeout_s:g} s") from None
    except RunAborted:
        raise
    except Exception as error:  # the client raises groups of whatever its transport met
        raise RunAborted(f"the MCP server {place!r} could not be read: {_cause(error)}") from error
    for index, row in enumerate(rows):
        yield _tool(row, Origin(place, f"/tools/{index}"), server)


async def _introspect(source: SourceSettings) -> tuple[str | None, list[dict[str, Any]]]:
    from mcp import Client, StdioServerParameters  # 2 s to import: only where a live server is read

    if source.command:
        target: Any = StdioServerParameters(command=source.command[0], args=list(source.command[1:]))
    else:
        target = source.url
    async with Client(target, read_timeout_seconds=source.timeout_s) as client:
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


def _saved(value: Any, path: Path) -> Iterator[tuple[str, Any]]:
    pages = (
        value
        if isinstance(value, list) and all(isinstance(p, dict) and "tools" in p for p in value) and value
        else None
    )
    if pages is not None:
        for number, page in enumerate(pages):
            yield from _page(page["tools"], f"/{number}/tools", path)
    elif isinstance(value, list):
        yield from _page(value, "", path)
    elif isinstance(value, dict) and isinstance(value.get("result"), dict):
        yield from _page(value["result"].get("tools"), "/result/tools", path)
    else:
        yield from _page(value.get("tools") if isinstance(value, dict) else None, "/tools", path)


def _page(tools: Any, pointer: str, path: Path) -> Iterator[tuple[str, Any]]:
    if not isinstance(tools, list):
        raise RunAborted(f"the source {path} is not a saved tools/list answer: it has no list of tools")
    for index, row in enumerate(tools):
        yield f"{pointer}/{index}", row


def _server_name(value: Any) -> str | None:
    """Some recorders keep the `serverInfo` of the handshake beside the answer."""
    info = value.get("serverInfo") if isinstance(value, dict) else None
    name = info.get("name") if isinstance(info, dict) else None
    return name if isinstance(name, str) else None


def _tool(row: object, origin: Origin, server: str | None) -> RawTool | RecordRejected:
    try:
        fields = Fields(row, origin)
        annotations = fields.mapping("annotations")
        title = fields.text("title") or annotations.get("title")
        return RawTool(
            name=fields.name(),
            origin=origin,
            description=fields.text("description") or (title if isinstance(title, str) else ""),
            input_schema=fields.mapping("inputSchema"),
            provider=server,
            annotations={**annotations, **({"title": title} if title else {})},
        )
    except RecordRejected as rejected:
        return rejected


def _cause(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"
