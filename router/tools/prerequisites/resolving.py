"""How surely one tool resolves what another needs, and what shows it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from router.record import ToolRecord
from router.text import identifier_words
from router.tools.lexicon.grammar import singular
from router.tools.lexicon.naming import parse_operation
from router.tools.prerequisites.needs import Need, find_needs, required_parameters
from router.tools.prerequisites.nouns import IDENTIFYING, NeedKind, bare_name, nouns_of, path_of
from router.tools.prerequisites.offers import Offer, find_offer


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
_SEARCH_UNTOLD = 0.65  # one that does not say what it searches
_OF_SELF = 0.9  # a tool about the caller, for a person's identifier
_OUTPUT = 0.75  # an identifier in what a tool returns, though its name says something else
_NO_OUTPUT = 0.7  # a tool that tells what it returns, and no identifier in it
_LISTED = 0.85  # a list, in which the caller must look
_UNTOLD_SEARCH = 0.95  # a search whose parameters are not told
_PERSONS = frozenset("account member owner person profile user".split())
_PLACES = frozenset("address city coordinate location place".split())


@dataclass(frozen=True, slots=True)
class Candidate:
    """A tool of a provider: what it needs, what it finds, and the words of its name, its path and its needs."""

    record: ToolRecord
    needs: tuple[Need, ...]
    offer: Offer
    words: frozenset[str]

    @classmethod
    def of(cls, record: ToolRecord, *, marks_required: bool) -> "Candidate":
        """Return a record with what it needs and finds; `marks_required` as in `find_needs`."""
        operation = parse_operation(replace(record, name=bare_name(record)), identifier_words(record.provider or ""))
        needs = find_needs(record, operation, marks_required=marks_required)
        words = nouns_of([*identifier_words(record.name), *identifier_words(path_of(record))])
        return cls(
            record, needs, find_offer(record, operation), frozenset([*words, *(word for n in needs for word in n.noun)])
        )


def resolve(tool: Candidate, need: Need, other: Candidate) -> Resolution | None:
    """Return how surely `other` resolves a need of `tool`, by what both say of themselves; None where it does not."""
    offer = other.offer
    if need.kind is NeedKind.SESSION:
        return Resolution(0.8, Evidence.NAME, f"{other.record.name} signs in") if offer.signs_in else None
    if not offer.reads or needs_the_same(other, need):
        return None
    if need.kind is NeedKind.COORDINATES:
        return _geocodes(other)
    if offer.is_one and not offer.takes_words and not offer.of_self:
        return None  # the current window, the next game
    returned, evidence, is_field = _returned(tool, need, other)
    if not returned:
        return None
    verb = "returns the identifier of" if evidence is Evidence.OUTPUT else "finds"
    because = f"{other.record.name} {verb}: {' '.join(need.noun)}"
    return Resolution(returned * _asked(other) * _CHAINED ** len(other.needs), evidence, because, is_field)


def needs_the_same(other: Candidate, need: Need) -> bool:
    """Return whether a tool itself needs what it should resolve."""
    return any(
        own.kind is need.kind and (not own.noun or not need.noun or own.noun[-1] == need.noun[-1])
        for own in other.needs
    )


def _geocodes(other: Candidate) -> Resolution | None:
    """Return how surely a tool turns words into a point on earth."""
    offer, name = other.offer, other.record.name
    if offer.geocodes:
        return Resolution(1.0, Evidence.NAME, f"{name} geocodes")
    if offer.outputs_coordinates and offer.takes_words:
        return Resolution(0.9, Evidence.OUTPUT, f"{name} returns a latitude")
    if offer.takes_words and any(nouns[-1] in _PLACES for nouns in offer.nouns):
        return Resolution(0.7, Evidence.NAME, f"{name} finds places")
    return None


def _returned(tool: Candidate, need: Need, other: Candidate) -> tuple[float, Evidence, bool]:
    """Return how well what a tool returns is what the need identifies, from 0 to 1, and whether it is a field of it."""
    offer, head = other.offer, need.noun[-1]
    # The name and the path may tell more or less of the same thing: what tells more counts.
    best = min((_overlap(nouns, tool.words) for nouns in offer.nouns if nouns[-1] == head), default=0.0)
    best *= _NARROWED if offer.is_narrowed else 1.0
    best *= _UNQUALIFIED if need.noun[:-1] and other.words.isdisjoint(need.noun[:-1]) else 1.0
    if not offer.nouns and offer.searches:
        is_told = head in offer.enum or head in offer.told
        best = _SEARCH_OF_ALL if is_told else 0.0 if offer.told else _SEARCH_UNTOLD
    if offer.of_self and head in _PERSONS:
        best = max(best, _OF_SELF)
    is_output = any(nouns[-1] == head and tool.words.issuperset(nouns) for nouns in offer.outputs if nouns)
    if best and (is_output or () in offer.outputs):
        return best, Evidence.OUTPUT, False
    if is_output:
        return _OUTPUT, Evidence.OUTPUT, True
    return best * (_NO_OUTPUT if offer.tells_outputs and not offer.outputs else 1.0), Evidence.NAME, False


def _overlap(nouns: Sequence[str], words: frozenset[str]) -> float:
    """Return less for each word before the head that the tool in need does not have."""
    return float(_MODIFIER ** sum(word not in words for word in nouns[:-1]))


def _asked(other: Candidate) -> float:
    """Return how well a tool can be asked in a person's words."""
    offer = other.offer
    if offer.takes_words and (offer.searches or not other.needs):
        return 1.0
    return _UNTOLD_SEARCH if offer.searches and not other.record.parameters else _LISTED


_POSSESSIVE = re.compile(r"['’]s?\b")
_ARTICLES = frozenset("a all an any each every its of one or some that the their this whose your".split())
# What follows says how it is found: "a customer's id by name".
_HOW = frozenset("based by for from given in matching named on using via when where which with".split())


def stated_thing(statement: str) -> tuple[str, ...]:
    """Return the words of the thing whose identifier a statement speaks of: "a customer's id by name" → customer.

    Empty for a statement that speaks of no identifier, or of one alone ("an id").
    """
    before: list[str] = []
    for word in identifier_words(_POSSESSIVE.sub(" ", statement)):
        if word in IDENTIFYING:
            return nouns_of(before)
        if word in _HOW:
            return ()
        if word not in _ARTICLES:
            before.append(word)
    return ()


def stated_needs(record: ToolRecord, known: Sequence[Need], statements: Sequence[str]) -> Iterator[Need]:
    """Yield a need for each statement of what a tool requires that names one of its required parameters.

    `known` are the needs that its schema tells: they are not told again.
    """
    taken = {need.parameter for need in known}
    for statement in statements:
        thing = stated_thing(statement)
        words = {singular(word) for word in identifier_words(statement)}
        for parameter in required_parameters(record) if thing else ():
            names = set(nouns_of(identifier_words(parameter.path.rsplit(".", 1)[-1])))
            if parameter.path not in taken and not parameter.enum and names & words:
                taken.add(parameter.path)
                yield Need(parameter.path, NeedKind.IDENTIFIER, thing, parameter.description)
                break
