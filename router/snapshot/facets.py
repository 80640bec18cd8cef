"""The fields that filters compare: ids, names, providers, categories and annotations of all tools, read once."""

import fnmatch
import hashlib
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice, takewhile
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from router.record import Kind, ToolRecord

WILDCARDS = "*?["
# As in `fnmatch`, a set's first `]` is one of its characters, so `[]` is not a set: taken, it is not given back.
_TOKEN = re.compile(r"\[!?+\]?+[^\]]*\]|.", re.DOTALL)


def is_glob(pattern: str) -> bool:
    """Return whether a pattern is more than a name."""
    return any(mark in pattern for mark in WILDCARDS)


def matching_names(pattern: str, names: Sequence[str]) -> Iterator[str]:
    """Yield the names that a glob matches. `names` are sorted."""
    glob = _read(pattern)
    candidates = names
    if glob.prefix:
        begin = bisect_left(names, glob.prefix)
        candidates = list(takewhile(lambda name: name.startswith(glob.prefix), islice(names, begin, None)))
    needed = glob.needed
    candidates = [name for name in candidates if needed in name]  # most names end here, at C's speed
    return iter(candidates) if glob.is_substring else filter(glob.matches, candidates)


class _Segment(msgspec.Struct, frozen=True):
    """What stands between two `*`: a text, or an expression with its number of characters."""

    length: int
    text: str
    expression: re.Pattern[str] | None

    def stands_at(self, name: str, position: int) -> bool:
        if self.expression is None:
            return name.startswith(self.text, position)
        return self.expression.match(name, position) is not None

    def find(self, name: str, start: int) -> int:
        """Return its first position from `start` on, -1 for none."""
        if self.expression is None:
            return name.find(self.text, start)
        found = self.expression.search(name, start)
        return found.start() if found else -1


class _Glob(msgspec.Struct, frozen=True):
    segments: tuple[_Segment, ...]

    @property
    def prefix(self) -> str:
        """Return the text that every match begins with."""
        return self.segments[0].text

    @property
    def needed(self) -> str:
        """Return a text that every match holds."""
        return max((segment.text for segment in self.segments), key=len)

    @property
    def is_substring(self) -> bool:
        """Return whether every name with the needed text matches: `*text*`, `text*`, and `*`."""
        others = self.segments[1:]
        literal = all(segment.expression is None for segment in self.segments)
        if not literal or not others or others[-1].length:
            return False
        return sum(bool(segment.length) for segment in self.segments) <= 1

    def matches(self, name: str) -> bool:
        """Return whether the whole name matches. Each segment is taken where it stands first, and never moved."""
        first, last = self.segments[0], self.segments[-1]
        if len(self.segments) == 1:
            return len(name) == first.length and first.stands_at(name, 0)
        end = len(name) - last.length
        if end < first.length or not first.stands_at(name, 0) or not last.stands_at(name, end):
            return False
        position = first.length
        for segment in self.segments[1:-1]:
            found = segment.find(name, position)
            if found < 0:
                return False
            position = found + segment.length
        return position <= end


def _read(pattern: str) -> _Glob:
    segments: list[list[str]] = [[]]
    for part in _TOKEN.findall(pattern):
        if part == "*":
            segments.append([])
        else:
            segments[-1].append(part)
    inner = [tokens for tokens in segments[1:-1] if tokens]  # `**` is `*`
    return _Glob(tuple(map(_segment, [segments[0], *inner, *segments[-1:][: len(segments) - 1]])))


def _segment(tokens: Sequence[str]) -> _Segment:
    if all(len(part) == 1 and part != "?" for part in tokens):
        return _Segment(len(tokens), "".join(tokens), None)
    # Without repetition. `fnmatch` knows how the sets are written; its frame is `(?s:` and `)\Z`.
    source = "".join(
        fnmatch.translate(part)[4:-3] if len(part) > 1 or part == "?" else re.escape(part) for part in tokens
    )
    return _Segment(len(tokens), "", re.compile(source, re.DOTALL))


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


class Facets:
    """The facets of a snapshot's tools by ordinal, `rows`. Names are compared regardless of case.

    Masks are bool (tools,) and read-only; they are cached, and threads may share them.
    """

    def __init__(self, rows: tuple[Facet, ...]) -> None:
        self.rows = rows
        self._masks: dict[tuple[str, bytes], Mask] = {}

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
        """Return the patterns that are not globs and match no tool."""
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
        from router.provider_formats.names import hashed_names  # here: few names need it

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
