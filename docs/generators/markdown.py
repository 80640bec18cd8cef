"""Markdown that the generators share."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

_SITE = Path(__file__).parents[1]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; line breaks and bars of its cells are made harmless."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows]
    return "\n".join(lines)


def code(text: object) -> str:
    """Return a text as inline code, or nothing for an empty one."""
    return f"`{text}`" if str(text) else ""


def linked(text: str) -> str:
    """Return a text in which the name of a page, such as docs/serving.md, is a link from a reference page."""
    return re.sub(r"docs/([\w/-]+\.md)", lambda match: f"[{_title(match[1])}](../{match[1]})", text)


def _title(page: str) -> str:
    return (_SITE / page).read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
