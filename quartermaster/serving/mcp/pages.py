"""Lists of an upstream, read page by page within its bounds."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import anyio
import msgspec
from pydantic import BaseModel

from quartermaster.serving.mcp.upstream import Upstream, UpstreamFailed

Definition = Mapping[str, Any]
Page = Callable[[str | None], Awaitable[tuple[Sequence[BaseModel], str | None]]]
_logger = logging.getLogger("quartermaster.serving")


async def read_pages(limits: Upstream, what: str, key: str, page: Page) -> tuple[dict[str, Definition], bool]:
    """Return the items of a list by their `key`, up to `max_tools` of them, and whether they are all.

    `page` gives the items at a cursor, and the next cursor. `what` is their plural. Raises MCPError, and UpstreamFailed
    for a list that takes too many pages, bytes or seconds.
    """
    try:
        with anyio.fail_after(limits.timeout_s):
            items, complete = await _read(limits, what, key, page)
    except TimeoutError:
        raise UpstreamFailed(f"its list of {what} takes more than {limits.timeout_s:g} s (timeout_s)") from None
    if not complete:
        _logger.warning(
            "the MCP server %r lists more than %s %s (max_tools): the first %s serve, the others are left out",
            limits.name,
            f"{limits.max_tools:,}",
            what,
            f"{len(items):,}",
        )
    return items, complete


async def _read(limits: Upstream, what: str, key: str, page: Page) -> tuple[dict[str, Definition], bool]:
    items, size = dict[str, Definition](), 0
    cursors: set[str] = set()
    cursor: str | None = None
    for _ in range(limits.max_pages):
        rows, cursor = await page(cursor)
        for row in rows:
            definition = row.model_dump(by_alias=True, exclude_none=True, mode="json")
            if len(items) >= limits.max_tools and definition[key] not in items:
                return items, False
            items[definition[key]] = definition
            size += len(msgspec.json.encode(definition))
            if size > limits.max_list_bytes:
                raise UpstreamFailed(f"its {what} have more than {limits.max_list_bytes:,} bytes (max_list_bytes)")
        if cursor is None:
            return items, True
        if cursor in cursors:
            break
        cursors.add(cursor)
    pages = f"{len(cursors):,} pages with {len(items):,} {what} so far (max_pages is {limits.max_pages:,})"
    raise UpstreamFailed(f"the server's list of {what} has no end: {pages}")
