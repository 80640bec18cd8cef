"""The form of the first page, read from the address's query string."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quartermaster.serving.options import ServedOptions
from router.answer.options import RouteOptions
from router.typed import converted


@dataclass(frozen=True, slots=True)
class RouteForm:
    """The fields as the user filled them in: texts, so that the page can show them again, valid or not."""

    request: str = ""
    k: str = "10"
    recipe: str = ""
    allow: str = ""
    block: str = ""
    providers: str = ""
    categories: str = ""
    kind: str = ""
    token_budget: str = ""
    detail: str = "full"
    read_only: str = ""

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> "RouteForm":
        """Return the form of a query string; unknown and blank fields are ignored."""
        names = cls.__dataclass_fields__
        return cls(**{name: value.strip() for name, value in query.items() if name in names and value.strip()})

    @property
    def filtered(self) -> bool:
        """Return whether a field is filled in that can leave tools out or shorten them."""
        return self != RouteForm(request=self.request, k=self.k, recipe=self.recipe)

    def arguments(self) -> RouteOptions:
        """Return options for `Router.route`. Raises SettingsInvalid, naming the wrong field."""
        filters: dict[str, Any] = {
            name: _comma_separated(getattr(self, name)) for name in ("allow", "block", "providers", "categories")
        }
        filters |= {
            "kinds": [self.kind] if self.kind else [],
            "annotations": {"readOnlyHint": True} if self.read_only else {},
        }
        filters = {name: value for name, value in filters.items() if value}
        given: dict[str, Any] = {
            "k": self.k,
            "recipe": self.recipe,
            "token_budget": self.token_budget,
            "detail": self.detail,
        }
        # An empty form uses the server's own selection.
        values = {name: value for name, value in {**given, "selection": filters}.items() if value}
        values |= {"explain": True, "feedback": False}
        return converted(values, ServedOptions, strict=False).arguments()


def _comma_separated(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
