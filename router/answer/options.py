"""The options of a route, stated once: their check, `help`, the HTTP API, the MCP tools and the page go by them."""

import inspect
import textwrap
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, TypeVar

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from router.answer.reranking import Reranking
from router.errors import RequestInvalid, SettingsInvalid, quoted
from router.provider_formats.formats import Detail, FormName, ProviderFormat, VendorText, parse_choice
from router.query.needs import MAX_NEED, MAX_NEEDS
from router.retrieval.recipe import RECIPES, Recipe, RecipeName
from router.selection.settings import Selection, Share
from router.snapshot.snapshot import Snapshot
from router.typed import converted, descriptions

if TYPE_CHECKING:
    from router.selection.profile import Profile

_Function = TypeVar("_Function", bound=Callable[..., Any])

K = Annotated[
    int,
    Meta(
        ge=1,
        description="The most tools. An answer holds no more than the recipe's lists do together (`depth` each), so it "
        "may be shorter.",
    ),
]
RECIPE = Meta(
    description='The name of a recipe: "default", "standard", "adaptive", "published", "lexical"; in Python a Recipe, '
    "too. By default the snapshot's own."
)
NEEDS = Meta(
    description='What the caller expects to call, a line for each tool: "look up a customer by e-mail". They count as '
    "much as the request, and stand in the place of the steps that it would be cut into; of a dialogue they are the "
    f"latest message's. At most {MAX_NEEDS}, of {MAX_NEED} characters each. An empty list says that there are none; "
    "without a list, the router asks its `ask_needs` where it has one."
)
# Of the options that other places take under descriptions of their own, too.
TokenBudget = Annotated[int, Meta(ge=1, le=10_000_000)]
Category = Annotated[str, Meta(max_length=512)]
_SELECTION = Meta(description="Filters and orders the tools, in place of the router's own selection.")


class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a request is to be answered."""

    needs: Annotated[tuple[str, ...] | None, NEEDS] = None
    k: K = 10
    explain: Annotated[
        bool,
        Meta(
            description="Add ranks, contributions and the matching phrase to each tool, and the tools that filters "
            "left out."
        ),
    ] = False
    recipe: Annotated[Any, RECIPE] = None  # a Recipe, or the name of one
    selection: Annotated[Selection | None, _SELECTION] = None
    category: Annotated[
        Category | None, Meta(description="The category of the request, where the caller knows it.")
    ] = None
    category_confidence: Annotated[
        Share | None, Meta(description="How sure the caller is of `category`, from 0 to 1.")
    ] = None
    token_budget: Annotated[
        TokenBudget | None,
        Meta(
            description="The most tokens of all tools together, counted in `form`: in OpenAI's by default. Tools of "
            "the selection's `always` are paid from it first, and are not shortened."
        ),
    ] = None
    form: Annotated[
        ProviderFormat | None,
        Meta(
            description='The provider\'s format: "openai", "responses", "anthropic", "mcp" or "langchain". The answer '
            "then holds no more tools than the provider accepts; by default any number."
        ),
    ] = None
    detail: Annotated[Detail, Meta(description='The most detail of each tool: "full", "short" or "signature".')] = (
        Detail.FULL
    )
    shorten: Annotated[
        bool, Meta(description="Whether full tools may be shortened where more of them then fit the budget.")
    ] = True
    feedback: Annotated[
        bool, Meta(description="Whether the router's feedback log, where it has one, keeps this answer.")
    ] = True


class CheckedOptions(Options, frozen=True, kw_only=True):
    """All options of a route with their defaults, checked, and the router's `rerank`, `vendor_text` and `ask_needs`."""

    selection: Annotated[Selection, _SELECTION] = Selection()
    caller: Annotated[
        str | None,
        Meta(
            description="Who asks, for the feedback log, where several callers share the router: one caller's part in "
            "what is learned is bounded."
        ),
    ] = None
    rerank: Reranking | None = None
    vendor_text: VendorText = VendorText.TRUSTED
    ask_needs: Any = None  # an AskNeeds or None: msgspec checks no callables

    @classmethod
    def of(cls, options: "SharedOptions", defaults: "CheckedOptions") -> "CheckedOptions":
        """Check the options of a call. `defaults` are the router's own: its selection is used where they have none.

        Raises TypeError for an unknown option, RequestInvalid or SettingsInvalid for a value out of its range.
        """
        values: dict[str, Any] = {**options}
        for name, value in values.items():
            if name not in RouteOptions.__annotations__:
                raise TypeError(f"Router.route() got an unexpected keyword argument {name!r}")
            if isinstance(value, Integral) and not isinstance(value, bool):
                values[name] = int(value)  # numpy's
        form = values.pop("form", None)  # msgspec knows none that was added at run time
        if values.get("selection") is None:
            values["selection"] = defaults.selection
        checked = converted(values, cls, error=RequestInvalid)
        form = None if form is None else parse_choice(ProviderFormat, form)
        own = {name: getattr(defaults, name) for name in ("rerank", "vendor_text", "ask_needs")}
        return replace(checked, form=form, **own)

    @property
    def plain(self) -> bool:
        """Return whether the answer is the fused ranking, cut to k, and nothing more."""
        whole = self.detail is Detail.FULL and self.token_budget is None and self.form is None
        return whole and self.rerank is None and self.selection == _PLAIN


_PLAIN = Selection()


class SharedOptions(TypedDict, total=False):
    """The names and types of `Options`, all optional, for a type checker, but for those of a single request."""

    k: int
    explain: bool
    recipe: RecipeName | Recipe | None
    selection: Selection | None
    category: str | None
    category_confidence: float | None
    token_budget: int | None
    form: ProviderFormat | FormName | None
    detail: Detail | str
    shorten: bool
    feedback: bool
    caller: str | None


class RouteOptions(SharedOptions, total=False):
    """The options of a single request."""

    needs: Sequence[str] | None


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
    lines = ["Keyword Args:"]
    for name, annotation in RouteOptions.__annotations__.items():
        if name in signature.parameters:
            continue
        default = None if name == "selection" else getattr(_DEFAULTS, name)
        parameters.append(
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        )
        lines += _DOCUMENTED[name]
    function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    function.__doc__ = f"{inspect.getdoc(function)}\n\n" + "\n".join(lines)
    return function


_DEFAULTS = CheckedOptions()
_DOCUMENTED = {
    name: textwrap.wrap(f"{name}: {meaning}", 110, initial_indent=" " * 4, subsequent_indent=" " * 8)
    for name, meaning in descriptions(CheckedOptions).items()
}


def recipe_of(snapshot: Snapshot, recipe: str | Recipe | None) -> Recipe:
    """Return the recipe of a name; the snapshot's own for None. Raises SettingsInvalid for an unknown name."""
    if recipe is None:
        return snapshot.recipe
    if isinstance(recipe, Recipe):
        return recipe
    if recipe not in RECIPES:
        raise SettingsInvalid(f"there is no recipe {quoted(recipe)}: choose from {', '.join(RECIPES)}")
    return RECIPES[recipe]
