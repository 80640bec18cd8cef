"""The router: a request in, the few tools that fit out, with the reasons."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from router.asking import Found, clean, encode, find, fits, rank
from router.contract import Manifest, Signal
from router.errors import RequestInvalid, SettingsInvalid
from router.packing import pack
from router.recipe import RECIPES, Recipe
from router.record import ToolRecord
from router.retrievers import Ranking
from router.routed import RoutedTool, RoutedTools
from router.snapshot import Snapshot


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
        `recipe` is a Recipe, the name of one ("default", "adaptive", "published", "lexical"), or None for the
        snapshot's own. `explain=True` adds ranks, contributions and the matching phrase to each tool. Raises
        RequestInvalid for an empty request or k < 1, SettingsInvalid for an unknown recipe.
        """
        if k < 1:
            raise RequestInvalid(f"k is {k}, it must be at least 1")
        chosen = self.recipe(recipe)
        found = find(self._snapshot, clean(request), chosen)
        tools = tuple(
            self._tool(found, int(ordinal), float(score), found.rankings if explain else None)
            for ordinal, score in zip(found.ranking.ordinals[:k], found.ranking.scores[:k], strict=True)
        )
        fit = fits(self._snapshot, found, chosen)
        probability, some = fit or (None, True)
        return RoutedTools(tools, self.manifest.snapshot, chosen.name, probability, not some, found.steps.texts)

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
        found = find(self._snapshot, clean(request), self.recipe(None)).ranking
        taken = pack(self._snapshot.token_counts[found.ordinals].tolist(), token_budget, k)
        return [self._snapshot.records.entry(int(found.ordinals[position])).record for position in taken]

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
        # A tool that stands under its twin has a place of its own here.
        found = find(self._snapshot, clean(request), replace(chosen, collapse=False))
        place = found.ranking.rank_of(ordinal)
        score = float(found.ranking.scores[place - 1]) if place else 0.0
        whole = rank(self._snapshot, found.request, chosen, max(len(self), 1))
        return self._tool(found, ordinal, score, whole), place

    def rankings(self, request: str, *, recipe: str | Recipe | None = None) -> dict[Signal, Ranking]:
        """Each signal's own ranking, before fusion: ordinals and raw scores, for evaluation and study."""
        chosen = self.recipe(recipe)
        asked = encode(self._snapshot, [clean(request)], chosen)[0]
        return rank(self._snapshot, asked, chosen, chosen.depth)

    def lists(self, request: str, *, recipe: str | Recipe | None = None) -> tuple[Mapping[Signal, Ranking], Ranking]:
        """Each signal's own ranking of the whole request, and the fused one that `route` cuts to k."""
        found = find(self._snapshot, clean(request), self.recipe(recipe))
        return found.rankings, found.ranking

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

    def _tool(self, found: Found, ordinal: int, score: float, rankings: Mapping[Signal, Ranking] | None) -> RoutedTool:
        """A tool of an answer; explained by its ranks in `rankings`, where there are any."""
        entry = self._snapshot.records.entry(ordinal)
        also = tuple(self._snapshot.records.tool_id(twin) for twin in found.twins.get(ordinal, ()))
        routed = RoutedTool(entry.record.tool_id, entry.record, score, also_from=also)
        if rankings is None:
            return routed
        held = found.whole.rank_of(ordinal)
        contributions, assumed = (found.contributions[held - 1], float(found.assumed[held - 1])) if held else ({}, 0.0)
        step, gain = None, 0.0
        if found.covered is not None and (place := found.covered.ranking.rank_of(ordinal)):
            share, gain = found.steps.share, float(found.covered.gains[place - 1])
            contributions = {signal: share * part for signal, part in contributions.items()}
            which = int(found.covered.steps[place - 1])
            step, assumed = found.steps.texts[which] if which >= 0 else None, share * assumed
        return replace(
            routed,
            ranks=_ranks(rankings, ordinal),
            contributions=contributions,
            phrase=self._phrase(found.request.moved, ordinal, entry.phrases),
            assumed=assumed,
            step=step,
            gain=gain,
        )

    def _phrase(self, moved: NDArray[np.float32] | None, ordinal: int, phrases: tuple[str, ...]) -> str | None:
        if moved is None or self._snapshot.dense is None:
            return None
        best = self._snapshot.dense.best_phrase(moved, ordinal)
        return None if best is None else phrases[best]


def _ranks(rankings: Mapping[Signal, Ranking], ordinal: int) -> dict[Signal, int]:
    found = {signal: ranking.rank_of(ordinal) for signal, ranking in rankings.items()}
    return {signal: rank for signal, rank in found.items() if rank is not None}
