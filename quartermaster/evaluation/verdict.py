"""Say a diagnosis in plain sentences: what happened to a tool, and what would help. Also its scores as texts."""

from collections import Counter

from router.answer.diagnosis import Diagnosis, ListPlace
from router.contract import Signal

_PHRASE = "If it should answer the request, a phrase in those words would help."
_NEAR = 10  # a list that ranks a tool this high has found it
# What leaves tools out after the search, by `Dropped.by`: the answer may then be shorter than asked for.
_LIMITS = {
    "budget": "the token budget",
    "cap": "the provider's limit",
    "provider": "the selection's limit for one provider",
    "lexical overlap": "the selection's word overlap",
    "combined score": "the selection's combined score",
    "none fits": "the doubt that any tool fits",
}


def verdict(diagnosis: Diagnosis) -> str:
    """Return in a few sentences where the request finds the tool, or why it does not, and which tool needs it first."""
    needing = (f"{one.tool_id} needs it first, for {one.parameter}." for one in diagnosis.tool.needed_by)
    return " ".join([_place(diagnosis), *needing])


def _place(diagnosis: Diagnosis) -> str:
    if diagnosis.place == 1:
        return "The request finds this tool first."
    if diagnosis.place is not None:
        return f"The request finds this tool in place {diagnosis.place}; {diagnosis.answer.ids[0]} comes first."
    if _is_always(diagnosis):
        return "The selection adds the tool to every answer, whatever its rank."
    if diagnosis.refusal is not None:
        return f"The tool is left out: {diagnosis.refusal}."
    if diagnosis.shown_as is not None:
        return f"The answer shows {diagnosis.shown_as} for it: both have the same name and description."
    if diagnosis.rank is None:
        return f"No list has the tool among its first {diagnosis.depth}, and a recipe reads no further."
    if diagnosis.rank <= len(diagnosis.answer):
        return f"Found at rank {diagnosis.rank}; the reranker or the selection's weights then put other tools first."
    number = f"number {diagnosis.rank}, {_size(diagnosis)}."
    best = _best(diagnosis)
    if best is None or best.rank is None or best.rank > _NEAR:
        nearest = f": the best, {best.signal}, at {best.rank:,}" if best else ""
        return f"Every list ranks other tools first{nearest}. It is {number}"
    low = [place.signal.value for place in diagnosis.lists if place.rank is None or place.rank > _NEAR]
    against = f", but {_and(low)} {'ranks' if len(low) == 1 else 'rank'} it low or not at all" if low else ""
    return f"The list {best.signal} has it at {best.rank}{against}. Together they make it {number}"


def advice(diagnosis: Diagnosis) -> str:
    """Return what would help the request to find the tool; empty where it is found first or need not be."""
    if diagnosis.place == 1 or diagnosis.shown_as is not None or _is_always(diagnosis):
        return ""
    if diagnosis.refusal is not None:
        return "Change the selection, or the budget, if the tool should be found."
    if not diagnosis.words:
        return "The request has only words that no list looks for."
    if not diagnosis.phrases:
        return "It has no phrases. One in the words of the request would help most: add it, or have a model write some."
    if diagnosis.place is not None:
        return "Phrases that say what this tool does, and the tools before it do not, would bring it forward."
    nearest = f" The nearest is “{diagnosis.tool.phrase}”." if diagnosis.tool.phrase else ""
    if not any(match.phrases for match in diagnosis.words):
        return f"No phrase of the tool has a word of the request.{nearest} {_PHRASE}"
    if not _comes_near(diagnosis):
        return f"No phrase of the tool says what the request says.{nearest} {_PHRASE}"
    return (
        f"Its phrases come near.{nearest} Ask for more tools (k), or make the phrases of the tools before it narrower."
    )


def wants_phrase(diagnosis: Diagnosis) -> bool:
    """Return whether `advice` asks for another phrase of the tool."""
    if not advice(diagnosis) or diagnosis.refusal is not None or not diagnosis.words:
        return False
    return diagnosis.place is not None or not _comes_near(diagnosis)


def _comes_near(diagnosis: Diagnosis) -> bool:
    """Return whether the tool's phrases have a word of the request, and a list of phrases ranks the tool high."""
    ranks = {place.signal: place.rank for place in diagnosis.lists}
    is_near = any((ranks.get(signal) or _NEAR + 1) <= _NEAR for signal in (Signal.EXPANSION, Signal.DENSE))
    return is_near and any(match.phrases for match in diagnosis.words)


def score_text(score: float) -> str:
    """Return a score with four significant digits: those of recipes that fuse ranks differ in the fourth decimal."""
    return f"{score:.4g}"


def why_assumed(signal: str) -> str:
    """Return why a list contributes to the score of a tool that it does not hold."""
    if signal == Signal.EXPANSION:
        return "assumed: the tool has no expansion"
    return "assumed: the tool is described in another language"


def _is_always(diagnosis: Diagnosis) -> bool:
    return any(tool.tool_id == diagnosis.tool.tool_id for tool in diagnosis.answer.always)


def _size(diagnosis: Diagnosis) -> str:
    """Return how many tools the answer has, and what left how many out of it."""
    counts = Counter(out.by for out in diagnosis.answer.dropped if out.by in _LIMITS)
    out = _and([f"{_LIMITS[by]} left {count} out" for by, count in counts.items()])
    return f"the answer has {len(diagnosis.answer)}{': ' if out else ''}{out}"


def _best(diagnosis: Diagnosis) -> ListPlace | None:
    ranked = [place for place in diagnosis.lists if place.rank is not None]
    return min(ranked, key=lambda place: place.rank or 0, default=None)


def _and(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)
