"""Read a source page by page, where its server declares that more follow."""

import time
from collections.abc import Callable, Iterable
from pathlib import Path

from pipeline.errors import RunAborted
from pipeline.settings import LimitsSettings, SourceSettings
from pipeline.sources.formats.document import Items
from pipeline.sources.formats.tool_lists import MorePages
from pipeline.sources.naming import location, subject, too_large, too_late
from pipeline.sources.transport import fetch
from pipeline.sources.transport.answers import Answer, Page
from router.record import Origin

_CURSORS = ("/nextCursor", "/result/nextCursor", "/metadata/nextCursor")  # MCP's
# Each behind the media type of its documents.
_LINKS = "vnd.api+json/links/next vnd.api+json/links/next/href hal+json/_links/next/href json/@odata.nextLink".split()


def read_pages(source: SourceSettings, folder: Path, limits: LimitsSettings, read: Callable[..., Items]) -> Items:
    """Yield what `read` finds in each page of a source's document: called with file, source, limits and place.

    Raises RunAborted where any page fails, or they have no end: a part is never taken for the whole.
    """
    until, total, page, body = time.monotonic() + 10 * source.timeout_s, 0, None, b""
    more, asked = list[MorePages](), set[str]()
    for number in range(1, limits.pages + 1):
        with fetch.document(source, folder, limits, page) as (path, answer):
            if answer and more and answer.body == body:
                break  # its server knows no cursor: it gives this page whatever it is asked
            if answer and answer.at[0] in asked:
                raise RunAborted(f"{subject(source)} leads to one page twice: its list of tools has no end")
            if (total := total + path.stat().st_size) > limits.document_bytes:
                raise too_large(source, limits)
            items = list(read(path, source, limits, Origin(location(source), f"page {number} " if page else "")))
        more = [item for item in items if isinstance(item, MorePages)]
        yield from (item for item in items if not isinstance(item, MorePages))
        if answer is None or (page := _page_after(answer, more)) is None:
            break
        if source.format == "openapi":
            yield "its server names a next page, which API documents do not have: it is not read"
            break
        body = answer.body
        asked.add(answer.at[0])
        if time.monotonic() > until:
            raise too_late(source)
    else:
        raise RunAborted(f"{subject(source)} has more than the {limits.pages:,} pages of limits.pages")
    yield from more


def _page_after(answer: Answer, more: Iterable[MorePages]) -> Page | None:
    """Return the address of a page and its link to the next one; None where none is declared."""
    if answer.link is not None:
        return answer.at, answer.link
    for notice in more:
        place = notice.partition(" ")[0]
        if place in _CURSORS and isinstance(notice.value, str):
            import httpx2

            return answer.at, str(httpx2.URL(answer.at[0]).copy_set_param("cursor", notice.value))
        if answer.content_type.partition(";")[0].strip().lower().removeprefix("application/") + place in _LINKS:
            return answer.at, str(notice.value)
    return None
