"""Tools by name and provider, page by page; each page reads a bounded part of the catalog."""

from bisect import bisect_right
from dataclasses import dataclass

from router.record import ToolRecord
from router.router import Router

PAGE_SIZE = 50
# About 0.1 s of reading: in a large catalog, a rare word takes several pages, and no page delays other requests.
_MAX_READ = 10_000


@dataclass(frozen=True, slots=True)
class ToolListing:
    """Some tools in the order of their ids.

    `next_after` is the id to continue after, None at the end. `complete` is False if reading stopped at its bound
    before the page was full: there may be more tools.
    """

    tools: tuple[ToolRecord, ...]
    next_after: str | None
    complete: bool


def list_tools(router: Router, text: str, provider: str, after: str) -> ToolListing:
    """Return the tools after an id whose id or name contains a text, optionally of one provider; case is ignored."""
    served, text, provider = router.tools, text.casefold(), provider.casefold()
    position = bisect_right(served, after, key=lambda record: record.tool_id) if after else 0
    end = min(position + _MAX_READ, len(served))
    matches: list[ToolRecord] = []
    while position < end and len(matches) < PAGE_SIZE:
        record = served[position]
        position += 1
        if provider and (record.provider or "").casefold() != provider:
            continue
        if not text or text in record.tool_id.casefold() or text in record.name.casefold():
            matches.append(record)
    more = position < len(served)
    next_after = served[position - 1].tool_id if more else None
    return ToolListing(tuple(matches), next_after, len(matches) == PAGE_SIZE or not more)
