"""Which tool resolves what another needs: the edges of the prerequisite graph, from the records of one catalog."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from heapq import nsmallest
from itertools import dropwhile, islice
from typing import Any

from router.expansion import Expansion
from router.record import Kind, ToolRecord
from router.text import identifier_words
from router.tools.prerequisites import NeedKind
from router.tools.prerequisites.candidates import Candidate, Traits
from router.tools.prerequisites.needs import Need, stated_needs, stated_thing
from router.tools.prerequisites.resolving import Evidence, Resolution, needs_the_same, resolve

# Raise it with any change to the edges of a catalog.
PREREQUISITES_VERSION = 1


@dataclass(frozen=True, slots=True)
class Prerequisite:
    """One edge: the tool `needed` finds what `tool_id` needs as `parameter`.

    `noun` is the thing that the value identifies. `confidence` is from 0 to 1. `because` says in words what shows it.
    `of_own` says that the resolver knows only what is the caller's: `/me/albums`.
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


Edges = tuple[Prerequisite, ...]
# Returns a result for each group of tools, which may be one of an earlier call. It is given the name of what is found,
# the type of a result, the groups, and what computes the results of groups by their places.
Keep = Callable[[str, Any, Sequence[Sequence[ToolRecord]], Callable[[Sequence[int]], Sequence[Any]]], Sequence[Any]]
_LEAST_CONFIDENCE = 0.64
_MOST_RESOLVERS = 3  # for each need
_LEAST_OF_BEST = 0.85  # share of the best resolver's confidence that another must reach
_STATED = 0.7
_MOST_COMPARED = 100  # tools for one need
_MOST_NAME_WORDS = 8
_MOST_TEXT_WORDS = 100  # of what a vendor says of a parameter
_Found = list[tuple[Candidate, Resolution]]


def find_prerequisites(
    records: Iterable[ToolRecord],
    expansions: Mapping[str, Expansion] | None = None,
    keep: Keep = lambda name, kind, groups, compute: compute(range(len(groups))),
) -> tuple[Prerequisite, ...]:
    """Return the edges of a catalog, by tool id, parameter and falling confidence.

    `expansions`, by tool id, say what a model wrote that tools require and provide: it counts where nothing else does.
    Only a tool of the same provider knows an identifier, so a tool without a provider has no edge. A point on earth is
    the same for all: where no tool of the provider finds it, those of others may. Skills and prompts have no edges: an
    agent reads them. `keep` is asked for the edges of each provider's tools, None where they depend on others too, and
    for the traits of tools.
    """
    by_provider: dict[str, list[ToolRecord]] = defaultdict(list)
    for record in sorted(records, key=lambda record: record.tool_id):
        if record.provider and record.kind is Kind.TOOL:
            by_provider[record.provider].append(record)
    groups = [group for _, group in sorted(by_provider.items())]
    providers: dict[int, _Provider] = {}

    def alone(places: Sequence[int]) -> list[Edges | None]:
        candidates = _candidates([groups[place] for place in places], keep)
        providers.update(zip(places, (_Provider(tools, expansions or {}) for tools in candidates), strict=True))
        return [tuple(p.edges(())) if (p := providers[place]).is_alone else None for place in places]

    found = keep("prerequisites", Edges | None, groups, alone)
    others = [providers[place] for place, edges in enumerate(found) if edges is None]
    geocoders = [tool for provider in others for tool in provider.geocoders][:_MOST_COMPARED]
    found = [*found, *(tuple(provider.edges(geocoders)) for provider in others)]
    edges = (edge for of_provider in found if of_provider for edge in of_provider)
    return tuple(sorted(edges, key=lambda edge: (edge.tool_id, edge.parameter, -edge.confidence, edge.needed)))


def _candidates(groups: Sequence[Sequence[ToolRecord]], keep: Keep) -> list[list[Candidate]]:
    """Return the tools of each provider as candidates."""

    def add(name: str, *, marks_required: bool) -> None:
        marking = (group for group in groups if any("required" in r.input_schema for r in group) is marks_required)
        tools = [tool for group in marking for tool in group]
        read = partial(Traits.of, marks_required=marks_required)
        found = keep(name, Traits, [[tool] for tool in tools], lambda places: [read(tools[place]) for place in places])
        traits.update(zip((tool.tool_id for tool in tools), found, strict=True))

    traits: dict[str, Traits] = {}
    add("traits", marks_required=True)
    add("unmarked traits", marks_required=False)
    return [[Candidate(record=tool, **vars(traits[tool.tool_id])) for tool in group] for group in groups]


class _Provider:
    """The tools of one provider, with those that find something by what they find."""

    def __init__(self, tools: Sequence[Candidate], expansions: Mapping[str, Expansion]) -> None:
        self._tools = tools
        self._expansions = expansions
        self._by_name = {name: tool for tool in self._tools if len(name := _name_words(tool.record)) > 1}
        offering = [tool for tool in self._tools if tool.reads or tool.signs_in]
        # Of too many to compare, the likely ones: searches, and tools that need nothing themselves.
        offering.sort(key=lambda tool: (not tool.searches, len(tool.needs), tool.record.tool_id))
        self._reading = [tool for tool in offering if tool.reads]
        self.geocoders = [tool for tool in offering if tool.geocodes]
        # No tool of another provider matters to it, or needs it.
        self.is_alone = not self.geocoders and all(
            need.kind is not NeedKind.COORDINATES for tool in self._tools for need in tool.needs
        )
        self._anywhere = [tool for tool in offering if not tool.nouns or tool.of_self or tool.signs_in]
        self._by_noun: dict[str, list[Candidate]] = defaultdict(list)
        self._linking: dict[tuple[str, str], list[Candidate]] = defaultdict(list)
        self._providing: dict[str, list[Candidate]] = defaultdict(list)
        for tool in offering:
            for noun in dict.fromkeys(nouns[-1] for nouns in (*tool.nouns, *sorted(tool.outputs)) if nouns):
                self._by_noun[noun].append(tool)
            for link in tool.record.links:
                if link.expression.startswith("$response."):  # it does not find a value of its request
                    self._linking[link.tool, link.parameter].append(tool)
            written = expansions.get(tool.record.tool_id)
            things = map(stated_thing, written.provides if written else ())
            for noun in dict.fromkeys(thing[-1] for thing in things if thing):
                self._providing[noun].append(tool)

    def edges(self, geocoders: Sequence[Candidate]) -> Iterator[Prerequisite]:
        """Yield the edges of all tools; `geocoders` are those of every provider."""
        for tool in self._tools:
            written = self._expansions.get(tool.record.tool_id)
            stated = stated_needs(tool.record, tool.needs, written.requires) if written else ()
            for need in (*tool.needs, *stated):
                found = self._resolvers(tool, need)
                if not found and need.or_noun not in ((), need.noun):
                    found = self._resolvers(tool, replace(need, noun=need.or_noun))
                if not found and need.kind is NeedKind.COORDINATES:
                    found = _surest(tool, need, _compared(tool, need, geocoders))
                yield from found or self._stated(tool, need)

    def _stated(self, tool: Candidate, need: Need) -> list[Prerequisite]:
        """Return the edges of a need to the tools of which the model says that they provide it."""
        providing = self._providing.get(need.noun[-1], ())[:_MOST_COMPARED] if need.noun else ()
        stated = Resolution(_STATED, Evidence.MODEL, f"the model says that it provides: {' '.join(need.noun)}")
        return _surest(tool, need, [(other, stated) for other in providing if not needs_the_same(other, need)])

    def _resolvers(self, tool: Candidate, need: Need) -> list[Prerequisite]:
        named = self._named(tool, need)
        if any(not (other.reads or other.signs_in) for other in named):
            return []  # the vendor says that another call makes it
        others = (other for other in self._candidates(need) if other not in named)
        found = [*named.items(), *_compared(tool, need, islice(others, _MOST_COMPARED))]
        if not all(resolution.is_field for _, resolution in found):
            found = [(other, resolution) for other, resolution in found if not resolution.is_field]
        return _surest(tool, need, found)

    def _named(self, tool: Candidate, need: Need) -> dict[Candidate, Resolution]:
        """Return the tools that the vendor names as those that give what a tool needs: by a link, or in words.

        A tool that needs the same does not give it: "the same id as in get_project", "not for delete_project".
        """
        because = f"{need.parameter} is described as {need.text.strip()[:160]!r}"
        found = {other: Resolution(1.0, Evidence.MENTION, because) for other in self._mentioned(tool, need)}
        for other in self._linking.get((tool.record.name, need.parameter), ()):
            because = f"the document of {other.record.name} links {need.parameter}"
            found[other] = Resolution(1.0, Evidence.LINK, because)
        return {o: resolution for o, resolution in found.items() if not (need.noun and needs_the_same(o, need))}

    def _candidates(self, need: Need) -> Iterable[Candidate]:
        """Return the tools that may resolve a need, each once."""
        if need.kind is NeedKind.COORDINATES:
            return self._reading
        return dict.fromkeys((*self._by_noun.get(need.noun[-1], ()), *self._anywhere)) if need.noun else ()

    def _mentioned(self, tool: Candidate, need: Need) -> Iterator[Candidate]:
        """Yield the tools whose names stand in what the vendor says of a parameter: "from search_airport"."""
        words = identifier_words(need.text)[:_MOST_TEXT_WORDS] if self._by_name else []
        for start in range(len(words)):
            for end in range(start + 2, min(start + _MOST_NAME_WORDS, len(words)) + 1):
                named = self._by_name.get(tuple(words[start:end]))
                if named is not None and named is not tool:
                    yield named


def _name_words(record: ToolRecord) -> tuple[str, ...]:
    """Return the words of a tool's name, without those of its provider before it."""
    provider = set(identifier_words(record.provider or ""))
    return tuple(dropwhile(provider.__contains__, identifier_words(record.name)))


def _compared(tool: Candidate, need: Need, others: Iterable[Candidate]) -> _Found:
    """Return the tools that resolve a need, by what they say of themselves."""
    return [(other, resolution) for other in others if (resolution := resolve(tool, need, other))]


def _surest(tool: Candidate, need: Need, resolutions: _Found) -> list[Prerequisite]:
    """Return the edges of one need, the surest first: those that are sure enough, and nearly as sure as the best."""
    others = [(other, resolution) for other, resolution in resolutions if other is not tool]
    surest = nsmallest(_MOST_RESOLVERS, others, key=lambda o: (-round(o[1].confidence, 3), o[0].record.tool_id))
    found = [
        Prerequisite(
            tool.record.tool_id,
            need.parameter,
            need.kind,
            " ".join(need.noun),
            other.record.tool_id,
            round(resolution.confidence, 3),
            resolution.evidence,
            resolution.because,
            other.of_own,
        )
        for other, resolution in surest
    ]
    least = max(_LEAST_CONFIDENCE, _LEAST_OF_BEST * found[0].confidence) if found else 0.0
    return [edge for edge in found if edge.confidence >= least]
