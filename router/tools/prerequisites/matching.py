"""Which tool resolves what another needs: the edges of the prerequisite graph, from the records of one catalog."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from router.record import ToolRecord
from router.text import identifier_words
from router.tools.prerequisites.needs import Need, NeedKind, find_needs
from router.tools.prerequisites.nouns import nouns_of, path_of
from router.tools.prerequisites.offers import Offer, find_offer


class Evidence(StrEnum):
    """What shows that one tool resolves what another needs, the strongest first."""

    LINK = "link"
    MENTION = "mention"
    OUTPUT = "output"
    NAME = "name"


@dataclass(frozen=True, slots=True)
class Prerequisite:
    """One edge: the tool `needed` finds what `tool_id` needs as `parameter`.

    `noun` is the thing that the value identifies. `confidence` is from 0 to 1. `because` says in words what shows it.
    `of_own` says that the resolver knows what is the caller's alone: `/me/albums`.
    """

    tool_id: str
    parameter: str
    kind: NeedKind
    noun: str
    needed: str
    confidence: float
    evidence: Evidence
    because: str
    of_own: bool = False


_LEAST_CONFIDENCE = 0.6
_MOST_RESOLVERS = 3  # for each need
_LEAST_OF_BEST = 0.75  # share of the best resolver's confidence that another must reach
_MODIFIER = 0.8  # for each word of what a tool returns that the need does not have
_TAIL = 0.9  # for what a name says after the noun: `teams_with_access_to_the_branch`
_CHAINED = 0.85  # for each need of the resolver's own


@dataclass(frozen=True, slots=True)
class _Tool:
    record: ToolRecord
    needs: tuple[Need, ...]
    offer: Offer
    context: frozenset[str]  # the words of its name and path, and of what it needs


def find_prerequisites(records: Iterable[ToolRecord]) -> tuple[Prerequisite, ...]:
    """Return the edges of a catalog, by tool id, parameter and falling confidence.

    Only a tool of the same provider knows an identifier, so a tool without a provider has no edge. A point on earth is
    the same for all: where no tool of the provider finds it, those of others may.
    """
    by_provider: dict[str, list[ToolRecord]] = defaultdict(list)
    for record in records:
        if record.provider:
            by_provider[record.provider].append(record)
    edges: list[Prerequisite] = []
    groups = [_tools(group) for _, group in sorted(by_provider.items())]
    geocoders = [tool for group in groups for tool in group if tool.offer.geocodes and tool.offer.reads]
    for group in groups:
        edges += _of_provider(group, geocoders)
    return tuple(sorted(edges, key=lambda edge: (edge.tool_id, edge.parameter, -edge.confidence, edge.needed)))


def _tools(records: Sequence[ToolRecord]) -> list[_Tool]:
    marks_required = any("required" in record.input_schema for record in records)
    return [_tool(record, marks_required) for record in records]


def _of_provider(tools: Sequence[_Tool], geocoders: Sequence[_Tool]) -> list[Prerequisite]:
    if not any(tool.needs for tool in tools):
        return []
    offering = [tool for tool in tools if tool.offer.reads or tool.offer.signs_in]
    names = _names(tools)
    edges = []
    for tool in tools:
        for need in tool.needs:
            found = _resolvers(tool, need, offering, names)
            if not found and need.or_noun not in ((), need.noun):
                found = _resolvers(tool, replace(need, noun=need.or_noun), offering, names)
            if not found and need.kind is NeedKind.COORDINATES:
                found = _resolvers(tool, need, geocoders, {})
            edges += found
    return edges


def _resolvers(
    tool: _Tool, need: Need, offering: Sequence[_Tool], names: Mapping[str, re.Pattern[str]]
) -> list[Prerequisite]:
    """Return the edges of one need, the surest first: those that are sure enough, and nearly as sure as the best."""
    found = [edge for other in offering if other is not tool and (edge := _edge(tool, need, other, names))]
    found.sort(key=lambda edge: (-edge.confidence, edge.needed))
    least = max(_LEAST_CONFIDENCE, _LEAST_OF_BEST * found[0].confidence) if found else 0.0
    return [edge for edge in found[:_MOST_RESOLVERS] if edge.confidence >= least]


def _tool(record: ToolRecord, marks_required: bool) -> _Tool:
    needs = find_needs(record, marks_required=marks_required)
    words = nouns_of([*identifier_words(record.name), *identifier_words(path_of(record))])
    return _Tool(
        record, needs, find_offer(record), frozenset((*words, *(word for need in needs for word in need.noun)))
    )


def _edge(tool: _Tool, need: Need, other: _Tool, names: Mapping[str, re.Pattern[str]]) -> Prerequisite | None:
    found = _match(tool, need, other, names)
    if found is None:
        return None
    confidence, evidence, because = found
    return Prerequisite(
        tool.record.tool_id,
        need.parameter,
        need.kind,
        " ".join(need.noun),
        other.record.tool_id,
        round(confidence, 3),
        evidence,
        because,
        other.offer.of_own,
    )


def _match(
    tool: _Tool, need: Need, other: _Tool, names: Mapping[str, re.Pattern[str]]
) -> tuple[float, Evidence, str] | None:
    """Return the confidence that a tool resolves a need, with its evidence; None where it does not."""
    offer = other.offer
    name = names.get(other.record.tool_id)
    if name and name.search(need.text):
        return 1.0, Evidence.MENTION, f"{need.parameter} is described as {need.text.strip()[:160]!r}"
    if need.kind is NeedKind.SESSION:
        return (0.8, Evidence.NAME, f"{other.record.name} signs in") if offer.signs_in else None
    if not offer.reads or _needs_same(other, need):
        return None
    if need.kind is NeedKind.COORDINATES:
        return _coordinates(other)
    if offer.is_one and not offer.takes_words and not offer.of_self:
        return None  # the current window, the next game
    returned, evidence = _returned(tool, need, other)
    if not returned:
        return None
    confidence = returned * _method(other) * _CHAINED ** len(other.needs)
    return confidence, evidence, _because(need, other, evidence)


def _needs_same(other: _Tool, need: Need) -> bool:
    """Return whether a tool itself needs what it should resolve."""
    return any(
        own.kind is need.kind and (not own.noun or not need.noun or own.noun[-1] == need.noun[-1])
        for own in other.needs
    )


def _coordinates(other: _Tool) -> tuple[float, Evidence, str] | None:
    offer = other.offer
    if offer.geocodes:
        return 1.0, Evidence.NAME, f"{other.record.name} geocodes"
    if offer.outputs_coordinates and offer.takes_words:
        return 0.9, Evidence.OUTPUT, f"{other.record.name} returns a latitude"
    heads = {nouns[-1] for nouns in offer.nouns}
    if heads & {"location", "place", "address", "city", "coordinate"} and offer.takes_words:
        return 0.7, Evidence.NAME, f"{other.record.name} finds places"
    return None


def _returned(tool: _Tool, need: Need, other: _Tool) -> tuple[float, Evidence]:
    """Return how well what a tool returns is what the need identifies, from 0 to 1."""
    if not need.noun:
        return 0.0, Evidence.NAME
    head, offer = need.noun[-1], other.offer
    best, evidence = 0.0, Evidence.NAME
    for nouns in offer.nouns:
        if nouns[-1] == head:
            best = max(best, _MODIFIER ** sum(word not in tool.context for word in nouns[:-1]))
    if offer.tail:
        best *= _TAIL
    if not offer.nouns and offer.searches:  # a search of everything
        best = max(best, 0.9 if head in offer.enum or head in offer.told else 0.0 if offer.told else 0.65)
    if offer.of_self and head in _PERSONS:
        best = max(best, 0.9)
    if head in offer.outputs:
        best, evidence = max(best, 0.9), Evidence.OUTPUT
    elif best and "" in offer.outputs:
        evidence = Evidence.OUTPUT
    return best, evidence


_PERSONS = frozenset("account member owner person profile user".split())


def _method(other: _Tool) -> float:
    """Return how well a tool can be asked in a person's words."""
    offer = other.offer
    if offer.takes_words and (offer.searches or not other.needs):
        return 1.0
    if offer.searches and not other.record.parameters:
        return 0.95  # a search whose parameters are not told
    return 0.85


def _because(need: Need, other: _Tool, evidence: Evidence) -> str:
    verb = "returns the id of" if evidence is Evidence.OUTPUT else "finds"
    return f"{other.record.name} {verb} a {' '.join(need.noun)}"


def _names(tools: Sequence[_Tool]) -> dict[str, re.Pattern[str]]:
    """Return for each tool a pattern that finds its name in prose; one that matches nothing for a plain word."""
    patterns = {}
    for tool in tools:
        provider = set(identifier_words(tool.record.provider or ""))
        words = identifier_words(tool.record.name)
        while words and words[0] in provider:
            words = words[1:]
        patterns[tool.record.tool_id] = (
            re.compile(r"\b" + r"[\s_.\-']*".join(map(re.escape, words)) + r"\b", re.IGNORECASE)
            if len(words) > 1
            else _NOTHING
        )
    return patterns


_NOTHING = re.compile(r"(?!)")
