"""The fields that filters compare: ids, names, providers, categories and annotations of all tools, read once."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from router.record import Kind, ToolRecord
from router.snapshot.globs import is_glob, matching_names

Mask = NDArray[np.bool_]
# Masks that are kept, of one byte a tool: most requests filter as the one before did.
# See docs/decisions/filters.md.
_MAX_MASKS = 256


class Facet(msgspec.Struct, frozen=True):
    """The fields of one record that filters compare."""

    tool_id: str
    name: str
    provider: str | None
    categories: tuple[str, ...]
    annotations: dict[str, Any]
    kind: Kind = Kind.TOOL

    @classmethod
    def of(cls, record: ToolRecord) -> "Facet":
        """Return the facet of a record."""
        hints = dict(record.annotations)
        return cls(record.tool_id, record.name, record.provider, record.categories, hints, record.kind)


# Stands for a tool that is not served: no name and no filter, a glob like "*" aside, matches it.
NO_TOOL = Facet("", "", None, (), {})


@dataclass(frozen=True, eq=False)
class Facets:
    """The facets of a snapshot's tools by ordinal, `rows`. Names are compared regardless of case.

    Masks are bool (tools,) and read-only; they are cached, and threads may share them.
    """

    rows: tuple[Facet, ...]
    _masks: dict[tuple[str, bytes], Mask] = field(default_factory=dict, init=False, repr=False)

    def matching(self, patterns: Iterable[str]) -> Mask:
        """Return a mask of the tools that a pattern names: by id, by name, or by a glob over either."""
        wanted = tuple(map(normalize_name, patterns))
        return self._cached("matching", repr(wanted), lambda: self._matching(wanted))

    def _matching(self, patterns: Iterable[str]) -> Mask:
        mask = np.zeros(len(self.rows), bool)
        for pattern in patterns:
            # A name may hold a glob's marks. The default is [], because indexing with () would set every tool.
            mask[self._ordinals.get(pattern, [])] = True
            if is_glob(pattern):
                for name in matching_names(pattern, self._names):
                    mask[self._ordinals[name]] = True
        return mask

    def unknown(self, patterns: Iterable[str]) -> list[str]:
        """Return the patterns that are no globs and name no tool."""
        names = (pattern for pattern in patterns if not is_glob(pattern))
        return [name for name in names if normalize_name(name) not in self._ordinals]

    def of_providers(self, providers: Iterable[str]) -> Mask:
        """Return a mask of the tools of some providers."""
        wanted = frozenset(map(normalize_name, providers))
        return self._cached(
            "providers",
            repr(sorted(wanted)),
            lambda: self._where(lambda row: normalize_name(row.provider or "") in wanted),
        )

    def of_categories(self, categories: Iterable[str]) -> Mask:
        """Return a mask of the tools that have at least one of some categories."""
        wanted = frozenset(map(normalize_name, categories))
        return self._cached(
            "categories",
            repr(sorted(wanted)),
            lambda: self._where(lambda row: not wanted.isdisjoint(map(normalize_name, row.categories))),
        )

    def of_kinds(self, kinds: Iterable[str]) -> Mask:
        """Return a mask of the entries of some kinds."""
        wanted = frozenset(kinds)
        return self._cached("kinds", repr(sorted(wanted)), lambda: self._where(lambda row: row.kind in wanted))

    def annotated(self, hints: Mapping[str, Any]) -> Mask:
        """Return a mask of the tools whose annotations have every hint, with the same value and type."""
        # As text, because 1 == True and a list cannot be a key.
        return self._cached(
            "annotations", repr(sorted(hints.items())), lambda: self._where(lambda row: _has(row.annotations, hints))
        )

    def _where(self, passes: Callable[[Facet], bool]) -> Mask:
        return np.fromiter(map(passes, self.rows), bool, len(self.rows))

    def _cached(self, kind: str, values: str, compute: Callable[[], Mask]) -> Mask:
        """Return the cached mask of a filter, or compute it. Without a lock: two threads may both compute it."""
        # Hashed: a client may send a megabyte of values, and 256 of them are kept.
        key = (kind, hashlib.sha256(values.encode("utf-8", "surrogatepass")).digest())
        mask = self._masks.get(key)
        if mask is None:
            mask = compute()
            mask.flags.writeable = False
            if len(self._masks) >= _MAX_MASKS:
                self._masks.clear()
            self._masks[key] = mask
        return mask

    @cached_property
    def hashed_names(self) -> Mapping[str, str]:
        """Return tool ids by the rendered names that end in a hash, from which no id can be read."""
        from router.provider_formats import hashed_names  # here: few names need it

        return hashed_names(row.tool_id for row in self.rows if row.tool_id)

    @cached_property
    def _ordinals(self) -> Mapping[str, list[int]]:
        """Return the ordinals of each normalized id and name."""
        ordinals: dict[str, list[int]] = {}
        for ordinal, row in enumerate(self.rows):
            for text in {normalize_name(row.tool_id), normalize_name(row.name)}:
                ordinals.setdefault(text, []).append(ordinal)
        return ordinals

    @cached_property
    def _names(self) -> list[str]:
        """Return the normalized ids and names, sorted."""
        return sorted(self._ordinals)


def normalize_name(text: str) -> str:
    """Return a name as it is compared: without outer spaces, and case-folded."""
    return text.strip().casefold()


def _has(annotations: Mapping[str, Any], hints: Mapping[str, Any]) -> bool:
    # Hints are JSON, where 1 is not true; in Python 1 == True.
    return all(
        key in annotations and type(annotations[key]) is type(hints[key]) and annotations[key] == hints[key]
        for key in hints
    )
