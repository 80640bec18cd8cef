"""Values as texts: amounts, metrics, intervals, cells of tables."""

from collections.abc import Mapping, Sequence
from datetime import datetime

MISSING = "–"


def dollars(cost: float | None, unknown: str = "price unknown") -> str:
    """Return US dollars with four decimals below 10, else two; `unknown` if there is no price."""
    return unknown if cost is None else f"${cost:,.4f}" if cost < 10 else f"${cost:,.2f}"


def megabytes(size: float) -> str:
    """Return bytes as megabytes: 1,234 MB, with a decimal below 10."""
    return f"{size / 1e6:,.1f} MB" if size < 9_950_000 else f"{size / 1e6:,.0f} MB"


def decimal(value: float | None) -> str:
    """Return a share or a difference with three decimals and no zero before the point: .682, -.012, 1.00."""
    if value is None:
        return MISSING
    text = f"{value:.3f}".replace("-0.000", "0.000")
    return text[:-1] if abs(value) >= 0.9995 else text.replace("0.", ".", 1)


def interval_text(interval: Sequence[float] | None) -> str:
    """Return an interval as .884–.946, or as "-.012 to .030" if its lower end is negative."""
    if interval is None:
        return MISSING
    low, high = map(decimal, interval)
    return f"{low} to {high}" if interval[0] < 0 else f"{low}–{high}"


def cell_text(value: object) -> str:
    """Return a value of a table as one line of text."""
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {cell_text(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(cell_text, value))
    return " ".join(str(value).split())


def shorten(text: str, length: int) -> str:
    """Return a text as one line, cut with … to `length` characters."""
    line = cell_text(text)
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def metric_text(value: float | None, best: float | None = None) -> str:
    """Return a metric as markup, in bold if it is the best."""
    if value is None:
        return "[dim]–[/]"
    return f"[bold]{value:.3f}[/]" if value == best else f"{value:.3f}"
