"""Brings the tools that must run first: a tool of the answer needs what the request does not say, another finds it.

    score(resolver) = max(own, .95 × score(tool) × min(1, share / .6)^½)

for each of the first eight tools and each of its needs, where `share` is that of the tool's provider in the scores of
the first eight: a request about one service wants its whole chain, one that ten services could answer wants the tools
themselves. A resolver that needs something itself brings its own, one step further. No more than three tools are
brought. See docs/decisions/prerequisites.md.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec
import numpy as np

from router.query.identifiers import RequestIdentifiers, find_identifiers
from router.retrieval.prerequisite_graph import PrerequisiteGraph, Resolver, UnmetNeed
from router.retrieval.retrievers import Ranking
from router.tools.prerequisites import NeedKind

_TOOLS = 8  # whose needs are looked at
_MOST_BROUGHT = 3
_STEPS = 2
_FACTOR = 0.95
_SHARE_POWER = 0.5
_SATURATED = 0.6  # share of a provider from which nothing is taken off
_NEAR = 0.05  # confidence within which the resolver that the request ranks higher is taken
_NOT_MINE = 0.8

# From a resolver's ordinal to that of the tool which an answer shows for it: itself, or a duplicate that is ranked
# higher; None where the answer may have neither.
Shown = Callable[[int], int | None]


class Dependent(NamedTuple):
    """The tool that needs another, by ordinal, and the parameter that it needs it for."""

    ordinal: int
    parameter: str


class BroughtTools(msgspec.Struct, frozen=True):
    """A ranking with the tools that must run first.

    `dependents` are by ordinal the tools that need each. `score_boosts` are by ordinal what being needed added to the
    score; only the tools that were brought have one.
    """

    ranking: Ranking
    dependents: Mapping[int, tuple[Dependent, ...]]
    score_boosts: Mapping[int, float]


def bring_prerequisites(ranking: Ranking, request: str, graph: PrerequisiteGraph, shown: Shown) -> BroughtTools:
    """Return a ranking in which each of the first tools is followed by the tools that it needs.

    A tool that stands higher by its own score stays there. No two tools of the answer need each other.
    """
    first = ranking.ordinals[:_TOOLS].tolist()
    needs = {ordinal: graph.needs(ordinal) for ordinal in first}
    if not any(needs.values()):
        return BroughtTools(ranking, {}, {})
    return _PrerequisiteInserter(ranking, find_identifiers(request), graph, needs, shown).run(first)


class _PrerequisiteInserter:
    """The prerequisites of one request: the tools brought so far, with their scores and where they follow."""

    def __init__(
        self,
        ranking: Ranking,
        identifiers: RequestIdentifiers,
        graph: PrerequisiteGraph,
        needs: dict[int, tuple[UnmetNeed, ...]],
        shown: Shown,
    ) -> None:
        self._ranking = ranking
        self._ranks = dict(zip(ranking.ordinals.tolist(), range(len(ranking)), strict=True))
        self._identifiers = identifiers
        self._graph = graph
        self._known_needs = needs
        self._shown = shown
        self._dependents: dict[int, dict[Dependent, None]] = {}
        self._brought: dict[int, tuple[float, int]] = {}  # score, and the tool of the ranking that it follows

    def run(self, first: list[int]) -> BroughtTools:
        """Look at the needs of the first tools, and put what they bring into the ranking."""
        scores = self._ranking.scores[: len(first)].tolist()
        by_provider: dict[int, float] = {}
        for ordinal, score in zip(first, scores, strict=True):
            provider = self._graph.provider(ordinal)
            by_provider[provider] = by_provider.get(provider, 0.0) + max(score, 0.0)
        total = sum(by_provider.values())
        for ordinal, score in zip(first, scores, strict=True):
            if score > 0 and self._needs(ordinal):
                share = by_provider[self._graph.provider(ordinal)] / total
                self._follow(ordinal, _STEPS, score * min(1.0, share / _SATURATED) ** _SHARE_POWER, ordinal)
        if not self._brought:
            return BroughtTools(self._ranking, {o: tuple(found) for o, found in self._dependents.items()}, {})
        ranking, boosts = self._inserted()
        return BroughtTools(ranking, {o: tuple(found) for o, found in self._dependents.items()}, boosts)

    def _follow(self, ordinal: int, steps: int, score: float, root: int) -> None:
        """Bring what a tool needs at .95 of `score`, behind the tool `root` of the ranking."""
        for need in self._needs(ordinal):
            if self._is_met(need) or (resolver := self._resolver(need, ordinal)) is None:
                continue
            found = resolver.ordinal
            if found not in self._brought and found not in self._ranks and len(self._brought) >= _MOST_BROUGHT:
                continue
            self._dependents.setdefault(found, {})[Dependent(ordinal, need.parameter)] = None
            if self._ranks.get(found, len(self._ranks)) > self._ranks[root]:
                if found in self._brought or len(self._brought) < _MOST_BROUGHT:
                    self._brought[found] = max(self._brought.get(found, (0.0, root)), (_FACTOR * score, root))
                if steps > 1:
                    self._follow(found, steps - 1, _FACTOR * score, root)

    def _needs(self, ordinal: int) -> tuple[UnmetNeed, ...]:
        """Return what a tool needs; each tool's line is decoded once."""
        if ordinal not in self._known_needs:
            self._known_needs[ordinal] = self._graph.needs(ordinal)
        return self._known_needs[ordinal]

    def _is_met(self, need: UnmetNeed) -> bool:
        """Return whether the request brings what a tool needs."""
        if need.kind is NeedKind.COORDINATES:
            return self._identifiers.point
        return self._identifiers.has(need.noun)

    def _resolver(self, need: UnmetNeed, ordinal: int) -> Resolver | None:
        """Return the surest resolver; of nearly as sure ones that which the request ranks higher."""
        waiting = self._waiting_for(ordinal)
        allowed = [
            found._replace(ordinal=shown)
            for found in need.resolvers
            if (shown := self._shown(found.ordinal)) is not None and shown not in waiting
        ]
        if not allowed:
            return None
        least = max(map(self._confidence, allowed)) - _NEAR
        sure = (found for found in allowed if self._confidence(found) >= least)
        return min(sure, key=lambda f: (self._ranks.get(f.ordinal, len(self._ranks)), -f.confidence, f.ordinal))

    def _waiting_for(self, ordinal: int) -> set[int]:
        """Return a tool and those that need it, directly or through others: it cannot need one of them."""
        found, rest = {ordinal}, [ordinal]
        while rest:
            needing = {dependent.ordinal for dependent in self._dependents.get(rest.pop(), ())} - found
            found |= needing
            rest += needing
        return found

    def _confidence(self, resolver: Resolver) -> float:
        """Return how sure a resolver is, less of one for the caller's own where the request says "my" nowhere."""
        return resolver.confidence * (_NOT_MINE if resolver.of_own and not self._identifiers.says_mine else 1.0)

    def _inserted(self) -> tuple[Ranking, dict[int, float]]:
        """Return the ranking with the brought tools in their places, and what that added to their scores."""
        order, scores = self._ranking.ordinals.tolist(), self._ranking.scores.tolist()
        boosts = {}
        for found, (score, root) in sorted(self._brought.items(), key=lambda item: (-item[1][0], item[0])):
            place = order.index(root) + 1
            while place < len(order) and scores[place] >= score:
                place += 1
            own = 0.0
            if found in self._ranks:
                old = order.index(found)
                if old <= place:
                    continue
                order.pop(old)
                own = scores.pop(old)
            order.insert(place, found)
            scores.insert(place, min(score, scores[place - 1]))
            boosts[found] = scores[place] - own
        return Ranking(np.array(order, np.int64), np.array(scores)), boosts
