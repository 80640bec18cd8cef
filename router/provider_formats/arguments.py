"""What a model answers in a strict schema, as the tool's own schema takes it."""

from collections.abc import Mapping
from typing import Any

from router.provider_formats.references import resolved
from router.provider_formats.schemas import Schema


def without_nulls(given: Any, schema: Any, root: Schema) -> Any:
    """Arguments without the nulls that stand for optional properties left out; those that the schema takes stay.

    `schema` is what `given` is an answer to, `root` the whole that its references point into. Branches (anyOf) are not
    looked into: which of them was meant is not said.
    """
    schema = resolved(schema, root)
    if not isinstance(schema, Mapping):
        return given
    if isinstance(given, list):
        return [without_nulls(item, schema.get("items"), root) for item in given]
    properties = schema.get("properties")
    if not isinstance(given, Mapping) or not isinstance(properties, Mapping):
        return given
    required = schema.get("required", ())
    return {
        name: without_nulls(value, properties.get(name), root)
        for name, value in given.items()
        if value is not None or name in required or name not in properties or _takes_null(properties[name], root)
    }


def _takes_null(schema: Any, root: Schema) -> bool:
    schema = resolved(schema, root)
    if not isinstance(schema, Mapping):
        return True
    if "enum" in schema or "const" in schema:
        return None in schema.get("enum", [schema.get("const")])
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            return any(_takes_null(branch, root) for branch in schema[keyword])
    kind = schema.get("type", "null")
    return kind == "null" or "null" in kind
