"""Tools by name and provider, page by page: each page reads a bounded part of the catalog."""

from bisect import bisect_right
from dataclasses import dataclass

from router.record import ToolRecord
from router.router import Router

PAGE = 50
# 0.1 s of reading: in a large catalog a rare word takes several pages, and none of them holds up others.
_READ = 10_000


@dataclass(frozen=True, slots=True)
class Listed:
    """Some tools by id. `following` is the id to go on behind, None at the end; `whole` whether the page is full or the
    catalog at its end: else it stopped reading, and there may be more."""

    tools: tuple[ToolRecord, ...]
    following: str | None
    whole: bool


def listed(router: Router, said: str, provider: str, after: str) -> Listed:
    """The tools behind an id whose name, provider or id holds a text, case apart, and that are of a provider."""
    served, wanted, of = router.tools, said.casefold(), provider.casefold()
    begin = bisect_right(served, after, key=lambda record: record.tool_id) if after else 0
    found: list[ToolRecord] = []
    place = begin
    end = min(begin + _READ, len(served))
    while place < end and len(found) < PAGE:
        record = served[place]
        place += 1
        if of and (record.provider or "").casefold() != of:
            continue
        if not wanted or wanted in record.tool_id.casefold() or wanted in record.name.casefold():
            found.append(record)
    more = place < len(served)
    following = served[place - 1].tool_id if more else None
    return Listed(tuple(found), following, len(found) == PAGE or not more)
