"""Flattens a JSON Schema into parameter rows: path, type, description, enum, required."""

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from router.fingerprint import canonical_json
from router.record import Parameter
from router.tools.definitions.json_values import value_at_pointer

# Self-referring or generated schemas could give endless rows. Rows beyond these limits are not searched, but stay in
# `input_schema`. The 99th percentile of 9,974 real MCP tools has 23 rows.
_MAX_DEPTH = 6
_MAX_ROWS = 500
# Nested branches can be endless too, without giving rows.
_MAX_STEPS = 20_000
# A chain of references; real ones have one or two.
_MAX_HOPS = 32
_COMBINED = ("allOf", "anyOf", "oneOf")


def parameter_rows(schema: Mapping[str, Any]) -> tuple[Parameter, ...]:
    """Return the rows of an input schema, depth first in document order. Follows local references and cuts cycles."""
    rows: dict[Parameter, None] = {}  # without repeats: branches of a oneOf share rows
    for row in _walk(schema, "", schema, frozenset(), 0, count()):
        rows[row] = None
        if len(rows) == _MAX_ROWS:
            break
    return tuple(rows)


def _walk(
    schema: Any, path: str, root: Mapping[str, Any], inside: frozenset[str], depth: int, steps: Iterator[int]
) -> Iterator[Parameter]:
    if depth > _MAX_DEPTH or next(steps) >= _MAX_STEPS:
        return
    schema, inside = _resolve(schema, root, inside)
    if not isinstance(schema, Mapping):
        return
    required = schema.get("required")
    required = required if isinstance(required, list) else []
    properties = schema.get("properties")
    for name, child in properties.items() if isinstance(properties, Mapping) else ():
        child_path = f"{path}.{name}" if path else str(name)
        yield _row(child, child_path, root, name in required)
        yield from _walk(child, child_path, root, inside, depth + 1, steps)
    if isinstance(schema.get("items"), Mapping):
        yield from _walk(schema["items"], f"{path}[]", root, inside, depth + 1, steps)
    for keyword in _COMBINED:
        for branch in schema[keyword] if isinstance(schema.get(keyword), list) else ():
            yield from _walk(branch, path, root, inside, depth + 1, steps)


def _row(schema: Any, path: str, root: Mapping[str, Any], required: bool) -> Parameter:
    beside = schema.get("description") if isinstance(schema, Mapping) else None
    schema, _ = _resolve(schema, root, frozenset())
    if not isinstance(schema, Mapping):
        # Some vendors write {"city": "the city's name"} for a schema.
        text = schema if isinstance(schema, str) else beside
        return Parameter(path, "", text.strip() if isinstance(text, str) else "", (), required)
    description = beside if isinstance(beside, str) else schema.get("description")
    items, _ = _resolve(schema.get("items"), root, frozenset())
    values = schema.get("enum") or (items.get("enum") if isinstance(items, Mapping) else None)
    return Parameter(
        path,
        _type(schema, root),
        description.strip() if isinstance(description, str) else "",
        tuple(v if isinstance(v, str) else canonical_json(v) for v in values) if isinstance(values, list) else (),
        required,
    )


def _resolve(schema: Any, root: Mapping[str, Any], inside: frozenset[str]) -> tuple[Any, frozenset[str]]:
    """Follow local references; return None for one that is among `inside`, the references around the schema."""
    for _ in range(_MAX_HOPS):
        if not isinstance(schema, Mapping) or not isinstance(reference := schema.get("$ref"), str):
            return schema, inside
        if reference in inside or not reference.startswith("#/"):
            return None, inside
        inside = inside | {reference}
        try:
            schema = value_at_pointer(root, reference)
        except LookupError:
            return None, inside
    return None, inside


def _type(schema: Mapping[str, Any], root: Mapping[str, Any]) -> str:
    declared = schema.get("type")
    if isinstance(declared, str):
        return declared
    if isinstance(declared, list):
        return "|".join(str(item) for item in declared)
    for keyword in _COMBINED:
        if isinstance(schema.get(keyword), list):
            branches = (_resolve(branch, root, frozenset())[0] for branch in schema[keyword])
            # Without a root, further references are not followed.
            types = (_type(branch, {}) for branch in branches if isinstance(branch, Mapping))
            return "|".join(dict.fromkeys(t for t in types if t))
    return "object" if "properties" in schema else ""
