"""Long texts made to slow a pattern down, from the pattern itself: each repeat in it, repeated."""

import re
import time
from collections.abc import Iterator
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

_REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)
_CATEGORIES = {
    sre.CATEGORY_DIGIT: r"\d",
    sre.CATEGORY_NOT_DIGIT: r"\D",
    sre.CATEGORY_SPACE: r"\s",
    sre.CATEGORY_NOT_SPACE: r"\S",
    sre.CATEGORY_WORD: r"\w",
    sre.CATEGORY_NOT_WORD: r"\W",
}
_CANDIDATES = "a0 _-.A\n<\"'x/\u00e9\u4f60"
_COMMON = (
    *'aA0_-./<[{*:"\\ \t\n',
    *("a.", "a_", "a-", "aA", "a ", "a/", "<a ", "a@", "'s", "any ", "not "),
)
_END = "\x01"  # so that hardly any pattern matches the whole


def growth(pattern: re.Pattern[Any], length: int = 500) -> tuple[float, str]:
    """Return how much longer a pattern takes for four times the text, at worst, and the part that is repeated.

    4 is linear, 16 quadratic; 0 where every text takes less than can be measured.
    """
    worst = (0.0, "")
    for before, repeated in _texts(pattern):
        short, long = (f"{before}{repeated * (n // len(repeated))}{_END}" for n in (length, 16 * length))
        if _seconds(pattern, long, limit=0.02) < 0.02:  # 8,000 characters: no part of it is quadratic
            continue
        middle = f"{before}{repeated * (4 * length // len(repeated))}{_END}"
        quotient = min(
            _seconds(pattern, middle) / max(_seconds(pattern, short), 1e-6),
            _seconds(pattern, long) / max(_seconds(pattern, middle), 1e-6),
        )
        worst = max(worst, (quotient, f"{before!r} + {repeated!r} * n"))
    return worst


def _seconds(pattern: re.Pattern[Any], text: str, limit: float = 0.0) -> float:
    """Return the least time of three searches; of one, where that is within the limit."""
    subject: Any = text.encode() if isinstance(pattern.pattern, bytes) else text
    times = []
    for _ in range(3):
        started = time.thread_time()
        for _ in pattern.finditer(subject):
            pass
        times.append(time.thread_time() - started)
        if times[-1] < limit:
            break
    return min(times)


def _texts(pattern: re.Pattern[Any]) -> list[tuple[str, str]]:
    own = _repeats(parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE), "")
    return list(dict.fromkeys([*(("", text) for text in _COMMON), *own]))


def _repeats(items: Any, before: str) -> Iterator[tuple[str, str]]:
    """Yield each repeat of a parsed pattern: a text that matches what stands before it, and one of its own."""
    for place, (kind, value) in enumerate(items):
        prefix = before + _sample(list(items)[:place])
        if kind in _REPEATS:
            yield prefix, _sample(value[2]) or "a"
            yield from _repeats(value[2], prefix)
        elif kind in (sre.SUBPATTERN, sre.ASSERT, sre.ASSERT_NOT):
            yield from _repeats(value[-1], prefix)
        elif kind is sre.ATOMIC_GROUP:
            yield from _repeats(value, prefix)
        elif kind is sre.BRANCH:
            for branch in value[1]:
                yield from _repeats(branch, prefix)


def _sample(items: Any) -> str:
    """Return a short text that a part of a pattern matches."""
    return "".join(map(_sample_of, items))


def _sample_of(item: Any) -> str:
    kind, value = item
    if kind is sre.LITERAL:
        return chr(value)
    if kind is sre.IN:
        return _member(value)
    if kind in _REPEATS:
        return _sample(value[2]) * int(max(value[0], 1))
    if kind in (sre.SUBPATTERN, sre.ATOMIC_GROUP):
        return _sample(value[-1] if kind is sre.SUBPATTERN else value)
    if kind is sre.BRANCH:
        return _sample(value[1][0])
    return "a" if kind in (sre.ANY, sre.NOT_LITERAL) else ""


def _member(choices: Any) -> str:
    """Return a character of a class."""
    negated = any(kind is sre.NEGATE for kind, _ in choices)
    for character in _CANDIDATES:
        if any(_holds(choice, character) for choice in choices) != negated:
            return character
    kind, value = choices[0]
    return chr(value if kind is sre.LITERAL else value[0]) if kind in (sre.LITERAL, sre.RANGE) else "a"


def _holds(choice: Any, character: str) -> bool:
    kind, value = choice
    if kind is sre.LITERAL:
        return bool(ord(character) == value)
    if kind is sre.RANGE:
        return bool(value[0] <= ord(character) <= value[1])
    return bool(kind is sre.CATEGORY) and re.match(_CATEGORIES[value], character) is not None
