"""Recipes: named settings for fusing rankings. A snapshot's manifest holds its own."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from typing import Any, Literal

import msgspec

from router.contract import Signal
from router.errors import SettingsInvalid
from router.retrieval.retrievers import DenseView

_GREATEST = 1_000_000  # products of greater numbers can overflow, and scores would be no numbers


class Fusion(StrEnum):
    """RRF sums weight / (k + rank); CONVEX sums weight × normalised score over the sum of weights.

    With `shortfall`, a tool's rank is its place + shortfall × (1 − its z-score / the best tool's).
    """

    RRF = "rrf"
    CONVEX = "convex"


class Normalization(StrEnum):
    """How CONVEX makes the scores of two lists comparable.

    MINMAX scales a list's scores to [0, 1], so the best tools of all lists are equal. STANDARD takes z-scores
    over the whole catalog, request by request: a list whose best tool stands out counts more than one whose tools are
    all alike.
    """

    MINMAX = "minmax"
    STANDARD = "standard"


@dataclass(frozen=True)
class Recipe:
    """Settings of one way to fuse.

    A signal without a weight is not ranked. The weight of a signal that a snapshot lacks is unused.

    Attributes:
        name: The name, which answers and reports show.
        fusion: How rankings become one.
        weights: Weights by signal.
        k: RRF: damps the first ranks.
        depth: How many tools each list may hold.
        dense_view: Which vectors score a tool in the dense list.
        normalization: CONVEX: how scores are made comparable.
        adaptive: RRF: multiply each weight by the z-score of the list's best tool.
        lead: RRF, adaptive: add this many times the best tool's lead over the tenth to that factor.
        shortfall: RRF: how many places a tool falls back where it lacks all of the best tool's z-score. A tool
            that the list lacks then ranks behind its last. 0: only places count.
        adapter: Pass requests through the snapshot's query adapter, where it has one.
        steps: Also rank each step of a request by itself, and cover them all in one answer.
        collapse: Give duplicates one place.
        prerequisites: Bring the tools that must run before those of the answer.
        implicit_needs: Bring a tool for what a request only implies, such as writing "to report.md".
        impute_non_english: Impute scores of name and description for tools that are described in another language,
            where the request is English.
        weigh_by_share_read: Multiply a list's weight by how much of the request it can read.
    """

    name: str
    fusion: Fusion
    weights: Mapping[str, float]
    k: float = 60.0
    depth: int = 100
    dense_view: DenseView = DenseView.DOCUMENT
    normalization: Normalization = Normalization.MINMAX
    adaptive: bool = False
    lead: float = 0.0
    shortfall: float = 0.0
    adapter: bool = False
    steps: bool = False
    collapse: bool = False
    prerequisites: bool = False
    implicit_needs: bool = False
    impute_non_english: bool = False
    weigh_by_share_read: bool = False

    def __post_init__(self) -> None:
        def reject(field: str, value: object, allowed: str) -> None:
            raise SettingsInvalid(f"recipe {self.name!r}: {field} is {value!r}, it must be {allowed}")

        if unknown := [str(signal) for signal in self.weights if signal not in set(Signal)]:
            reject("weights", unknown[0], f"a weight for {', '.join(Signal)}")
        # Keys become plain strings, which print as such; looking up `Signal.NAME` finds them too.
        object.__setattr__(self, "weights", {str(signal): weight for signal, weight in self.weights.items()})
        for signal, weight in self.weights.items():
            if not 0 <= weight <= _GREATEST:
                reject(f"weights.{signal}", weight, f"a number from 0 to {_GREATEST:,}")
        if not any(self.weights.values()):
            reject("weights", dict(self.weights), "positive for at least one signal")
        for field in ("k", "lead", "shortfall"):
            if not 0 <= getattr(self, field) <= _GREATEST:
                reject(field, getattr(self, field), f"a number from 0 to {_GREATEST:,}")
        if self.depth < 1:
            reject("depth", self.depth, "at least 1")

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict; `from_json` gives the recipe back."""
        return asdict(self)

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> "Recipe":
        """Return a recipe from settings or a manifest. Raises SettingsInvalid, naming what it does not know."""
        if unknown := set(row) - {field.name for field in fields(cls)}:
            raise SettingsInvalid(f"recipe: unknown field {', '.join(sorted(unknown))}")
        try:
            return msgspec.convert({"name": "custom", "fusion": Fusion.RRF, **row}, cls)
        except msgspec.ValidationError as error:
            raise SettingsInvalid(f"recipe: {error}") from error


def _weights(**by_signal: float) -> dict[str, float]:
    """Return a weight for every signal: 0 for those that are not named."""
    return {**dict.fromkeys(Signal, 0.0), **by_signal}


# "Hybrid Lexical-Semantic Retrieval for Tool Selection in Agent Systems" (2026), as published.
PUBLISHED = Recipe("published", Fusion.RRF, _weights(name=1, description=1, expansion=2, dense=2), k=60)
LEXICAL = Recipe("lexical", Fusion.CONVEX, _weights(name=0.35, description=0.35, expansion=0.30))

# See docs/decisions/fusion.md.
_MEASURED = _weights(name=0.3, description=0.4, expansion=0.6, dense=2, intent=1)
DEFAULT = Recipe(
    "default",
    Fusion.RRF,
    _MEASURED,
    k=100,
    dense_view=DenseView.MEAN,
    adaptive=True,
    lead=1,
    shortfall=100,
    adapter=True,
    steps=True,
    collapse=True,
    prerequisites=True,
    implicit_needs=True,
    impute_non_english=True,
    weigh_by_share_read=True,
)
STANDARD = replace(
    DEFAULT,
    name="standard",
    fusion=Fusion.CONVEX,
    normalization=Normalization.STANDARD,
    k=60.0,
    adaptive=False,
    lead=0.0,
    shortfall=0.0,
)
ADAPTIVE = replace(DEFAULT, name="adaptive", k=5, lead=0.0, shortfall=0.0)

RecipeName = Literal["default", "standard", "adaptive", "published", "lexical"]
RECIPES: Mapping[str, Recipe] = {recipe.name: recipe for recipe in (DEFAULT, STANDARD, ADAPTIVE, PUBLISHED, LEXICAL)}
