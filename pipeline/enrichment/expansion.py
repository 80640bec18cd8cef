"""An expansion: what people would say when they need a tool."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

_MAX_PHRASES = 12
_MAX_TERMS = 24
_MAX_LENGTH = 200
_SPACE = re.compile(r"\s+")
_LISTS = ("user_phrases", "synonyms", "related_concepts", "task_categories")


@dataclass(frozen=True, slots=True)
class Expansion:
    """Text about one tool, written before any request was seen. `user_phrases` are requests as people make them."""

    when_to_use: str
    user_phrases: tuple[str, ...]
    synonyms: tuple[str, ...] = ()
    related_concepts: tuple[str, ...] = ()
    task_categories: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready dict; `from_json` gives an equal expansion back."""
        return asdict(self)

    @classmethod
    def from_json(cls, row: object) -> "Expansion":
        """An expansion from a generator's answer, cleaned: one line each, no repeats, bounded.

        Raises ValueError, naming the field, where the shape is wrong or no phrase is left.
        """
        if not isinstance(row, Mapping):
            raise ValueError("the expansion is not an object")
        when = row.get("when_to_use") or ""
        if not isinstance(when, str):
            raise ValueError("when_to_use is not a text")
        lists = {field: _texts(row.get(field) or (), field) for field in _LISTS}
        phrases = _clean(lists["user_phrases"], _MAX_PHRASES)
        if not phrases:
            raise ValueError("user_phrases holds no phrase")
        rest = (_clean(lists[field], _MAX_TERMS) for field in _LISTS[1:])
        return cls(_line(when, 3 * _MAX_LENGTH), phrases, *rest)


def _texts(value: object, field: str) -> Iterable[str]:
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"{field} is not a list of texts")
    return value


def _line(text: str, limit: int) -> str:
    # Half of a surrogate pair cannot be stored; a cut between two words would leave the space.
    storable = text.encode("utf-8", "replace").decode("utf-8")
    return _SPACE.sub(" ", storable).strip()[:limit].rstrip()


def _clean(texts: Iterable[str], limit: int) -> tuple[str, ...]:
    kept: dict[str, str] = {}
    for text in texts:
        line = _line(text, _MAX_LENGTH)
        if line:
            kept.setdefault(line.casefold(), line)
    return tuple(kept.values())[:limit]
