"""Recipes: how the rankings are made one. Settings that name themselves and travel in the manifest."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any

from router.contract import Signal
from router.errors import SettingsInvalid
from router.retrieval.retrievers import DenseView


class Fusion(StrEnum):
    """RRF sums weight / (k + rank); CONVEX sums weight × normalised score over the sum of weights."""

    RRF = "rrf"
    CONVEX = "convex"


class Normalization(StrEnum):
    """How CONVEX makes the scores of two lists comparable.

    MINMAX moves a list's scores to [0, 1], so that the best tool of each list is as good as any other's. STANDARD
    counts by how many spreads of the whole catalog's scores a tool stands out: a list that is sure of a tool says so,
    and one that finds all alike has little to say, request by request.
    """

    MINMAX = "minmax"
    STANDARD = "standard"


@dataclass(frozen=True)
class Recipe:
    """One way to fuse. `depth` is how many tools each list may hold.

    RRF: `k` damps the first ranks; `adaptive` multiplies each weight, request by request, by how many spreads the
    list's best tool stands out. CONVEX: `normalization`. A signal without a weight is not computed; a signal that a
    snapshot lacks is absent, its weight unused.

    `adapter`: requests pass through the snapshot's query adapter, where it has one. `steps`: the steps of a request are
    asked each by itself too, and one answer covers them. `collapse`: one tool of several providers takes one place.
    """

    name: str
    fusion: Fusion
    weights: Mapping[str, float]
    k: float = 60.0
    depth: int = 100
    dense_view: DenseView = DenseView.DOCUMENT
    normalization: Normalization = Normalization.MINMAX
    adaptive: bool = False
    adapter: bool = False
    steps: bool = False
    collapse: bool = False

    def __post_init__(self) -> None:
        def reject(field: str, value: object, allowed: str) -> None:
            raise SettingsInvalid(f"recipe {self.name!r}: {field} is {value!r}, it must be {allowed}")

        if unknown := [str(signal) for signal in self.weights if signal not in set(Signal)]:
            reject("weights", unknown[0], f"a weight for {', '.join(Signal)}")
        # By plain names, so that they print as such; `Signal.NAME` finds them too.
        object.__setattr__(self, "weights", {str(signal): weight for signal, weight in self.weights.items()})
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
        return asdict(self)

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> "Recipe":
        """A recipe from settings or a manifest. Raises SettingsInvalid, naming the field, on anything unknown."""
        unknown = set(row) - {field.name for field in fields(cls)}
        if unknown:
            raise SettingsInvalid(f"recipe: unknown field {', '.join(sorted(unknown))}")
        try:
            return cls(
                name=str(row.get("name", "custom")),
                fusion=Fusion(row.get("fusion", Fusion.RRF)),
                weights={s: float(row["weights"][s]) for s in row["weights"]},
                k=float(row.get("k", 60.0)),
                depth=int(row.get("depth", 100)),
                dense_view=DenseView(row.get("dense_view", DenseView.DOCUMENT)),
                normalization=Normalization(row.get("normalization", Normalization.MINMAX)),
                adaptive=_flag(row, "adaptive"),
                adapter=_flag(row, "adapter"),
                steps=_flag(row, "steps"),
                collapse=_flag(row, "collapse"),
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise SettingsInvalid(f"recipe: {error}") from error


def _flag(row: Mapping[str, Any], name: str) -> bool:
    value = row.get(name, False)
    if not isinstance(value, bool):
        raise ValueError(f"{name} is {value!r}, it must be true or false")
    return value


def _weights(**by_signal: float) -> dict[str, float]:
    """Return a weight for every signal: 0 for those that are not named."""
    return {**dict.fromkeys(Signal, 0.0), **by_signal}


# "Hybrid Lexical-Semantic Retrieval for Tool Selection in Agent Systems" (2026), as published.
PUBLISHED = Recipe("published", Fusion.RRF, _weights(name=1, description=1, expansion=2, dense=2), k=60)
LEXICAL = Recipe("lexical", Fusion.CONVEX, _weights(name=0.35, description=0.35, expansion=0.30))

# Chosen on eleven settings: Azure MCP, UltraTool, MetaTool, ToolPicker and catalogs/demo with expansions, all but the
# fourth without, ToolRet-APIGen and BFCL without. Mean full@10 / ndcg@10, all with the adapter and the mean view:
#   RRF k = 60, 1/1/2/2                    .902 / .743    RRF k = 5, .5/1.5/1.5/2   .905 / .775
#   adaptive RRF k = 5, .3/.45/.6/2        .912 / .786    k = 10                    .913 / .785
#   min-max convex .3/.7/1/3               .908 / .788
#   standard scores .3/.4/.6/2             .916 / .796    .3/.45/.6/2 .915 / .796    .3/.7/1/2 .913 / .793
#   .4/.4/.6/2 .917 / .796    .2/.35/.7/2 .914 / .795    .3/.4/.8/2 .914 / .794
# Weights learned on four of the sets and measured on the fifth give no more (.849 against .853 with expansions), nor do
# weights that follow gaps, agreement of lists and the request's length, learned so (.782 against .788).
# Past requests count where a catalog has any: what 1 gains, and what it costs tools that were never used, stands in
# pipeline/learning/usage/intents.py.
_MEASURED = _weights(name=0.3, description=0.4, expansion=0.6, dense=2, intent=1)
DEFAULT = Recipe(
    "default",
    Fusion.CONVEX,
    _MEASURED,
    dense_view=DenseView.MEAN,
    normalization=Normalization.STANDARD,
    adapter=True,
    steps=True,
    collapse=True,
)
ADAPTIVE = Recipe(
    "adaptive",
    Fusion.RRF,
    _MEASURED,
    k=5,
    dense_view=DenseView.MEAN,
    adaptive=True,
    adapter=True,
    steps=True,
    collapse=True,
)

RECIPES: Mapping[str, Recipe] = {recipe.name: recipe for recipe in (DEFAULT, ADAPTIVE, PUBLISHED, LEXICAL)}
