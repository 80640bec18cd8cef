"""Local references of a schema: what each points to."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

_MAX_HOPS = 32  # references to references: real ones are one or two long


def points_to(root: Mapping[str, Any], reference: str) -> Any:
    """The value behind a local reference (`#/a/b~1c`, RFC 6901). Raises LookupError where there is none."""
    anchor, *parts = reference.split("/")
    if anchor != "#":
        raise LookupError(reference)
    value: Any = root
    for part in parts:
        part = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(value, list) and part.isdecimal() and len(part) < 10:
            value = value[int(part)]
        elif isinstance(value, Mapping):
            value = value[part]
        else:
            raise LookupError(reference)
    return value


def resolved(schema: Any, root: Mapping[str, Any]) -> Any:
    """A schema with its reference, and that reference's own, followed; {} where they lead nowhere or in a circle."""
    for _ in range(_MAX_HOPS):
        if not isinstance(schema, Mapping) or "$ref" not in schema:
            return schema
        beside = {keyword: value for keyword, value in schema.items() if keyword != "$ref"}
        try:
            target = points_to(root, schema["$ref"])
        except LookupError:
            return beside
        schema = {**target, **beside} if isinstance(target, Mapping) else beside
    return {}
