"""JSON pointers within one document (RFC 6901)."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote


def point(document: Any, reference: str) -> Any:
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
