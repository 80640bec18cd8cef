"""Read a source page by page, where its server declares that more follow."""

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import RunAborted
from pipeline.settings import LimitsSettings, SourceSettings
from pipeline.sources.formats.document import Items
from pipeline.sources.formats.tool_lists import MorePages
from pipeline.sources.naming import subject, too_large, too_late
from pipeline.sources.transport import fetch

if TYPE_CHECKING:
    from pipeline.sources.transport.http import Address, Answer

# Cursors of MCP, and the media types that say where a document links to its next page.
_CURSORS = ("/nextCursor", "/result/nextCursor", "/metadata/nextCursor")
_LINKS = {
    "/links/next": "application/vnd.api+json",
    "/links/next/href": "application/vnd.api+json",
    "/_links/next/href": "application/hal+json",
    "/@odata.nextLink": "application/json",
}


def read_pages(
    source: SourceSettings, folder: Path, limits: LimitsSettings, read: Callable[[Path, str], Items]
) -> Items:
    """Yield what `read` finds in each page of a source's document, called with its file and its place among the pages.

    Raises as `fetch.document` and `read` where any page fails, RunAborted where they have no end: a part is never taken
    for the whole.
    """
    until, total, page, body = time.monotonic() + 10 * source.timeout_s, 0, None, b""
    more: list[MorePages] = []
    asked: set[str] = set()
    for number in range(1, limits.pages + 1):
        try:
            with fetch.document(source, folder, limits, page) as document:
                if more and document.body == body:
                    break  # it knows no cursor: it gives this page whatever it is asked
                answer, body = document.answer, document.body
                if answer and (address := str(answer.asked.url)) in asked:
                    raise RunAborted(f"{subject(source)} leads to one page twice: its list of tools has no end")
                if (total := total + len(body)) > limits.document_bytes:
                    raise too_large(source, limits)
                more = []
                for item in read(document.path, f"page {number} " if number > 1 else ""):
                    if isinstance(item, MorePages):
                        more.append(item)
                    else:
                        yield item
                if answer is None or (page := _page_after(answer, more)) is None:
                    break
                if source.format == "openapi":
                    more = [MorePages("its server names a next page, which API documents do not have: it is not read")]
                    break
            asked.add(address)
            if time.monotonic() > until:
                raise too_late(source)
        except RunAborted as error:
            raise type(error)(f"{error} (page {number})") if number > 1 else error from None
    else:
        raise RunAborted(
            f"{subject(source)} has more than the {limits.pages:,} pages of limits.pages: its list of tools has no end"
        )
    yield from more


def _page_after(answer: "Answer", more: Iterable[MorePages]) -> "tuple[Address, str] | None":
    """Return the address of the next page and what it is relative to; None where none is declared."""
    if answer.link is not None:
        return answer.at, answer.link
    for notice in more:
        if notice.place in _CURSORS and isinstance(notice.value, str):
            return answer.asked, str(answer.asked.url.copy_set_param("cursor", notice.value))
        if _LINKS.get(notice.place) == answer.content_type.partition(";")[0].strip().lower():
            return answer.at, str(notice.value)
    return None
