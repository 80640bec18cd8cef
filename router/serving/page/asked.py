"""What somebody filled in on the first page, read from the address."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from router.errors import RequestInvalid
from router.provider_formats import Detail
from router.retrieval.recipe import RECIPES
from router.selection import Selection
from router.serving.bounds import MAX_K


@dataclass(frozen=True, slots=True)
class Asked:
    """The fields as they were filled in: texts, so that the page can show them again whatever they say."""

    request: str = ""
    k: str = "10"
    recipe: str = ""
    allow: str = ""
    block: str = ""
    providers: str = ""
    categories: str = ""
    token_budget: str = ""
    detail: str = "full"
    read_only: str = ""

    @classmethod
    def read(cls, query: Mapping[str, str]) -> "Asked":
        """The fields of an address; a field that is unknown, or empty, says nothing."""
        names = cls.__dataclass_fields__
        return cls(**{name: value.strip() for name, value in query.items() if name in names and value.strip()})

    @property
    def filtered(self) -> bool:
        """Whether anything is filled in that can leave tools out."""
        return self != Asked(request=self.request, k=self.k, recipe=self.recipe)

    def arguments(self) -> dict[str, Any]:
        """The fields as `Router.route` takes them. Raises RequestInvalid or SettingsInvalid, naming the field."""
        row: dict[str, Any] = {
            name: _listed(getattr(self, name)) for name in ("allow", "block", "providers", "categories")
        }
        if self.read_only:
            row["annotations"] = {"readOnlyHint": True}
        selection = Selection.from_json({name: value for name, value in row.items() if value})
        return {
            "k": _whole("k", self.k, MAX_K),
            "recipe": self.recipe if self.recipe in RECIPES else None,
            # Nothing filled in: the server's own.
            "selection": selection if selection != Selection() else None,
            "token_budget": _whole("token budget", self.token_budget, 10_000_000) if self.token_budget else None,
            "detail": self.detail if self.detail in set(Detail) else Detail.FULL,
        }


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _whole(name: str, text: str, most: int) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:12]) <= most):
        raise RequestInvalid(f"{name} is {text[:40]!r}, it must be a whole number from 1 to {most:,}")
    return int(text)
