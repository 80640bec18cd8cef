"""The router behind a protocol: `http`, the web `page` on it, and `mcp`. Each needs the extra `serve`.

`profiles` says what each caller may see and `audit` what it did; `tokens` is what clients are known and limited by.
This file holds the options of a route as servers take them, and the HTTP status of an error.
"""

from enum import StrEnum
from typing import Annotated, Any, cast

from msgspec import Meta

from router.answer.options import RECIPE, K, Options, RouteOptions
from router.errors import NothingSelected, QuartermasterError, SettingsInvalid, SnapshotInvalid
from router.retrieval.recipe import RECIPES

# OpenAI accepts no more tools than this, and nobody reads a longer page.
MAX_K = 128

RecipeName = StrEnum("RecipeName", {name.upper(): name for name in RECIPES})  # type: ignore[misc]


class ServedOptions(Options, frozen=True, kw_only=True):
    """How a request that comes over a network is to be answered: the router's options, with narrower bounds."""

    k: Annotated[K, Meta(le=MAX_K)] = 10
    recipe: Annotated[RecipeName | None, RECIPE] = None

    def arguments(self) -> RouteOptions:
        """Return the options as `Router.route` takes them."""
        values: dict[str, Any] = {name: getattr(self, name) for name in Options.__struct_fields__}
        return cast(RouteOptions, values)


def status_of(error: QuartermasterError) -> int:
    """Return 422 for an invalid request, 404 if no tool is left, 503 if no snapshot serves, else 500."""
    if isinstance(error, SettingsInvalid):
        return 422
    if isinstance(error, NothingSelected):
        return 404
    return 503 if isinstance(error, SnapshotInvalid) else 500
