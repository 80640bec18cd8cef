"""The reasons for each tool of an answer: ranks, contributions, the step and the phrase that matched."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from router.answer.results import NeededBy, RoutedTool
from router.contract import Signal
from router.retrieval.fusion import Contributions, reading_factor
from router.retrieval.recipe import Recipe
from router.retrieval.retrievers import Ranking
from router.search.search import SearchResult
from router.snapshot.snapshot import Snapshot


class Explainer:
    """Explains the tools `ordinals` of one search result by their ranks in `rankings`."""

    def __init__(
        self, snapshot: Snapshot, result: SearchResult, rankings: Mapping[Signal, Ranking], ordinals: Sequence[int]
    ) -> None:
        self._snapshot = snapshot
        self._phrases: dict[int, int | None] = {}
        if result.query.adapted_vector is not None and snapshot.dense is not None:
            nearest = snapshot.dense.best_phrases(result.query.adapted_vector, ordinals)
            self._phrases = dict(zip(ordinals, nearest, strict=True))
        self._result = result
        self._ranks = {str(signal): _ranks(ranking) for signal, ranking in rankings.items()}
        self._whole = _ranks(result.whole)
        self._covered = _ranks(result.covered.ranking) if result.covered else {}

    def tool(self, ordinal: int, score: float) -> RoutedTool:
        """Return a tool with its reasons."""
        entry = self._snapshot.records.entry(ordinal)
        contributions, assumed = self._contributions(ordinal)
        step, gain = None, 0.0
        if self._result.covered is not None and (rank := self._covered.get(ordinal)):
            share, gain = self._result.steps.share, float(self._result.covered.gains[rank - 1])
            contributions = {name: share * part for name, part in contributions.items()}
            step_number = int(self._result.covered.steps[rank - 1])
            step, assumed = self._result.steps.texts[step_number] if step_number >= 0 else None, share * assumed
        raised = self._result.score_boosts.get(ordinal, 0.0)
        return RoutedTool(
            entry.record.tool_id,
            entry.record,
            score,
            ranks={signal: ranks[ordinal] for signal, ranks in self._ranks.items() if ordinal in ranks},
            contributions=contributions,
            phrase=None if (best := self._phrases.get(ordinal)) is None else entry.phrases[best],
            by_person=best is not None and best < entry.by_person,
            assumed=assumed,
            step=step,
            gain=gain + raised,
            raised=raised,
            also_from=also_from(self._snapshot, self._result, ordinal),
        )

    def _contributions(self, ordinal: int) -> tuple[Contributions, float]:
        """Return what each list gave to a tool's fused score, and how much of it was assumed."""
        rank = self._whole.get(ordinal)
        if rank is None:
            return {}, 0.0
        return self._result.contributions[rank - 1], float(self._result.assumed[rank - 1])


def explain_reading(result: SearchResult, recipe: Recipe) -> tuple[str, ...]:
    """Return a sentence for each list that counts less because it could read only a part of the request."""
    return tuple(
        f"{signal}: read {100 * ranking.share_read:.0f} % of the request"
        for signal, ranking in result.rankings.items()
        if reading_factor(ranking, recipe) < 1
    )


def also_from(snapshot: Snapshot, result: SearchResult, ordinal: int) -> tuple[str, ...]:
    """Return the ids of a tool's duplicates that the answer leaves out."""
    duplicates = result.duplicates.get(ordinal)
    return tuple(map(snapshot.records.tool_id, duplicates)) if duplicates else ()


def _ranks(ranking: Ranking) -> dict[int, int]:
    """Return ranks, from 1, by ordinal."""
    # Every answer looks up fifty ranks: a dict is faster than the ranking's own search.
    return dict(zip(ranking.ordinals.tolist(), range(1, len(ranking) + 1), strict=True))


class ToolResolver(msgspec.Struct, frozen=True):
    """A tool that resolves what another needs.

    Attributes:
        tool_id: The tool's id.
        confidence: How sure that is, from 0 to 1.
    """

    tool_id: str
    confidence: float


class ToolNeed(msgspec.Struct, frozen=True):
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
    """Return what a tool needs, with the served tools that resolve it; needs without one are left out."""
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
