"""Tools by words and provider, page by page; each page reads a bounded part of the catalog."""

from bisect import bisect_right
from dataclasses import dataclass

from router.record import ToolRecord
from router.router import Router

PAGE_SIZE = 50
# About 0.1 s of reading: in a large catalog, a rare word takes several pages, and no page delays other requests.
_MAX_READ = 10_000
_FIRST_PROVIDERS, _MAX_PROVIDERS = 40, 2_000
_EXCERPT = 160  # characters


@dataclass(frozen=True, slots=True)
class ToolListing:
    """Some tools in the order of their ids, each with the part of its description that has the words.

    `next_after` is the id to continue after, None at the end. `complete` is False if reading stopped at its bound
    before the page was full: there may be more tools.
    """

    tools: tuple[tuple[ToolRecord, str], ...]
    next_after: str | None
    complete: bool


@dataclass(frozen=True, slots=True)
class ProviderList:
    """Providers with their numbers of tools, most first. `rest` is folded away, `more` are too many to show."""

    first: tuple[tuple[str, int], ...]
    rest: tuple[tuple[str, int], ...]
    more: int
    count: int
    without: int


def list_tools(router: Router, text: str, provider: str, after: str) -> ToolListing:
    """Return the tools after an id that have every word of a text in id, name or description; case is ignored.

    `provider` limits them to one provider.
    """
    served, words = router.tools, text.casefold().split()
    places = served.places_of(provider) if provider.strip() else range(len(served))
    position = bisect_right(places, after, key=lambda place: served[place].tool_id) if after else 0
    end = min(position + _MAX_READ, len(places))
    matches: list[tuple[ToolRecord, str]] = []
    while position < end and len(matches) < PAGE_SIZE:
        record = served[places[position]]
        position += 1
        searched = "\n".join((record.tool_id, record.name, record.description)).casefold()
        if all(word in searched for word in words):
            matches.append((record, excerpt(record.description, words)))
    more = position < len(places)
    next_after = served[places[position - 1]].tool_id if more else None
    return ToolListing(tuple(matches), next_after, len(matches) == PAGE_SIZE or not more)


def list_providers(router: Router) -> ProviderList:
    """Return the providers of a router's tools, those with most tools first."""
    counts = router.providers
    named = [(provider, count) for provider, count in counts.items() if provider]
    return ProviderList(
        first=tuple(named[:_FIRST_PROVIDERS]),
        rest=tuple(named[_FIRST_PROVIDERS:_MAX_PROVIDERS]),
        more=len(named[_MAX_PROVIDERS:]),
        count=len(named),
        without=sum(count for provider, count in counts.items() if not provider),
    )


def excerpt(text: str, words: list[str]) -> str:
    """Return the beginning of a text, or the part around the first word that the beginning lacks."""
    text = " ".join(text.split())
    folded = text.casefold()
    places = [place for word in words if (place := folded.find(word)) >= 0]
    late = next((place for place in sorted(places) if place > _EXCERPT - 20), None)
    if late is None or len(folded) != len(text):  # folding may change the length, and with it every place
        return _cut(text)
    begin = text.rfind(" ", 0, max(late - 60, 0)) + 1
    return f"… {_cut(text[begin:])}"


def _cut(text: str) -> str:
    """Return the beginning of a text, up to the end of a word; of a word longer than that, its beginning."""
    if len(text) <= _EXCERPT:
        return text
    end = text.rfind(" ", 0, _EXCERPT)
    return f"{text[: end if end > 0 else _EXCERPT]} …"
