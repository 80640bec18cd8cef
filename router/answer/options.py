"""The options of a route: declared, documented and checked here, and nowhere else."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from router.answer.reranking import Reranking
from router.errors import RequestInvalid, SettingsInvalid, quoted
from router.provider_formats import Detail, Form, VendorText, parse_choice
from router.retrieval.recipe import RECIPES, Recipe
from router.selection.settings import Selection
from router.snapshot.snapshot import Snapshot

if TYPE_CHECKING:
    from router.selection import Profile

MAX_CATEGORY = 512  # characters

_Function = TypeVar("_Function", bound=Callable[..., Any])


class RouteOptions(TypedDict, total=False):
    """Options of a route, all optional.

    Keyword Args:
        k: The greatest number of tools. An answer holds no more tools than the recipe's lists do together
            (`depth` each), so it may be shorter.
        explain: Add ranks, contributions and the matching phrase to each tool, and the tools that filters left
            out.
        recipe: A Recipe, or the name of one ("default", "standard", "adaptive", "published", "lexical"). The
            snapshot's own for None.
        selection: Filters and orders the tools, in place of the router's own selection.
        category: The category of the request, where the caller knows it.
        category_confidence: How sure the caller is of `category`, from 0 to 1.
        token_budget: The greatest number of tokens of all tools together, counted in `form`: in OpenAI's for
            None. Tools of the selection's `always` are paid from it first, and are not shortened.
        form: The provider's format: "openai", "responses", "anthropic", "mcp" or "langchain". The answer then
            holds no more tools than the provider accepts; for None any number.
        detail: The most that is told of each tool: "full", "short" or "signature".
        shorten: Whether full tools may be shortened where more of them then fit the budget.
        feedback: Whether the router's feedback log, where it has one, keeps this answer.
        caller: Who asks, for that log, where several callers share the router: one caller's part in what is learned
            is bounded.
    """

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
    feedback: bool
    caller: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedOptions:
    """`RouteOptions` with their defaults, checked, and the router's own `rerank` and `vendor_text`.

    Raises RequestInvalid or SettingsInvalid for a value out of its range.
    """

    k: int = 10
    explain: bool = False
    recipe: str | Recipe | None = None
    selection: Selection = field(default_factory=Selection)
    category: str | None = None
    category_confidence: float | None = None
    token_budget: int | None = None
    form: Form | None = None
    detail: Detail = Detail.FULL
    shorten: bool = True
    feedback: bool = True
    caller: str | None = None
    rerank: Reranking | None = None
    vendor_text: VendorText = VendorText.TRUSTED

    def __post_init__(self) -> None:
        _check_count("k", self.k)
        if self.token_budget is not None:
            _check_count("token_budget", self.token_budget)
        confidence = self.category_confidence
        if confidence is not None and not _is_share(confidence):
            raise RequestInvalid(f"category_confidence is {quoted(confidence)}, it must be a number from 0 to 1")
        if not isinstance(self.category, str | None):
            raise RequestInvalid(f"category is {quoted(self.category)}, it must be a text")
        if self.category is not None and len(self.category) > MAX_CATEGORY:
            raise RequestInvalid(f"category has {len(self.category):,} characters, it may have {MAX_CATEGORY} at most")
        if not isinstance(self.caller, str | None):
            raise RequestInvalid(f"caller is {quoted(self.caller)}, it must be a text")
        if not isinstance(self.selection, Selection):
            raise SettingsInvalid(
                f"selection is {quoted(self.selection)}, it must be a Selection; `Selection.from_json` takes a dict"
            )
        if not isinstance(self.rerank, Reranking | None):
            raise SettingsInvalid(
                f"rerank is {quoted(self.rerank)}, it must be a Reranking; `Reranking` takes a function"
            )

    @classmethod
    def of(cls, options: RouteOptions, defaults: "CheckedOptions") -> "CheckedOptions":
        """Check the options of a call. `defaults` are the router's own: its selection is used where they have none.

        Raises TypeError for an unknown option, RequestInvalid or SettingsInvalid for a value out of its range.
        """
        values: dict[str, Any] = {**options}
        for name in values:
            if name not in RouteOptions.__annotations__:
                raise TypeError(f"Router.route() got an unexpected keyword argument {name!r}")
        if values.get("selection") is None:
            values["selection"] = defaults.selection
        if values.get("form") is not None:
            values["form"] = parse_choice(Form, values["form"])
        if "detail" in values:
            values["detail"] = parse_choice(Detail, values["detail"])
        return cls(**values, rerank=defaults.rerank, vendor_text=defaults.vendor_text)

    @property
    def plain(self) -> bool:
        """Return whether the answer is the fused ranking, cut to k, and nothing more."""
        whole = self.detail is Detail.FULL and self.token_budget is None and self.form is None
        return whole and self.rerank is None and self.selection == _PLAIN


_PLAIN = Selection()


def options_within(profile: "Profile", options: CheckedOptions) -> CheckedOptions:
    """Return options with a profile's selection, and no more tools and tokens than it grants."""
    budgets = [budget for budget in (profile.budget, options.token_budget) if budget is not None]
    return replace(
        options,
        k=options.k if profile.limit is None else min(options.k, profile.limit),
        token_budget=min(budgets, default=None),
        selection=profile.narrow(options.selection),
    )


def documents_route_options(function: _Function) -> _Function:
    """Let `help` and `inspect.signature` show each of the RouteOptions that a function takes as `**options`."""
    signature = inspect.signature(function)
    *parameters, _ = signature.parameters.values()
    defaults = {option.name: None if option.default is MISSING else option.default for option in fields(CheckedOptions)}
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=defaults[name], annotation=annotation)
        for name, annotation in RouteOptions.__annotations__.items()
    ]
    function.__signature__ = signature.replace(parameters=[*parameters, *options])  # type: ignore[attr-defined]
    function.__doc__ = f"{inspect.getdoc(function)}\n\n{inspect.getdoc(RouteOptions)}"
    return function


def recipe_of(snapshot: Snapshot, recipe: str | Recipe | None) -> Recipe:
    """Return the recipe of a name; the snapshot's own for None. Raises SettingsInvalid for an unknown name."""
    if recipe is None:
        return snapshot.recipe
    if isinstance(recipe, Recipe):
        return recipe
    if recipe not in RECIPES:
        raise SettingsInvalid(f"there is no recipe {quoted(recipe)}: choose from {', '.join(RECIPES)}")
    return RECIPES[recipe]


def _check_count(name: str, value: int) -> None:
    """Raise RequestInvalid for a value that is no whole number, or below 1."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise RequestInvalid(f"{name} is {quoted(value)}, it must be a whole number, at least 1")
    if value < 1:
        raise RequestInvalid(f"{name} is {value}, it must be at least 1")


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
