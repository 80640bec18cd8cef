"""JSON that can be stored and walked: finite numbers, whole characters, no nesting past any use."""

import json
import math
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

# JSON may escape half of a surrogate pair, and NUL: neither can be stored as UTF-8 text.
_UNSTORABLE = re.compile("[\ud800-\udfff\x00]")
_ESCAPED_UNSTORABLE = re.compile(r"\\u(?:[dD][89a-fA-F]|0000)")
# Much that reads JSON holds a number as a double, which ends at 1.8e308.
_DIGITS = 308
_PAST = 10**_DIGITS
# Python gives up at about 1,000 calls, and some of what walks a value takes two or three a level.
MAX_DEPTH = 200


def parse_json(text: str, *, lenient: bool = False) -> Any:
    """A JSON value. Raises ValueError with line and column, also for nesting past any use.

    So it does for NaN, Infinity and numbers past any use; `lenient` reads them as what is not finite, for a document of
    many records: `storage_problem` then finds the one record that holds them.
    """
    try:
        if lenient:
            value = json.loads(text, parse_int=lenient_integer)
        else:
            value = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite, parse_int=_integer)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if text.count("[") + text.count("{") > MAX_DEPTH:
        check_depth(value)
    return replace_unstorable(value) if _ESCAPED_UNSTORABLE.search(text) else value


def replace_unstorable(value: Any) -> Any:
    """A JSON value whose texts are whole: what cannot be stored stands as U+FFFD."""
    if isinstance(value, str):
        return _UNSTORABLE.sub("\ufffd", value)
    if isinstance(value, list):
        return [replace_unstorable(item) for item in value]
    if isinstance(value, dict):
        return {replace_unstorable(key): replace_unstorable(item) for key, item in value.items()}
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


def storage_problem(value: Any) -> str | None:
    """What in a value cannot be stored or sent, in words; None where all of it can.

    A number that is not finite has no JSON, and one past the range of a double stops whoever reads it as one.
    """
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list | tuple):
            stack.extend(item)
        elif isinstance(item, float):
            if not math.isfinite(item):
                return "it holds a number that is too large, or none (NaN, Infinity)"
        elif isinstance(item, int) and abs(item) >= _PAST:
            return f"it holds a whole number of more than {_DIGITS} digits"
    return None


def lenient_integer(digits: str) -> float:
    """A whole number; infinite where it has more digits than a double can stand for."""
    if len(digits.lstrip("+-")) <= _DIGITS:
        return int(digits)
    return -math.inf if digits.startswith("-") else math.inf


def _integer(digits: str) -> float:
    value = lenient_integer(digits)
    if math.isinf(value):
        raise ValueError(f"{digits[:20]}… has {len(digits.lstrip('-'))} digits: it is too large a number")
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits} is too large a number")
    return value


def value_at_pointer(document: Any, reference: str) -> Any:
    """The value that a local reference (`#/a/b~1c`, RFC 6901) points to. Raises LookupError where there is none."""
    value = document
    anchor, *parts = reference.removeprefix("#").split("/")
    if anchor:
        raise LookupError(f"the reference {reference[:200]} is no JSON pointer")
    for part in parts:
        part = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        # Python refuses to read a number of thousands of digits; no list is so long.
        elif isinstance(value, list) and part.isdecimal() and len(part) < 10 and int(part) < len(value):
            value = value[int(part)]
        else:
            raise LookupError(f"the reference {reference[:200]} points to nothing")
    return value


def escape_pointer_part(key: object) -> str:
    """Return a key as a part of a JSON pointer (RFC 6901)."""
    return str(key).replace("~", "~0").replace("/", "~1")
