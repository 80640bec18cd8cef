"""Read a source page by page, where its server declares that more follow."""

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import RunAborted
from pipeline.settings import LimitsSettings, SourceSettings
from pipeline.sources.formats.document import Items
from pipeline.sources.formats.tool_lists import MorePages
from pipeline.sources.naming import location, subject, too_large, too_late
from pipeline.sources.transport import fetch
from router.record import Origin

if TYPE_CHECKING:
    from pipeline.sources.transport.http import Answer, Page

_CURSORS = ("/nextCursor", "/result/nextCursor", "/metadata/nextCursor")  # MCP's
_LINKS = (  # each behind the media type that has it
    "application/vnd.api+json/links/next application/vnd.api+json/links/next/href "
    "application/hal+json/_links/next/href application/json/@odata.nextLink"
).split()


def read_pages(source: SourceSettings, folder: Path, limits: LimitsSettings, read: Callable[..., Items]) -> Items:
    """Yield what `read` finds in each page of a source's document: called with file, source, limits and place.

    Raises as `fetch.document` and `read` where any page fails, RunAborted where they have no end: a part is never taken
    for the whole.
    """
    until, total, page, body = time.monotonic() + 10 * source.timeout_s, 0, None, b""
    more: list[MorePages] = []
    asked: set[str] = set()
    for number in range(1, limits.pages + 1):
        try:
            with fetch.document(source, folder, limits, page) as (path, answer):
                if answer and more and answer.body == body:
                    break  # its server knows no cursor: it gives this page whatever it is asked
                if answer and str(answer.asked[0]) in asked:
                    raise RunAborted(f"{subject(source)} leads to one page twice: its list of tools has no end")
                if (total := total + path.stat().st_size) > limits.document_bytes:
                    raise too_large(source, limits)
                place = Origin(location(source), f"page {number} " if number > 1 else "")
                items = list(read(path, source, limits, place))
        except RunAborted as error:
            raise type(error)(f"{error} (page {number})") if number > 1 else error from None
        more = [item for item in items if isinstance(item, MorePages)]
        yield from (item for item in items if not isinstance(item, MorePages))
        if answer is None or (page := _page_after(answer, more)) is None:
            break
        if source.format == "openapi":
            yield "its server names a next page, which API documents do not have: it is not read"
            break
        body = answer.body
        asked.add(str(answer.asked[0]))
        if time.monotonic() > until:
            raise too_late(source)
    else:
        raise RunAborted(f"{subject(source)} has more than the {limits.pages:,} pages of limits.pages")
    yield from more


def _page_after(answer: "Answer", more: Iterable[MorePages]) -> "Page | None":
    """Return the address of a page and its link to the next one; None where none is declared."""
    if answer.link is not None:
        return answer.at, answer.link
    for notice in more:
        if notice.place in _CURSORS and isinstance(notice.value, str):
            return answer.asked, str(answer.asked[0].copy_set_param("cursor", notice.value))
        if answer.content_type.partition(";")[0].strip().lower() + notice.place in _LINKS:
            return answer.at, str(notice.value)
    return None
