"""How surely one tool resolves what another needs, and what shows it."""

from enum import StrEnum
from typing import NamedTuple

from router.tools.prerequisites import NeedKind
from router.tools.prerequisites.candidates import Candidate
from router.tools.prerequisites.needs import Need


class Evidence(StrEnum):
    """What shows that one tool resolves what another needs, the strongest first."""

    LINK = "link"
    MENTION = "mention"
    OUTPUT = "output"
    NAME = "name"
    MODEL = "model"


class Resolution(NamedTuple):
    """How surely a tool resolves a need, from 0 to 1, and what shows it, in a word and in a sentence.

    `is_field` says that the identifier is a field of other things: `customer_id` in a list of orders.
    """

    confidence: float
    evidence: Evidence
    because: str
    is_field: bool = False


# See docs/decisions/prerequisites.md for these.
_MODIFIER = 0.8  # for each word of what a tool returns that the tool in need does not have
_UNQUALIFIED = 0.8  # where the need has words before its head, and the tool none of them
_NARROWED = 0.75  # for a condition: `teams_with_access_to_the_branch`
_CHAINED = 0.85  # for each need of the resolver's own
_SEARCH_OF_ALL = 0.9  # a search of everything, which names the thing
_SEARCH_OF_UNKNOWN = 0.65  # one that does not say what it searches
_OF_SELF = 0.9  # a tool about the caller, for a person's identifier
_OUTPUT = 0.75  # an identifier in what a tool returns, though its name says something else
_NO_OUTPUT = 0.7  # a tool that declares what it returns, and no identifier in it
_LISTED = 0.85  # a list, in which the caller must look
_UNDESCRIBED_SEARCH = 0.95  # a search without declared parameters
_PERSONS = frozenset("account member owner person profile user".split())
_PLACES = frozenset("address city coordinate location place".split())


def resolve(tool: Candidate, need: Need, other: Candidate) -> Resolution | None:
    """Return how surely `other` resolves a need of `tool`, by what both say of themselves; None where it does not."""
    name = other.record.name
    if need.kind is NeedKind.SESSION:
        return Resolution(0.8, Evidence.NAME, f"{name} signs in") if other.signs_in else None
    if not other.reads or needs_the_same(other, need):
        return None
    if need.kind is NeedKind.COORDINATES:
        return _geocodes(other)
    if other.is_one and not other.takes_words and not other.of_self:
        return None  # the current window, the next game
    returned, evidence, is_field = _returned(tool, need, other)
    if not returned:
        return None
    verb = "returns the identifier of" if evidence is Evidence.OUTPUT else "finds"
    confidence = returned * _asked(other) * _CHAINED ** len(other.needs)
    return Resolution(confidence, evidence, f"{name} {verb}: {' '.join(need.noun)}", is_field)


def needs_the_same(other: Candidate, need: Need) -> bool:
    """Return whether a tool itself needs what it should resolve."""
    return any(
        own.kind is need.kind and (not own.noun or not need.noun or own.noun[-1] == need.noun[-1])
        for own in other.needs
    )


def _geocodes(other: Candidate) -> Resolution | None:
    """Return how surely a tool turns words into a point on earth."""
    name = other.record.name
    if other.geocodes:
        return Resolution(1.0, Evidence.NAME, f"{name} geocodes")
    if other.outputs_coordinates and other.takes_words:
        return Resolution(0.9, Evidence.OUTPUT, f"{name} returns a latitude")
    if other.takes_words and any(nouns[-1] in _PLACES for nouns in other.nouns):
        return Resolution(0.7, Evidence.NAME, f"{name} finds places")
    return None


def _returned(tool: Candidate, need: Need, other: Candidate) -> tuple[float, Evidence, bool]:
    """Return how well what a tool returns is what the need identifies, from 0 to 1, and whether it is a field of it."""
    head = need.noun[-1]
    # The name and the path may say more or less about the same thing: what says more counts.
    missing = [sum(word not in tool.words for word in nouns[:-1]) for nouns in other.nouns if nouns[-1] == head]
    best = _MODIFIER ** max(missing) if missing else 0.0
    best *= _NARROWED if other.is_narrowed else 1.0
    best *= _UNQUALIFIED if need.noun[:-1] and other.words.isdisjoint(need.noun[:-1]) else 1.0
    if not other.nouns and other.searches:
        is_named = head in other.enum or head in other.named
        best = _SEARCH_OF_ALL if is_named else 0.0 if other.named else _SEARCH_OF_UNKNOWN
    if other.of_self and head in _PERSONS:
        best = max(best, _OF_SELF)
    is_output = any(nouns[-1] == head and tool.words.issuperset(nouns) for nouns in other.outputs if nouns)
    if best and (is_output or () in other.outputs):
        return best, Evidence.OUTPUT, False
    if is_output:
        return _OUTPUT, Evidence.OUTPUT, True
    return best * (_NO_OUTPUT if other.record.outputs and not other.outputs else 1.0), Evidence.NAME, False


def _asked(other: Candidate) -> float:
    """Return how well a tool can be asked in a person's words."""
    if other.takes_words and (other.searches or not other.needs):
        return 1.0
    return _UNDESCRIBED_SEARCH if other.searches and not other.record.parameters else _LISTED
