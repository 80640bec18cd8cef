"""The router: a request in, the few tools that fit out, with the reasons."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from router.adapter import adapted
from router.contract import Manifest, Signal
from router.errors import RequestInvalid, SettingsInvalid
from router.fusion import fuse
from router.packing import pack
from router.recipe import RECIPES, Recipe
from router.record import ToolRecord
from router.retrievers import Ranking
from router.snapshot import Snapshot
from router.text import terms, terms_by_language

# Characters. The encoder reads the first few hundred tokens and the lexical lists the first few hundred terms; a
# megabyte would cost a second to split.
_MAX_REQUEST = 20_000


@dataclass(frozen=True, slots=True)
class RoutedTool:
    """One tool of an answer.

    `score` is the fused score: it orders the tools of one answer and says nothing across answers. With `explain`,
    `ranks` and `contributions` hold each list that ranked the tool, and `phrase` the nearest of its generated phrases.
    Contributions add up to the score. `assumed` is how much of the expansion's contribution no list gave: in a catalog
    that is enriched in part, a tool without expansion is not placed behind the others for the lack of it.
    """

    tool_id: str
    record: ToolRecord
    score: float
    ranks: Mapping[Signal, int] = field(default_factory=dict)
    contributions: Mapping[Signal, float] = field(default_factory=dict)
    phrase: str | None = None
    assumed: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready dict, for programs."""
        return {
            "tool_id": self.tool_id,
            "score": self.score,
            "ranks": {str(signal): rank for signal, rank in self.ranks.items()},
            "contributions": {str(signal): part for signal, part in self.contributions.items()},
            "assumed": self.assumed,
            "phrase": self.phrase,
            "record": self.record.to_json(),
        }


@dataclass(frozen=True, slots=True)
class RoutedTools:
    """An answer: tools by falling score, the id of the one snapshot that gave it, and the recipe that made it."""

    tools: tuple[RoutedTool, ...]
    snapshot: str
    recipe: str
    fits: float | None = None
    none_fits: bool = False

    def __iter__(self) -> Iterator[RoutedTool]:
        return iter(self.tools)

    def __len__(self) -> int:
        return len(self.tools)

    def __getitem__(self, position: int) -> RoutedTool:
        return self.tools[position]

    @property
    def ids(self) -> tuple[str, ...]:
        """The tools' ids, best first."""
        return tuple(tool.tool_id for tool in self.tools)

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready dict, for programs."""
        return {
            "snapshot": self.snapshot,
            "recipe": self.recipe,
            "tools": [tool.to_json() for tool in self.tools],
        }


class Router:
    """Routes requests over one snapshot. Reading only: one router serves many threads."""

    def __init__(self, snapshot: Snapshot) -> None:
        """Internal: use `open`."""
        self._snapshot = snapshot

    @classmethod
    def open(cls, path: str | Path) -> "Router":
        """Open and verify a snapshot's folder, or a catalog's folder (`snapshots/<catalog>`) with CURRENT.

        Raises SnapshotInvalid where there is none, or it is corrupt, or made for another version of the router.
        """
        return cls(Snapshot.open(Path(path)))

    @property
    def manifest(self) -> Manifest:
        """What the snapshot says of itself."""
        return self._snapshot.manifest

    def __len__(self) -> int:
        return len(self._snapshot.records)

    def record(self, tool_id: str) -> ToolRecord | None:
        """The record of a tool id; None where the snapshot has no such tool."""
        ordinal = self._snapshot.records.ordinal(tool_id)
        return None if ordinal is None else self._snapshot.records.entry(ordinal).record

    def route(
        self, request: str, *, k: int = 10, explain: bool = False, recipe: str | Recipe | None = None
    ) -> RoutedTools:
        """The `k` tools that best fit a request.

        An answer holds no more tools than the recipe's lists do together (`depth` each), so it may be shorter than k.
        `recipe` is a Recipe, the name of one ("default", "published", "lexical"), or None for the snapshot's own.
        `explain=True` adds ranks, contributions and the matching phrase to each tool. Raises RequestInvalid for an
        empty request or k < 1, SettingsInvalid for an unknown recipe.
        """
        if k < 1:
            raise RequestInvalid(f"k is {k}, it must be at least 1")
        chosen = self.recipe(recipe)
        request = _clean(request)
        vector = self._vector(request, chosen)
        rankings = self._rankings(request, vector, chosen, chosen.depth)
        fused, contributions, assumed = fuse(rankings, chosen, self._snapshot.expanded)
        tools = []
        for position in range(min(k, len(fused))):
            ordinal, score = int(fused.ordinals[position]), float(fused.scores[position])
            if explain:
                given = contributions[position], float(assumed[position])
                tools.append(self._explained(ordinal, score, rankings, given, vector))
            else:
                record = self._snapshot.records.entry(ordinal).record
                tools.append(RoutedTool(record.tool_id, record, score))
        return RoutedTools(tuple(tools), self.manifest.snapshot, chosen.name)

    def select(self, request: str, k: int = 5, token_budget: int | None = None) -> list[ToolRecord]:
        """The records alone, best first; with a budget, those of the candidates that fit it, at most `k`.

        Tokens are those of a tool in OpenAI's function form, counted at build time (`manifest.token_counter` says by
        what). Raises RequestInvalid for an empty request, k < 1 or a budget below 1.
        """
        if k < 1:
            raise RequestInvalid(f"k is {k}, it must be at least 1")
        if token_budget is None:
            return [tool.record for tool in self.route(request, k=k)]
        if token_budget < 1:
            raise RequestInvalid(f"token_budget is {token_budget}, it must be at least 1")
        chosen = self.recipe(None)
        fused, _, _ = fuse(self.rankings(request, recipe=chosen), chosen, self._snapshot.expanded)
        taken = pack(self._snapshot.token_counts[fused.ordinals].tolist(), token_budget, k)
        return [self._snapshot.records.entry(int(fused.ordinals[position])).record for position in taken]

    def explain(
        self, request: str, tool_id: str, *, recipe: str | Recipe | None = None
    ) -> tuple[RoutedTool, int | None]:
        """Why a tool ranks where it does: the tool with its rank in every whole list, and its fused rank.

        The fused rank is None where no list holds the tool within the recipe's depth. Raises RequestInvalid where
        the snapshot has no such tool.
        """
        ordinal = self._snapshot.records.ordinal(tool_id)
        if ordinal is None:
            raise RequestInvalid(f"the snapshot {self.manifest.snapshot} has no tool {tool_id!r}")
        chosen = self.recipe(recipe)
        request = _clean(request)
        vector = self._vector(request, chosen)
        whole = self._rankings(request, vector, chosen, max(len(self), 1))
        cut = {signal: ranking.cut(chosen.depth) for signal, ranking in whole.items()}
        fused, contributions, assumed = fuse(cut, chosen, self._snapshot.expanded)
        rank = fused.rank_of(ordinal)
        score = float(fused.scores[rank - 1]) if rank else 0.0
        given = (contributions[rank - 1], float(assumed[rank - 1])) if rank else ({}, 0.0)
        return self._explained(ordinal, score, whole, given, vector), rank

    def rankings(self, request: str, *, recipe: str | Recipe | None = None) -> dict[Signal, Ranking]:
        """Each signal's own ranking, before fusion: ordinals and raw scores, for evaluation and study."""
        chosen = self.recipe(recipe)
        request = _clean(request)
        return self._rankings(request, self._vector(request, chosen), chosen, chosen.depth)

    def tool_id(self, ordinal: int) -> str:
        """The tool id of an ordinal of `rankings`."""
        return self._snapshot.records.tool_id(ordinal)

    def recipe(self, recipe: str | Recipe | None = None) -> Recipe:
        """The recipe that a name stands for; the snapshot's own for None. Raises SettingsInvalid."""
        if recipe is None:
            return self._snapshot.recipe
        if isinstance(recipe, Recipe):
            return recipe
        if recipe not in RECIPES:
            raise SettingsInvalid(f"there is no recipe {recipe!r}: choose from {', '.join(RECIPES)}")
        return RECIPES[recipe]

    def _vector(self, request: str, recipe: Recipe) -> NDArray[np.float32] | None:
        if self._snapshot.encoder is None or not recipe.weights.get(Signal.DENSE):
            return None
        vector = self._snapshot.encoder.encode_request(request)
        if not recipe.adapter or self._snapshot.adapter is None:
            return vector
        return adapted(vector, self._snapshot.adapter)

    def _rankings(
        self, request: str, vector: NDArray[np.float32] | None, recipe: Recipe, depth: int
    ) -> dict[Signal, Ranking]:
        request_terms = terms(request)
        depth = min(depth, len(self))  # Tantivy reserves memory for as many hits as it is asked for
        languages = self.manifest.languages
        rankings = {
            signal: retriever.rank_by_language(terms_by_language(request, languages), depth)
            if signal is Signal.EXPANSION and len(languages) > 1
            else retriever.rank(request_terms, depth)
            for signal, retriever in self._snapshot.lexical.items()
            if recipe.weights.get(signal)
        }
        if vector is not None and self._snapshot.dense is not None:
            rankings[Signal.DENSE] = self._snapshot.dense.rank(vector, depth, recipe.dense_view)
        return rankings

    def _explained(
        self,
        ordinal: int,
        score: float,
        rankings: Mapping[Signal, Ranking],
        given: tuple[Mapping[Signal, float], float],
        vector: NDArray[np.float32] | None,
    ) -> RoutedTool:
        entry = self._snapshot.records.entry(ordinal)
        phrase = self._phrase(vector, ordinal, entry.phrases)
        contributions, assumed = given
        ranks = _ranks(rankings, ordinal)
        return RoutedTool(entry.record.tool_id, entry.record, score, ranks, contributions, phrase, assumed)

    def _phrase(self, vector: NDArray[np.float32] | None, ordinal: int, phrases: tuple[str, ...]) -> str | None:
        if vector is None or self._snapshot.dense is None:
            return None
        best = self._snapshot.dense.best_phrase(vector, ordinal)
        return None if best is None else phrases[best]


def _clean(request: str) -> str:
    """A request as it is searched: cut at a length that no list reads past, half surrogate pairs replaced."""
    request = request[:_MAX_REQUEST].encode("utf-8", "replace").decode("utf-8")
    if not request.strip():
        raise RequestInvalid("the request is empty: say what should be done")
    return request


def _ranks(rankings: Mapping[Signal, Ranking], ordinal: int) -> dict[Signal, int]:
    found = {signal: ranking.rank_of(ordinal) for signal, ranking in rankings.items()}
    return {signal: rank for signal, rank in found.items() if rank is not None}
