"""Labels of providers: the words that people use of them, and short forms of long ones."""

import re

__all__ = ["MAX_LABEL_WORDS", "is_long", "label_words", "short_label"]

_WORD = re.compile(r"[^\W_]+")
_POSSESSIVE = re.compile("['\u2019]s\\b")
_BOILERPLATE = frozenset(
    "mcp server servers api apis rest sdk ts py the official openapi swagger spec specification".split()
)
MAX_LABEL_WORDS = 3
_MAX_CHARACTERS = 24


def is_long(label: str) -> bool:
    """Return whether a label is longer than people would use: over three words or 24 characters."""
    return len(label) > _MAX_CHARACTERS or len(_WORD.findall(label)) > MAX_LABEL_WORDS


def label_words(provider: str | None) -> tuple[str, ...]:
    """Return the words of a label's last path part, in lower case, without the boilerplate of registries."""
    last_part = _POSSESSIVE.sub("", (provider or "").rsplit("/", 1)[-1])
    return tuple(word for word in map(str.casefold, _WORD.findall(last_part)) if word not in _BOILERPLATE)


def short_label(provider: str | None) -> str:
    """Return a label for use in short texts: the label itself, or the first three `label_words` of a long one.

    Empty where there is no label.
    """
    if not provider or not is_long(provider):
        return provider or ""
    return " ".join(label_words(provider)[:MAX_LABEL_WORDS]) or provider[:_MAX_CHARACTERS]
