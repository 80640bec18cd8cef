"""Local references of a schema, followed."""

from collections.abc import Mapping
from typing import Any

from router.tools.definitions.json_values import value_at_pointer

_MAX_HOPS = 32  # references to references: real ones are one or two long


def resolved(schema: Any, root: Mapping[str, Any]) -> Any:
    """A schema with its reference, and that reference's own, followed; {} where they lead nowhere or in a circle."""
    for _ in range(_MAX_HOPS):
        if not isinstance(schema, Mapping) or "$ref" not in schema:
            return schema
        beside = {keyword: value for keyword, value in schema.items() if keyword != "$ref"}
        try:
            target = value_at_pointer(root, schema["$ref"])
        except LookupError:
            return beside
        schema = {**target, **beside} if isinstance(target, Mapping) else beside
    return {}
