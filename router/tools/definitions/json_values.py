"""JSON values: parsing within limits (finite numbers, valid Unicode, bounded depth), and JSON pointers."""

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote

from router.typed import is_nested_deeper

# JSON may escape half of a surrogate pair, and NUL: neither can be stored.
_UNSTORABLE = re.compile("[\ud800-\udfff\x00]")
_ESCAPED_UNSTORABLE = re.compile(r"\\u(?:[dD][89a-fA-F]|0000)")
# Many JSON readers hold a number as a double, which ends at 1.8e308.
_MAX_DIGITS = 308
_TOO_LARGE = 10**_MAX_DIGITS
# Python's limit is about 1,000 calls, and recursive functions over a value take two or three per level.
MAX_DEPTH = 200


def parse_json(
    text: str, *, lenient: bool = False, object_of: Callable[[list[tuple[str, Any]]], Any] | None = None
) -> Any:
    """Parse JSON. Raises ValueError for invalid JSON, deep nesting, NaN, Infinity and numbers that are too large.

    With `lenient` such numbers are read as non-finite floats, so that `storage_problem` finds which of a document's
    records hold them. `object_of` makes an object of its pairs: without it, the last of equal keys counts.
    """
    try:
        value = json.loads(text, object_pairs_hook=object_of, parse_int=lenient_integer)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not lenient and (problem := storage_problem(value)):
        raise ValueError(problem)
    if text.count("[") + text.count("{") > MAX_DEPTH:
        check_depth(value)
    return replace_unstorable(value) if _ESCAPED_UNSTORABLE.search(text) else value


def replace_unstorable(value: Any) -> Any:
    """Return a JSON value with the characters that cannot be stored replaced by U+FFFD."""
    if isinstance(value, str):
        return _UNSTORABLE.sub("\ufffd", value)
    if isinstance(value, list):
        return [replace_unstorable(item) for item in value]
    if isinstance(value, dict):
        return {replace_unstorable(key): replace_unstorable(item) for key, item in value.items()}
    return value


def check_depth(value: Any, levels: int = MAX_DEPTH) -> None:
    """Raise ValueError where a value is nested more than `levels` deep."""
    if is_nested_deeper(value, levels):
        raise ValueError(f"nested more than {levels} levels deep")


def storage_problem(value: Any) -> str | None:
    """Return why a value cannot be stored or sent; None where it can.

    Non-finite numbers have no JSON, and numbers beyond the range of a double fail in other readers.
    """
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):  # the most
            continue
        if isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list | tuple):
            stack.extend(item)
        elif isinstance(item, float) and not math.isfinite(item):
            return "it holds a number that is too large, or none (NaN, Infinity)"
        elif isinstance(item, int) and abs(item) >= _TOO_LARGE:
            return f"it holds a whole number of more than {_MAX_DIGITS} digits"
    return None


def lenient_integer(digits: str) -> float:
    """Return a whole number, or an infinite float where it exceeds the range of a double."""
    if len(digits.lstrip("+-")) <= _MAX_DIGITS:
        return int(digits)
    return -math.inf if digits.startswith("-") else math.inf


def value_at_pointer(document: Any, reference: str, hops: int = 0) -> Any:
    """Return the value at a local reference (`#/a/b~1c`, RFC 6901). Raises LookupError where there is none.

    It may lead through so many other references in all, as where the `components` of an API document are one.
    """
    value, parts = document, _parts(reference)
    while parts:
        part = parts.pop()
        if hops and isinstance(value, dict) and part not in value and str(value.get("$ref")).startswith("#"):
            value, parts, hops = document, [*parts, part, *_parts(value["$ref"])], hops - 1
        elif isinstance(value, Mapping) and part in value:
            value = value[part]
        # The limit on the length: Python refuses to parse thousands of digits.
        elif isinstance(value, list) and part.isdecimal() and len(part) < 10 and int(part) < len(value):
            value = value[int(part)]
        else:
            raise LookupError(f"the reference {reference[:200]} points to nothing")
    return value


def _parts(reference: str) -> list[str]:
    """Return the keys of a local reference, the last first."""
    anchor, *parts = reference.removeprefix("#").split("/")
    if anchor:
        raise LookupError(f"the reference {reference[:200]} is no JSON pointer")
    return [*map(unescape_pointer_part, reversed(parts))]


def unescape_pointer_part(part: str) -> str:
    """Return the key that a part of a local reference stands for."""
    return unquote(part).replace("~1", "/").replace("~0", "~")


def escape_pointer_part(key: object) -> str:
    """Return a key, escaped as a part of a JSON pointer (RFC 6901)."""
    return str(key).replace("~", "~0").replace("/", "~1")
