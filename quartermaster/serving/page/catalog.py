"""What pages show of a catalog: sample requests, facts, providers, and tools by words, a bounded part at a time."""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass

from router.contract import Manifest
from router.record import ToolRecord
from router.router import Router

_SAMPLES = 6
_MAX_SAMPLE = 120  # characters
_MAX_LOOKED_AT = 64  # tools, for samples
PAGE_SIZE = 50
# About 0.1 s of reading: in a large catalog, a rare word takes several pages, and no page delays other requests.
_MAX_READ = 10_000
_EXCERPT = 160  # characters


def sample_requests(router: Router) -> tuple[list[str], bool]:
    """Return requests to try, and whether they are queries with qrels of the catalog.

    Where it has none, they are a phrase each of tools all over it.
    """
    evaluation = router.manifest.evaluation or {}
    if examples := evaluation.get("examples"):
        return list(examples[:_SAMPLES]), True
    tools = router.tools  # of one snapshot, whatever serves meanwhile
    places = range(0, len(tools), max(len(tools) // _MAX_LOOKED_AT, 1))
    phrases = list(dict.fromkeys(filter(None, (_short_phrase(router, tools[place].tool_id) for place in places))))
    return phrases[:: max(len(phrases) // _SAMPLES, 1)][:_SAMPLES], False


def _short_phrase(router: Router, tool_id: str) -> str | None:
    """Return the first short phrase of a tool; the last phrase says when to use it, not what is asked."""
    phrases = router.phrases(tool_id)
    return next((phrase for phrase in phrases[:-1] or phrases if len(phrase) <= _MAX_SAMPLE), None)


def facts(manifest: Manifest, tools: int) -> list[tuple[str, str]]:
    """Return what there is to know of a catalog, as labels and texts."""
    counts, encoder, fitting = manifest.counts, manifest.encoder, manifest.tuning.get("fitting")
    calibrated = isinstance(fitting, Mapping) and fitting.get("calibrated")
    rows = [("tools", f"{tools:,}")]
    if "phrases" in counts:  # not for a profile that leaves tools out
        generators = ", ".join(f"{name} ({count:,})" for name, count in manifest.generators.items())
        rows += [("phrases", f"{counts['phrases']:,}"), ("written by", generators or "nobody")]
    rows += [
        ("languages", ", ".join(manifest.languages)),
        ("encoder", encoder.described if encoder else "none"),
        ("built", manifest.created_at.replace("T", " ").removesuffix("+00:00").removesuffix("Z") + " UTC"),
        ("no-tool answer", "calibrated on this catalog" if calibrated else "not calibrated for this catalog"),
    ]
    if evaluation := manifest.evaluation:
        share = evaluation["metrics"].get("recall@10")
        found = "" if share is None else f", {100 * share:.0f} % find a tool among the first ten"
        rows.append(("judged", f"{evaluation['requests']:,} requests{found}"))
    return rows


@dataclass(frozen=True, slots=True)
class ToolListing:
    """Some tools in the order of their ids, each with the part of its description that has the words.

    `next_after` is the id to continue after, None at the end. `complete` is False if reading stopped at its bound
    before the page was full: there may be more tools.
    """

    tools: list[tuple[ToolRecord, str]]
    next_after: str | None
    complete: bool


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
    return ToolListing(matches, next_after, len(matches) == PAGE_SIZE or not more)


def excerpt(text: str, words: list[str]) -> str:
    """Return the beginning of a text, or the part around the first word that the beginning lacks."""
    text = " ".join(text.split())
    folded = text.casefold()
    late = [place for word in words if (place := folded.find(word)) > _EXCERPT - 20]
    if not late or len(folded) != len(text):  # folding may change the length, and with it every place
        return _cut(text)
    begin = text.rfind(" ", 0, max(min(late) - 60, 0)) + 1
    return f"… {_cut(text[begin:])}"


def _cut(text: str) -> str:
    """Return the beginning of a text, up to the end of a word; of a word longer than that, its beginning."""
    if len(text) <= _EXCERPT:
        return text
    end = text.rfind(" ", 0, _EXCERPT)
    return f"{text[: end if end > 0 else _EXCERPT]} …"
