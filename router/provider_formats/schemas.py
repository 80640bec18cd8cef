"""Repair of vendors' input schemas to JSON Schema, draft 2020-12. Providers refuse a whole request for one bad schema.

Valid parts stay as they are, and are shared with the record, which is never changed. The repair removes as little as
possible: a keyword whose value has the wrong type, an unknown type, a reference to nothing.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from router.tools.definitions.json_values import value_at_pointer
from router.tools.definitions.types import JSON_TYPES, TYPE_ALIASES

Schema = dict[str, Any]

# Deeper than any real schema. Below it anything is allowed, so that a hostile schema cannot exhaust the stack.
_MAX_DEPTH = 48
_MAX_HOPS = 32  # references to references: real ones are one or two long
# They describe the vendor's copy of the schema: its dialect, its address, its name there.
_DROPPED = frozenset(
    "$schema $id $anchor $dynamicRef $dynamicAnchor $recursiveRef $recursiveAnchor $vocabulary $comment nullable "
    "dependencies".split()
)


@dataclass(frozen=True, slots=True)
class _Traversal:
    """The depth of a part of a schema, and the list of all parts that have a reference."""

    depth: int = 0
    referring: list[Schema] = field(default_factory=list)

    def below(self) -> "_Traversal":
        """Return the traversal one level deeper, with the same list."""
        return _Traversal(self.depth + 1, self.referring)


def valid_schema(schema: Any) -> Schema:
    """Return a valid schema that allows what the vendor's allows, with `definitions` moved to `$defs`.

    Return {} for a value that is no schema.
    """
    if not isinstance(schema, Mapping):
        return {}
    traversal = _Traversal()
    repaired: Schema = _schema(_with_defs(dict(schema)), traversal)
    for referring in traversal.referring:
        _repair_reference(referring, repaired)
    return repaired


def resolve_reference(schema: Any, root: Mapping[str, Any]) -> Any:
    """Return a schema with its reference, and that one's own, followed; {} where they lead nowhere or in a circle."""
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


def _repair_reference(schema: Schema, root: Schema) -> None:
    """Point a reference to `definitions` to `$defs`, and delete one that points to no schema."""
    reference = schema["$ref"]
    if reference.startswith("#/definitions/"):
        reference = reference.replace("definitions", "$defs", 1)
    try:
        leads_to_schema = reference.startswith("#") and isinstance(value_at_pointer(root, reference), Mapping)
    except LookupError:
        leads_to_schema = False
    if leads_to_schema:
        schema["$ref"] = reference
    else:
        del schema["$ref"]


def _with_defs(schema: Schema) -> Schema:
    """Return the schema with `definitions`, the older drafts' name, as `$defs`."""
    older = schema.get("definitions")
    if not isinstance(older, dict):
        return schema
    newer = schema.get("$defs")
    others = {keyword: value for keyword, value in schema.items() if keyword != "definitions"}
    return {**others, "$defs": {**older, **newer} if isinstance(newer, dict) else older}


def _schema(schema: Any, traversal: _Traversal) -> Any:
    """Return a part of a schema, repaired; {} for a value that is no schema."""
    if isinstance(schema, str):
        return {"description": schema}  # some vendors write {"city": "the city's name"}
    if not isinstance(schema, dict) or traversal.depth > _MAX_DEPTH:
        return {}
    repaired: Schema = {}
    below = traversal.below()
    for keyword, value in schema.items():
        check = _CHECKS.get(keyword)
        if check is None:
            keyword = str(keyword)
            if keyword not in _DROPPED and (value is not None or keyword in ("default", "const")):
                repaired[keyword] = value
        elif (checked := check(value, below)) is not None:
            repaired[keyword] = checked
    if "$ref" in repaired:
        traversal.referring.append(repaired)
    if "array" in repaired.get("type", ()) and "items" not in repaired:
        repaired["items"] = {}  # it means the same, and OpenAI refuses an array without it
    if schema.get("nullable") is True and isinstance(repaired.get("type"), str):
        repaired["type"] = [repaired["type"], "null"]  # OpenAPI 3.0
    return _modernize(schema, repaired)


def _modernize(schema: Schema, repaired: Schema) -> Schema:
    """Return `repaired` with the exclusive bounds and required properties of drafts 3 and 4, read from `schema`."""
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if bound in repaired and schema.get(exclusive) is True:
            repaired[exclusive] = repaired.pop(bound)
    if "properties" in repaired:
        children = schema["properties"].items()
        needed = [str(name) for name, child in children if isinstance(child, dict) and child.get("required") is True]
        if needed:
            repaired["required"] = list(dict.fromkeys([*repaired.get("required", ()), *needed]))
    return repaired


# Each function below returns the value of a keyword, repaired; None where the keyword is to be removed.
def _branches(value: Any, traversal: _Traversal) -> list[Any] | None:
    branches = [_schema(branch, traversal) for branch in value] if isinstance(value, list) else []
    return branches or None


def _named(value: Any, traversal: _Traversal) -> Schema | None:
    return {str(n): _schema(child, traversal) for n, child in value.items()} if isinstance(value, dict) else None


def _nested(value: Any, traversal: _Traversal) -> Any:
    if isinstance(value, bool):
        return value
    return _schema(value, traversal) if isinstance(value, dict) else None


def _items(value: Any, traversal: _Traversal) -> Any:
    if isinstance(value, list):  # a tuple's, in older drafts: each item is one of them
        branches = _branches(value, traversal)
        return {"anyOf": branches} if branches else None
    return {} if value is True else _nested(value, traversal)


def _type(value: Any, _: _Traversal) -> str | list[str] | None:
    if isinstance(value, str) and value in JSON_TYPES:
        return value
    kinds = value if isinstance(value, list) else [value]
    lower = [kind.lower() for kind in kinds if isinstance(kind, str)]
    known = list(dict.fromkeys(k for kind in lower if (k := kind if kind in JSON_TYPES else TYPE_ALIASES.get(kind))))
    if isinstance(value, list) and len(known) == len(lower):
        return known or None
    return known[0] if len(known) == 1 and len(kinds) == 1 else None  # one unknown among several: any


def _required(value: Any, _: _Traversal) -> list[str] | None:
    names = dict.fromkeys(name for name in value if isinstance(name, str)) if isinstance(value, list) else {}
    return list(names) or None


def _dependent(value: Any, _: _Traversal) -> Schema | None:
    if not isinstance(value, dict):
        return None
    return {str(name): _required(others, _) or [] for name, others in value.items()}


def _text(value: Any, _: _Traversal) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: Any, _: _Traversal) -> float | None:
    real = isinstance(value, int | float) and not isinstance(value, bool)
    return value if real and math.isfinite(value) else None


def _step(value: Any, _: _Traversal) -> float | None:
    number = _number(value, _)
    return number if number is not None and number > 0 else None


def _count(value: Any, _: _Traversal) -> int | None:
    number = _number(value, _)
    return int(number) if number is not None and number >= 0 and number % 1 == 0 else None


def _flag(value: Any, _: _Traversal) -> bool | None:
    return value if isinstance(value, bool) else None


def _values(value: Any, _: _Traversal) -> list[Any] | None:
    return value if isinstance(value, list) and value else None


_CHECKS: dict[str, Callable[[Any, _Traversal], Any]] = {
    "type": _type,
    "required": _required,
    "dependentRequired": _dependent,
    "items": _items,
    "enum": _values,
    "examples": _values,
    "multipleOf": _step,
    **dict.fromkeys("properties patternProperties $defs definitions dependentSchemas".split(), _named),
    **dict.fromkeys("allOf anyOf oneOf prefixItems".split(), _branches),
    **dict.fromkeys(
        "additionalProperties contains not if then else propertyNames unevaluatedItems unevaluatedProperties "
        "contentSchema".split(),
        _nested,
    ),
    **dict.fromkeys("title description pattern format contentEncoding contentMediaType $ref".split(), _text),
    **dict.fromkeys("minimum maximum exclusiveMinimum exclusiveMaximum".split(), _number),
    **dict.fromkeys(
        "minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains".split(), _count
    ),
    **dict.fromkeys("uniqueItems deprecated readOnly writeOnly".split(), _flag),
}
