"""What filters look at: ids, names, providers, categories and annotations of all tools, read once."""

import fnmatch
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from router.forms import hashed_names

_GLOB = re.compile(r"[*?\[]")


class Facet(msgspec.Struct, frozen=True):
    """What filters look at in one record."""

    tool_id: str
    name: str
    provider: str | None
    categories: tuple[str, ...]
    annotations: dict[str, Any]

    def is_in(self, category: str) -> bool:
        """Whether it has a category, case apart."""
        return folded(category) in map(folded, self.categories)


@dataclass(frozen=True, eq=False)
class Facets:
    """Those of a catalog's tools, by ordinal. Names are compared without their case."""

    rows: tuple[Facet, ...]

    def matching(self, patterns: Iterable[str]) -> NDArray[np.bool_]:
        """The tools that one of the patterns names: an id, a name, or a glob over either; bool (tools,)."""
        mask = np.zeros(len(self.rows), bool)
        for pattern in map(folded, patterns):
            if not _GLOB.search(pattern):
                mask[self._places.get(pattern, [])] = True  # by () it would be every tool
                continue
            matches = re.compile(fnmatch.translate(pattern)).match
            for name, ordinals in self._places.items():
                if matches(name):
                    mask[ordinals] = True
        return mask

    def of_providers(self, providers: Iterable[str]) -> NDArray[np.bool_]:
        """The tools of some providers; bool (tools,)."""
        wanted = set(map(folded, providers))
        return np.fromiter((folded(row.provider or "") in wanted for row in self.rows), bool, len(self.rows))

    def of_categories(self, categories: Iterable[str]) -> NDArray[np.bool_]:
        """The tools that have one of some categories; bool (tools,)."""
        wanted = set(map(folded, categories))
        return np.fromiter(
            (not wanted.isdisjoint(map(folded, row.categories)) for row in self.rows), bool, len(self.rows)
        )

    def annotated(self, hints: Mapping[str, Any]) -> NDArray[np.bool_]:
        """The tools with all of some annotations; bool (tools,). A hint that is not given is not met."""
        return np.fromiter((_has(row.annotations, hints) for row in self.rows), bool, len(self.rows))

    @cached_property
    def hashed_names(self) -> Mapping[str, str]:
        """By name the ids of the tools whose names, as some form hands them over, cannot be read backwards."""
        return hashed_names(row.tool_id for row in self.rows if row.tool_id)

    @cached_property
    def _places(self) -> Mapping[str, list[int]]:
        """The ordinals of each id and each name."""
        places: dict[str, list[int]] = {}
        for ordinal, row in enumerate(self.rows):
            for text in {folded(row.tool_id), folded(row.name)}:
                places.setdefault(text, []).append(ordinal)
        return places


def folded(text: str) -> str:
    """A name as it is compared."""
    return text.strip().casefold()


def _has(annotations: Mapping[str, Any], hints: Mapping[str, Any]) -> bool:
    # 1 is no True: a vendor's hints are JSON.
    return all(
        key in annotations and type(annotations[key]) is type(hints[key]) and annotations[key] == hints[key]
        for key in hints
    )
