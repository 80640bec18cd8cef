"""A provider's label: as people say it, and when it is too long for that."""

import re

__all__ = ["MAX_LABEL_WORDS", "is_long", "label_words", "short_label"]

_WORD = re.compile(r"[^\W_]+")
_POSSESSIVE = re.compile("['\u2019]s\\b")
_BOILERPLATE = frozenset(
    "mcp server servers api apis rest sdk ts py the official openapi swagger spec specification".split()
)
MAX_LABEL_WORDS = 3
_MOST_CHARACTERS = 24


def is_long(label: str) -> bool:
    """Return whether a label is longer than people would say it: over three words or 24 characters."""
    return len(label) > _MOST_CHARACTERS or len(_WORD.findall(label)) > MAX_LABEL_WORDS


def label_words(provider: str | None) -> tuple[str, ...]:
    """Return the words of a label, in lower case: of a path the last part, without the boilerplate of registries."""
    last = _POSSESSIVE.sub("", (provider or "").rsplit("/", 1)[-1])
    return tuple(word for word in map(str.casefold, _WORD.findall(last)) if word not in _BOILERPLATE)


def short_label(provider: str | None) -> str:
    """Return a label for a text that it must not drown: itself, or the first three words that people say of a long one.

    Empty where there is none.
    """
    if not provider or not is_long(provider):
        return provider or ""
    return " ".join(label_words(provider)[:MAX_LABEL_WORDS]) or provider[:_MOST_CHARACTERS]
