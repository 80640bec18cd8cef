"""Why a request finds a tool, or does not: its place in every list, what stands before it, the words in common."""

from dataclasses import dataclass, replace

from msgspec import structs

from router.answer.explanation import Explainer, name_dependents
from router.answer.options import CheckedOptions, recipe_of
from router.answer.respond import respond
from router.answer.results import RoutedTool, RoutedTools
from router.contract import DOCUMENT_SIGNALS, Signal
from router.errors import RequestInvalid
from router.query.needs import clean_needs
from router.retrieval.retrievers import Ranking
from router.search.search import clean_request, rank, search
from router.selection.admission import admit
from router.snapshot.record_store import ToolEntry
from router.snapshot.snapshot import Snapshot
from router.text import analyzer, pretokenize, terms
from router.tools.field_text import description_document, name_document
from router.tools.trust.sanitization import sanitize

_MAX_AHEAD = 3  # tools of a list that are named before a tool
_MAX_WORDS = 40  # of a request


@dataclass(frozen=True, slots=True)
class ListPlace:
    """A tool's place in one list: rank and score, None where the list lacks it.

    `size` is how many tools the list ranks, `ahead` are the ids of its first tools, up to this one.
    """

    signal: Signal
    rank: int | None
    score: float | None
    size: int
    ahead: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WordMatch:
    """A word of a request, and whether a tool's name, its description and its phrases have it."""

    word: str
    name: bool
    description: bool
    phrases: bool


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A tool's place in the answer to a request, and the reasons.

    Attributes:
        tool: The tool, with its ranks in the whole lists.
        rank: Its fused rank; None where no list holds it within `depth`.
        lists: Its place in each list, and what is before it.
        words: The request's words, and where the tool has them.
        phrases: How many phrases the tool has.
        answer: What the request finds.
        refusal: Why a filter leaves the tool out; None where none does.
        shown_as: The duplicate that the answer shows for it.
        depth: How much of each list the recipe reads.
    """

    tool: RoutedTool
    rank: int | None
    lists: tuple[ListPlace, ...]
    words: tuple[WordMatch, ...]
    phrases: int
    answer: RoutedTools
    refusal: str | None
    shown_as: str | None
    depth: int

    @property
    def place(self) -> int | None:
        """Return the tool's place in the answer, from 1; None where the answer lacks it."""
        ids = self.answer.ids
        return ids.index(self.tool.tool_id) + 1 if self.tool.tool_id in ids else None


def diagnose(snapshot: Snapshot, request: str, tool_id: str, options: CheckedOptions) -> Diagnosis:
    """Return why a request finds a tool, or does not. Raises what `respond` does; RequestInvalid for an unknown id."""
    ordinal, recipe, cleaned = _ordinal(snapshot, tool_id), recipe_of(snapshot, options.recipe), clean_request(request)
    needs = clean_needs(options.needs or (), cleaned)
    # A tool that stands under its duplicate has a rank of its own here.
    result = search(snapshot, cleaned, replace(recipe, collapse=False), needs=needs)
    fused_rank = result.ranking.rank_of(ordinal)
    score = float(result.ranking.scores[fused_rank - 1]) if fused_rank else 0.0
    rankings = rank(snapshot, result.query, recipe, max(len(snapshot.records), 1))
    tool = Explainer(snapshot, result, rankings, [ordinal]).tool(ordinal, score)
    needing = name_dependents(snapshot, result.dependents.get(ordinal, ()))
    answer = respond(snapshot, request, structs.replace(options, explain=True))
    entry = snapshot.records.entry(ordinal)
    return Diagnosis(
        tool=structs.replace(tool, needed_by=tuple(one for one in needing if one.tool_id in answer.ids)),
        rank=fused_rank,
        lists=tuple(
            _place(snapshot, signal, ranking, ordinal)
            for signal, ranking in rankings.items()
            if signal in DOCUMENT_SIGNALS or ranking.rank_of(ordinal)
        ),
        words=_words(request, entry),
        phrases=len(entry.phrases),
        answer=answer,
        refusal=_refusal(snapshot, ordinal, answer, options),
        shown_as=next((shown.tool_id for shown in answer if tool_id in shown.also_from), None),
        depth=recipe.depth,
    )


def _ordinal(snapshot: Snapshot, tool_id: str) -> int:
    ordinal = snapshot.records.ordinal(tool_id)
    if ordinal is None:
        raise RequestInvalid(f"the snapshot {snapshot.manifest.snapshot} has no tool {tool_id!r}")
    return ordinal


def _place(snapshot: Snapshot, signal: Signal, ranking: Ranking, ordinal: int) -> ListPlace:
    place = ranking.rank_of(ordinal)
    ahead = ranking.ordinals[: min(_MAX_AHEAD, len(ranking) if place is None else place - 1)].tolist()
    score = None if place is None else float(ranking.scores[place - 1])
    return ListPlace(signal, place, score, len(ranking), tuple(map(snapshot.records.tool_id, ahead)))


def _words(request: str, entry: ToolEntry) -> tuple[WordMatch, ...]:
    """Return the words of a request and the parts of its identifiers, without stop words, and where a tool has them."""
    record, _ = sanitize(entry.record)
    texts = (name_document(record), description_document(record), "\n".join(entry.phrases))
    fields = [frozenset(terms(text)) for text in texts]
    # `pretokenize` has split the identifiers already: `terms` would give a joined form its parts once more.
    words = pretokenize(clean_request(request)).split()
    by_term = {term: word for word in words for term in analyzer().analyze(word)}
    return tuple(
        WordMatch(word, *(term in field for field in fields)) for term, word in list(by_term.items())[:_MAX_WORDS]
    )


def _refusal(snapshot: Snapshot, ordinal: int, answer: RoutedTools, options: CheckedOptions) -> str | None:
    """Return why the selection, or what follows the search, leaves a tool out; None where nothing does."""
    tool_id = snapshot.records.tool_id(ordinal)
    if tool_id in answer.ids or any(tool.tool_id == tool_id for tool in answer.always):
        return None
    admission = admit(lambda: snapshot.records.facets, options.selection, options.category, options.category_confidence)
    if refused := admission.refusal(ordinal):
        return refused[1]
    return next((out.reason for out in answer.dropped if out.tool_id == tool_id), None)
