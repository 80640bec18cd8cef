"""Numbers and durations in the headers of a server's responses."""

import re

_DURATION = re.compile(r"(\d{1,18}(?:\.\d{1,18})?)(ms|s|m|h|d)")
_DURATIONS = re.compile(rf"(?:{_DURATION.pattern})+")
_SECONDS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def duration(text: str | None) -> float | None:
    """Return the seconds of "6m0s", "350ms", "12" or "1.5"; None for anything else."""
    if not text:
        return None
    plain = amount(text)
    if plain is not None:
        return plain
    parts = _DURATION.findall(text) if _DURATIONS.fullmatch(text) else []
    return sum(float(value) * _SECONDS[unit] for value, unit in parts) if parts else None


def amount(text: str | None) -> float | None:
    """Return a number that is finite and not negative; None for anything else."""
    try:
        value = float(text) if text else None
    except ValueError:
        return None
    return value if value is not None and 0 <= value < float("inf") else None
