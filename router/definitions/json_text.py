"""JSON that can be stored and walked: finite numbers, whole characters, no nesting past any use."""

import json
import math
import re
from typing import Any

# JSON may escape half of a surrogate pair, and NUL: neither can be stored as UTF-8 text.
_UNSTORABLE = re.compile("[\ud800-\udfff\x00]")
_ESCAPED_UNSTORABLE = re.compile(r"\\u(?:[dD][89a-fA-F]|0000)")
# Python gives up at about 1,000 calls, and some of what walks a value takes two or three a level.
MAX_DEPTH = 200


def parse_json(text: str) -> Any:
    """A JSON value. Raises ValueError with line and column, also for NaN, Infinity and nesting past any use."""
    try:
        value = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if text.count("[") + text.count("{") > MAX_DEPTH:
        check_depth(value)
    return storable(value) if _ESCAPED_UNSTORABLE.search(text) else value


def storable(value: Any) -> Any:
    """A JSON value whose texts are whole: what cannot be stored stands as U+FFFD."""
    if isinstance(value, str):
        return _UNSTORABLE.sub("\ufffd", value)
    if isinstance(value, list):
        return [storable(item) for item in value]
    if isinstance(value, dict):
        return {storable(key): storable(item) for key, item in value.items()}
    return value


def check_depth(value: Any) -> None:
    """Raise ValueError on deeper nesting than any real document has."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for item in level
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return
    raise ValueError(f"nested more than {MAX_DEPTH} levels deep")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits} is too large a number")
    return value
