"""How one request is to be answered: all that `Router.route` takes beside the request, checked."""

from dataclasses import dataclass, field
from numbers import Integral
from typing import TypedDict

from router.answer.reranking import Reranking
from router.errors import RequestInvalid, SettingsInvalid
from router.provider_formats import Detail, Form
from router.retrieval.recipe import RECIPES, Recipe
from router.selection import Selection
from router.snapshot.snapshot import Snapshot


class RouteOptions(TypedDict, total=False):
    """What `Router.route` takes beside the request."""

    k: int
    explain: bool
    recipe: str | Recipe | None
    selection: Selection | None
    category: str | None
    category_confidence: float | None
    token_budget: int | None
    form: Form | str | None
    detail: Detail | str
    shorten: bool


@dataclass(frozen=True, slots=True)
class Options:
    """`category` and its `confidence`, from 0 to 1, come with the request: the router never invents one.

    `token_budget` holds for all tools of an answer, as tokens of `form`: OpenAI's where that is None, and then no
    provider's cap holds. `detail` is the most that is told of each, `shorten` whether full ones may be shortened where
    more tools then fit.
    """

    k: int = 10
    explain: bool = False
    recipe: str | Recipe | None = None
    selection: Selection = field(default_factory=Selection)
    category: str | None = None
    confidence: float | None = None
    token_budget: int | None = None
    form: Form | None = None
    detail: Detail = Detail.FULL
    shorten: bool = True
    rerank: Reranking | None = None

    def __post_init__(self) -> None:
        at_least_one("k", self.k)
        if self.token_budget is not None:
            at_least_one("token_budget", self.token_budget)
        if self.confidence is not None and not _is_share(self.confidence):
            raise RequestInvalid(f"category_confidence is {self.confidence!r}, it must be a number from 0 to 1")
        if not isinstance(self.category, str | None):
            raise RequestInvalid(f"category is {self.category!r}, it must be a text")
        if not isinstance(self.selection, Selection):
            raise SettingsInvalid(
                f"selection is {self.selection!r:.80}, it must be a Selection; `Selection.from_json` takes a dict"
            )
        if not isinstance(self.rerank, Reranking | None):
            raise SettingsInvalid(
                f"rerank is {self.rerank!r:.80}, it must be a Reranking; `Reranking` takes a function"
            )

    @property
    def plain(self) -> bool:
        """Whether the answer is the fused ranking, cut to k, and nothing more."""
        told = self.detail is Detail.FULL and self.token_budget is None and self.form is None
        return told and self.rerank is None and self.selection == _PLAIN


_PLAIN = Selection()


def at_least_one(name: str, value: int) -> None:
    """Raise RequestInvalid for what is no whole number, or below 1."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise RequestInvalid(f"{name} is {value!r}, it must be a whole number, at least 1")
    if value < 1:
        raise RequestInvalid(f"{name} is {value}, it must be at least 1")


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def recipe_of(snapshot: Snapshot, recipe: str | Recipe | None) -> Recipe:
    """The recipe that a name stands for; the snapshot's own for None. Raises SettingsInvalid."""
    if recipe is None:
        return snapshot.recipe
    if isinstance(recipe, Recipe):
        return recipe
    if recipe not in RECIPES:
        raise SettingsInvalid(f"there is no recipe {recipe!r}: choose from {', '.join(RECIPES)}")
    return RECIPES[recipe]
