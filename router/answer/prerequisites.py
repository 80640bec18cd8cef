"""What the tools of a snapshot need first, by id: as people and programs ask for it, and as an answer names it."""

from collections.abc import Iterable
from dataclasses import dataclass

from router.answer.results import NeededBy
from router.snapshot.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class ToolResolver:
    """A tool that resolves what another needs.

    Attributes:
        tool_id: The tool's id.
        confidence: How sure that is, from 0 to 1.
    """

    tool_id: str
    confidence: float


@dataclass(frozen=True, slots=True)
class ToolNeed:
    """A value that a tool needs and people do not say.

    Attributes:
        parameter: The path of its parameter: `person_id`.
        kind: "identifier", "coordinates" or "session".
        noun: What the value identifies: "person"; empty where nothing says.
        resolvers: The tools that find it, the surest first.
    """

    parameter: str
    kind: str
    noun: str
    resolvers: tuple[ToolResolver, ...]


def needs_of(snapshot: Snapshot, ordinal: int) -> tuple[ToolNeed, ...]:
    """Return what a tool needs, with the served tools that resolve it; needs without such a tool are left out."""
    graph = snapshot.prerequisites
    needs = []
    for need in graph.needs(ordinal) if graph is not None else ():
        resolvers = tuple(
            ToolResolver(snapshot.records.tool_id(resolver.ordinal), resolver.confidence)
            for resolver in need.resolvers
            if resolver.ordinal != ordinal and _is_served(snapshot, resolver.ordinal)
        )
        if resolvers:
            needs.append(ToolNeed(need.parameter, str(need.kind), need.noun, resolvers))
    return tuple(needs)


def needed_by(snapshot: Snapshot, ordinal: int) -> tuple[NeededBy, ...]:
    """Return the served tools that need a tool to run first, by id and parameter."""
    graph = snapshot.prerequisites
    needing = graph.needing(ordinal) if graph is not None else ()
    named = name_dependents(snapshot, ((other, name) for other, name in needing if _is_served(snapshot, other)))
    return tuple(sorted(named, key=lambda needed: (needed.tool_id, needed.parameter)))


def name_dependents(snapshot: Snapshot, dependents: Iterable[tuple[int, str]]) -> tuple[NeededBy, ...]:
    """Return tools that need another, given as ordinals with parameters, by id."""
    return tuple(NeededBy(snapshot.records.tool_id(ordinal), parameter) for ordinal, parameter in dependents)


def _is_served(snapshot: Snapshot, ordinal: int) -> bool:
    return snapshot.served is None or bool(snapshot.served.mask[ordinal])
