"""Parts of a build's sentences: how many, and which."""

from collections.abc import Sequence


def counted(count: int, noun: str) -> str:
    """Return a number and its noun, in the plural but for one: "1 tool", "2,000 tools"."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def named(names: Sequence[str], most: int = 3) -> str:
    """Return the first names, and how many there are beside them: "a, b, c and 7 more"."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
