"""Recipes: how the rankings are made one. Settings that name themselves and travel in the manifest."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from router.contract import Signal
from router.errors import SettingsInvalid
from router.retrievers import DenseView


class Fusion(StrEnum):
    """RRF sums weight / (k + rank); CONVEX sums weight × min-max normalised score over the sum of weights."""

    RRF = "rrf"
    CONVEX = "convex"


@dataclass(frozen=True)
class Recipe:
    """One way to fuse. `k` damps the first ranks of RRF, `depth` is how many tools each list may hold.

    A signal without a weight is not computed; a signal that a snapshot lacks is absent, its weight unused.
    """

    name: str
    fusion: Fusion
    weights: Mapping[Signal, float]
    k: float = 60.0
    depth: int = 100
    dense_view: DenseView = DenseView.DOCUMENT

    def __post_init__(self) -> None:
        def reject(field: str, value: object, allowed: str) -> None:
            raise SettingsInvalid(f"recipe {self.name!r}: {field} is {value!r}, it must be {allowed}")

        for signal, weight in self.weights.items():
            if not 0 <= weight < float("inf"):
                reject(f"weights.{signal}", weight, "a number from 0 up")
        if not any(self.weights.values()):
            reject("weights", dict(self.weights), "positive for at least one signal")
        if not 0 <= self.k < float("inf"):
            reject("k", self.k, "a number from 0 up")
        if self.depth < 1:
            reject("depth", self.depth, "at least 1")

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready dict; `from_json` gives the recipe back."""
        return {**asdict(self), "weights": {str(signal): weight for signal, weight in self.weights.items()}}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> "Recipe":
        """A recipe from settings or a manifest. Raises SettingsInvalid, naming the field, on anything unknown."""
        unknown = set(row) - {"name", "fusion", "weights", "k", "depth", "dense_view"}
        if unknown:
            raise SettingsInvalid(f"recipe: unknown field {', '.join(sorted(unknown))}")
        try:
            return cls(
                name=str(row.get("name", "custom")),
                fusion=Fusion(row.get("fusion", Fusion.RRF)),
                weights={Signal(s): float(row["weights"][s]) for s in row["weights"]},
                k=float(row.get("k", 60.0)),
                depth=int(row.get("depth", 100)),
                dense_view=DenseView(row.get("dense_view", DenseView.DOCUMENT)),
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise SettingsInvalid(f"recipe: {error}") from error


def _weights(name: float, description: float, expansion: float, dense: float = 0.0) -> dict[Signal, float]:
    return dict(zip(Signal, (name, description, expansion, dense), strict=True))


# "Hybrid Lexical-Semantic Retrieval for Tool Selection in Agent Systems" (2026), as published.
PUBLISHED = Recipe("published", Fusion.RRF, _weights(1, 1, 2, 2), k=60)
LEXICAL = Recipe("lexical", Fusion.CONVEX, _weights(0.35, 0.35, 0.30))

# Chosen on eight settings (Azure MCP, MetaTool, UltraTool and ToolPicker with expansions, the first three and
# ToolRet-APIGen without): mean full@10 / ndcg@10 .931 / .829; the published recipe .922 / .792, k = 10 with .5/1/2/3
# .923 / .819, min-max convex .3/1/1/2 .928 / .832. A k of 60 is too flat for short lists of short documents.
DEFAULT = Recipe("default", Fusion.RRF, _weights(0.5, 1.5, 1.5, 2), k=5, dense_view=DenseView.MEAN)

RECIPES: Mapping[str, Recipe] = {recipe.name: recipe for recipe in (DEFAULT, PUBLISHED, LEXICAL)}
