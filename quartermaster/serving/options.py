"""The options of a route as servers take them: those of the router, with narrower bounds."""

from enum import StrEnum
from typing import Annotated, Any, cast

from msgspec import Meta

from router.answer.options import RECIPE, K, Options, RouteOptions
from router.retrieval.recipe import RECIPES

# OpenAI accepts no more tools than this, and nobody reads a longer page.
MAX_K = 128

RecipeName = StrEnum("RecipeName", {name.upper(): name for name in RECIPES})  # type: ignore[misc]


class ServedOptions(Options, frozen=True, kw_only=True):
    """How a request that comes over a network is to be answered."""

    k: Annotated[K, Meta(le=MAX_K)] = 10
    recipe: Annotated[RecipeName | None, RECIPE] = None

    def arguments(self) -> RouteOptions:
        """Return the options as `Router.route` takes them."""
        values: dict[str, Any] = {name: getattr(self, name) for name in Options.__struct_fields__}
        return cast(RouteOptions, values)
