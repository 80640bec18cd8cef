"""A provider's label as people say it."""

import re

__all__ = ["said_label"]

_WORD = re.compile(r"[^\W_]+")
_BOILERPLATE = frozenset("mcp server servers api apis rest sdk ts py".split())


def said_label(provider: str | None) -> tuple[str, ...]:
    """Return the words of a label, in lower case: of a path the last part, without the boilerplate of registries."""
    found = (word.casefold() for word in _WORD.findall((provider or "").rsplit("/", 1)[-1]))
    return tuple(word for word in found if word not in _BOILERPLATE)
