"""The base of every section of the settings, and durations: a number with its unit, such as "7d", or ISO 8601."""

import re
from datetime import timedelta
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

Share = Annotated[float, Field(ge=0, le=1)]


class Section(BaseModel):
    """A frozen section. It refuses unknown fields and numbers that are not finite; its errors quote no value.

    The docstring under a field is its description in the settings reference (docs/generators/settings.py).
    """

    # Without use_attribute_docstrings: each start of the program would parse the source of every section, 60 ms.
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, allow_inf_nan=False)


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
