"""The form of the first page, read from the address's query string."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quartermaster.serving import MAX_K, MAX_TOKEN_BUDGET
from router.errors import RequestInvalid
from router.provider_formats import Detail
from router.retrieval.recipe import RECIPES
from router.selection import Selection


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

    def arguments(self) -> dict[str, Any]:
        """Return options for `Router.route`. Raises RequestInvalid or SettingsInvalid, naming the wrong field."""
        filters: dict[str, Any] = {
            name: _comma_separated(getattr(self, name)) for name in ("allow", "block", "providers", "categories")
        }
        if self.kind:
            filters["kinds"] = [self.kind]
        if self.read_only:
            filters["annotations"] = {"readOnlyHint": True}
        selection = Selection.from_json({name: value for name, value in filters.items() if value})
        budget = _whole_number("token budget", self.token_budget, MAX_TOKEN_BUDGET) if self.token_budget else None
        return {
            "k": _whole_number("k", self.k, MAX_K),
            "recipe": self.recipe if self.recipe in RECIPES else None,
            # An empty form uses the server's own selection.
            "selection": selection if selection != Selection() else None,
            "token_budget": budget,
            "detail": self.detail if self.detail in set(Detail) else Detail.FULL,
        }


def _comma_separated(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _whole_number(name: str, text: str, maximum: int) -> int:
    digits = text.lstrip("0")
    # Compared by length first: Python refuses to read thousands of digits.
    valid = text.isascii() and text.isdigit() and len(digits) <= len(str(maximum)) and 1 <= int(text[-12:]) <= maximum
    if not valid:
        raise RequestInvalid(f"{name} is {text[:40]!r}, it must be a whole number from 1 to {maximum:,}")
    return int(text[-12:])
