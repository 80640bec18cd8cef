"""Durations in settings: a number with its unit, such as "7d" or "12h", or ISO 8601."""

import re
from datetime import timedelta
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

_UNITS = {"w": "weeks", "d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
_SHORT = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s*([wdhms])", re.ASCII)
_EXPECTED = 'it must be a duration such as "7d", "12h", "30m" or "P7D"; 0 is none'


def _parsed(value: Any) -> Any:
    """Return a duration as pydantic reads it. A bare number has no unit and is refused, except 0."""
    if isinstance(value, timedelta):
        return value
    if not isinstance(value, bool) and value in (0, "0"):
        return timedelta()
    if isinstance(value, str) and (short := _SHORT.fullmatch(value.strip().lower())):
        try:
            return timedelta(**{_UNITS[short[2]]: float(short[1])})
        except OverflowError:
            raise ValueError(_EXPECTED) from None
    if isinstance(value, str) and value.strip().upper().startswith("P"):
        return value.strip()
    raise ValueError(_EXPECTED)


Duration = Annotated[timedelta, BeforeValidator(_parsed), Field(ge=timedelta())]


def duration_text(duration: timedelta) -> str:
    """Return a duration in its largest unit, with at most one decimal: "7 days", "1.5 hours"."""
    seconds = duration.total_seconds()
    lengths = (("day", 86_400), ("hour", 3_600), ("minute", 60))
    unit, length = next(((unit, length) for unit, length in lengths if seconds >= length), ("second", 1))
    count = f"{seconds / length:,.1f}".removesuffix(".0")
    return f"{count} {unit}{'s' * (count != '1')}"
