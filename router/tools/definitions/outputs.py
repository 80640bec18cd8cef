"""Reads what a tool answers: the schema of its output, flattened into rows within narrow limits.

Rows are evidence of what a tool finds. Nobody calls a tool by them and no search reads them, so they may be cut:
breadth first, because the top of an answer says what it is, and the objects inside it are often those of other tools.
"""

import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from router.fingerprint import canonical_json
from router.record import Parameter
from router.tools.definitions.field_names import OUTPUTS
from router.tools.definitions.json_values import value_at_pointer
from router.tools.definitions.schema_shapes import parse_parameters

# An answer embeds whole objects, and a document repeats them in every operation. Each row is stored with its tool.
_MAX_ROWS = 100
_MAX_DEPTH = 5  # data[].attributes.id inside an allOf
_MAX_NAME = 100  # characters, as the following
_MAX_DESCRIPTION = 200
_MAX_TYPE = 40
_MAX_VALUE = 60
_MAX_VALUES = 12
_MAX_REQUIRED = 1_000
_MAX_BRANCHES = 20
_MAX_REFERENCE = 1_000
# Schemas and references that are looked at for one tool: twice what 100 rows take.
MAX_STEPS = 1_000
_COMBINED = ("allOf", "anyOf", "oneOf")


class Steps:
    """Counts how many schemas and references may still be looked at."""

    def __init__(self, most: int = MAX_STEPS) -> None:
        self.left = most

    def take(self) -> bool:
        """Take one step; return whether it was left."""
        self.left -= 1
        return self.left >= 0


def declared_outputs(*rows: Mapping[str, Any]) -> tuple[tuple[Parameter, ...], str]:
    """Return the output rows that a definition declares, and the key that they were read from; empty ones for none.

    `rows` are the object with the definition's fields, and the objects around it.
    """
    for row in rows:
        for place, certain in OUTPUTS.items():
            key, _, inner = place.partition(".")
            value = row.get(key)
            if inner:
                value = value.get(inner) if isinstance(value, Mapping) else None
            if not value or not (certain or _is_schema(value)):
                continue
            parsed = parse_parameters(value)
            if parsed and (outputs := output_rows(parsed.schema)):
                return outputs, key
    return (), ""


def output_rows(schema: Any, document: Any = None, steps: Steps | None = None) -> tuple[Parameter, ...]:
    """Return the rows of the schema of an answer, breadth first, in document order.

    Local references are followed within `document`, by default the schema itself; cycles are cut.
    """
    steps = steps or Steps()
    rows: dict[str, Parameter] = {}  # branches of a oneOf share paths: the first counts
    for row in _walk(schema, schema if document is None else document, steps):
        rows.setdefault(row.path, row)
        if len(rows) == _MAX_ROWS:
            break
    return tuple(rows.values())


def follow(value: Any, document: Any, steps: Steps, inside: frozenset[str] = frozenset()) -> tuple[Any, frozenset[str]]:
    """Return the end of a chain of local references, and the references passed on the way; None where it has no end.

    A reference that is among `inside`, those around the value, leads back and has no end either.
    """
    while isinstance(value, Mapping) and isinstance(reference := value.get("$ref"), str):
        if len(reference) > _MAX_REFERENCE or not reference.startswith("#") or reference in inside or not steps.take():
            return None, inside
        inside = inside | {reference}
        try:
            value = value_at_pointer(document, reference)
        except LookupError:
            return None, inside
    return value, inside


def _walk(schema: Any, root: Any, steps: Steps) -> Iterator[Parameter]:
    queue: deque[tuple[Any, str, frozenset[str], int]] = deque([(schema, "", frozenset(), 0)])
    while queue and steps.take():
        schema, path, inside, depth = queue.popleft()
        schema, inside = follow(schema, root, steps, inside)
        if not isinstance(schema, Mapping):
            continue
        below: list[tuple[Any, str]] = []
        required = _required(schema)
        for name, child in _properties(schema, steps):
            child_path = f"{path}.{name}" if path else name
            yield _row(child, child_path, root, name in required, steps)
            below.append((child, child_path))
        if isinstance(schema.get("items"), Mapping):
            below.append((schema["items"], f"{path}[]"))
        below += [(branch, path) for branch in _branches(schema)]
        if depth < _MAX_DEPTH:
            queue.extend((child, child_path, inside, depth + 1) for child, child_path in below)


def _properties(schema: Mapping[str, Any], steps: Steps) -> Iterator[tuple[str, Any]]:
    properties = schema.get("properties")
    for name, child in properties.items() if isinstance(properties, Mapping) else ():
        if not steps.take():
            return
        if isinstance(name, str) and 0 < len(name) <= _MAX_NAME:
            yield name, child


def _branches(schema: Mapping[str, Any]) -> Iterator[Any]:
    for keyword in _COMBINED:
        if isinstance(branches := schema.get(keyword), list):
            yield from branches[:_MAX_BRANCHES]


def _required(schema: Mapping[str, Any]) -> list[Any]:
    required = schema.get("required")
    return required[:_MAX_REQUIRED] if isinstance(required, list) else []


def _row(schema: Any, path: str, root: Any, required: bool, steps: Steps) -> Parameter:
    beside = schema.get("description") if isinstance(schema, Mapping) else None
    schema, _ = follow(schema, root, steps)
    if not isinstance(schema, Mapping):
        return Parameter(path, "", _text(beside), (), required)
    items, _ = follow(schema.get("items"), root, steps)
    values = schema.get("enum") or (items.get("enum") if isinstance(items, Mapping) else None)
    description = _text(beside) or _text(schema.get("description"))
    return Parameter(path, _type(schema, root, steps), description, tuple(_values(values)), required)


def _text(value: Any) -> str:
    return value[:_MAX_DESCRIPTION].strip() if isinstance(value, str) else ""


def _values(values: Any) -> Iterator[str]:
    for value in islice(values, _MAX_VALUES) if isinstance(values, list) else ():
        if isinstance(value, str):
            yield value[:_MAX_VALUE]
        elif isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
            yield canonical_json(value)[:_MAX_VALUE]


def _type(schema: Mapping[str, Any], root: Any, steps: Steps) -> str:
    declared = schema.get("type")
    if declared is None:
        branches = (follow(branch, root, steps)[0] for branch in _branches(schema))
        # Combined types inside the branches are not looked at.
        types = [_joined(branch.get("type")) for branch in branches if isinstance(branch, Mapping)]
        return _joined(types) or ("object" if "properties" in schema else "")
    return _joined(declared)


def _joined(declared: Any) -> str:
    """Return a type, or several joined as `string|null`."""
    names: Iterable[Any] = declared[:_MAX_BRANCHES] if isinstance(declared, list) else [declared]
    return "|".join(dict.fromkeys(name for name in names if isinstance(name, str) and name))[:_MAX_TYPE]


def _is_schema(value: Any) -> bool:
    """Return whether a value is a JSON Schema beyond doubt, of an object or a list."""
    if not isinstance(value, Mapping):
        return False
    return (
        isinstance(value.get("properties"), Mapping)
        or isinstance(value.get("items"), Mapping)
        or any(isinstance(value.get(keyword), list) for keyword in _COMBINED)
    )
