"""Globs over names, matched in linear time.

`*` stands for any characters, `?` for one, `[abc]`, `[a-z]` and `[!a]` for one of a set, as in `fnmatch`. That compiles
each pattern, which takes milliseconds, and `re` keeps it for the whole process; a request may bring a hundred.
See docs/decisions/filters.md.
"""

import fnmatch
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile

WILDCARDS = "*?["
_TOKEN = re.compile(r"\[!?\]?[^\]]*\]|.", re.DOTALL)


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


@dataclass(frozen=True, slots=True)
class _Segment:
    """What stands between two `*`: a text, or an expression of so many characters."""

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


@dataclass(frozen=True, slots=True)
class _Glob:
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
