"""Any vendor's input schema as JSON Schema, draft 2020-12: a provider refuses a whole request for one bad schema.

What is right stays as it is. Of what is wrong as little as can be goes: a keyword with a value that it cannot have, a
type that is none, a reference to nothing. The record itself is never touched; parts that were right are shared with it.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from router.tools.definitions.json_values import value_at_pointer
from router.tools.definitions.types import JSON_TYPES, TYPE_ALIASES

Schema = dict[str, Any]

# Deeper than any real schema. Below it anything is allowed, and a hostile one cannot exhaust the stack.
_MAX_DEPTH = 48
# Which dialect it is in, where it was published, what it is called there: said of the vendor's copy, not of this one.
_DROPPED = frozenset(
    "$schema $id $anchor $dynamicRef $dynamicAnchor $recursiveRef $recursiveAnchor $vocabulary $comment nullable "
    "dependencies".split()
)


@dataclass(frozen=True, slots=True)
class _Place:
    """How deep a part of a schema lies, and where to note the schemas that refer to others."""

    depth: int = 0
    referring: list[Schema] = field(default_factory=list)

    def below(self) -> "_Place":
        return _Place(self.depth + 1, self.referring)


def valid(schema: Any) -> Schema:
    """A valid schema that allows what the vendor's allows, `definitions` moved to `$defs`; {} for what is no schema."""
    if not isinstance(schema, Mapping):
        return {}
    place = _Place()
    made: Schema = _schema(_with_defs(dict(schema)), place)
    for referring in place.referring:
        _settle(referring, made)
    return made


def _settle(schema: Schema, root: Schema) -> None:
    """A reference under the older name of `$defs` is led there; one that points to no schema goes."""
    reference = schema["$ref"]
    if reference.startswith("#/definitions/"):
        reference = reference.replace("definitions", "$defs", 1)
    try:
        found = reference.startswith("#") and isinstance(value_at_pointer(root, reference), Mapping)
    except LookupError:
        found = False
    if found:
        schema["$ref"] = reference
    else:
        del schema["$ref"]


def _with_defs(schema: Schema) -> Schema:
    """The older drafts' name for definitions changed to today's."""
    older = schema.get("definitions")
    if not isinstance(older, dict):
        return schema
    newer = schema.get("$defs")
    made = {keyword: value for keyword, value in schema.items() if keyword != "definitions"}
    return {**made, "$defs": {**older, **newer} if isinstance(newer, dict) else older}


def _schema(schema: Any, place: _Place) -> Any:
    if isinstance(schema, str):
        return {"description": schema}  # some vendors write {"city": "the city's name"}
    if not isinstance(schema, dict) or place.depth > _MAX_DEPTH:
        return {}
    made: Schema = {}
    below = place.below()
    for keyword, value in schema.items():
        check = _CHECKS.get(keyword)
        if check is None:
            keyword = str(keyword)
            if keyword not in _DROPPED and (value is not None or keyword in ("default", "const")):
                made[keyword] = value
        elif (kept := check(value, below)) is not None:
            made[keyword] = kept
    if "$ref" in made:
        place.referring.append(made)
    if "array" in made.get("type", ()) and "items" not in made:
        made["items"] = {}  # it says the same, and OpenAI refuses an array without it
    if schema.get("nullable") is True and isinstance(made.get("type"), str):
        made["type"] = [made["type"], "null"]  # OpenAPI 3.0
    return _modern(schema, made)


def _modern(schema: Schema, made: Schema) -> Schema:
    """Draft 3's and 4's ways of saying things."""
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if bound in made and schema.get(exclusive) is True:
            made[exclusive] = made.pop(bound)
    if "properties" in made:
        children = schema["properties"].items()
        needed = [str(name) for name, child in children if isinstance(child, dict) and child.get("required") is True]
        if needed:
            made["required"] = list(dict.fromkeys([*made.get("required", ()), *needed]))
    return made


def _branches(value: Any, place: _Place) -> list[Any] | None:
    made = [_schema(branch, place) for branch in value] if isinstance(value, list) else []
    return made or None


def _named(value: Any, place: _Place) -> Schema | None:
    return {str(n): _schema(child, place) for n, child in value.items()} if isinstance(value, dict) else None


def _nested(value: Any, place: _Place) -> Any:
    if isinstance(value, bool):
        return value
    return _schema(value, place) if isinstance(value, dict) else None


def _items(value: Any, place: _Place) -> Any:
    if isinstance(value, list):  # a tuple's, in older drafts: each item is one of them
        branches = _branches(value, place)
        return {"anyOf": branches} if branches else None
    return {} if value is True else _nested(value, place)


def _type(value: Any, _: _Place) -> str | list[str] | None:
    if isinstance(value, str) and value in JSON_TYPES:
        return value
    given = value if isinstance(value, list) else [value]
    lower = [kind.lower() for kind in given if isinstance(kind, str)]
    known = list(dict.fromkeys(k for kind in lower if (k := kind if kind in JSON_TYPES else TYPE_ALIASES.get(kind))))
    if isinstance(value, list) and len(known) == len(lower):
        return known or None
    return known[0] if len(known) == 1 and len(given) == 1 else None  # one unknown among several: any


def _required(value: Any, _: _Place) -> list[str] | None:
    names = dict.fromkeys(name for name in value if isinstance(name, str)) if isinstance(value, list) else {}
    return list(names) or None


def _dependent(value: Any, _: _Place) -> Schema | None:
    if not isinstance(value, dict):
        return None
    return {str(name): _required(others, _) or [] for name, others in value.items()}


def _text(value: Any, _: _Place) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: Any, _: _Place) -> float | None:
    real = isinstance(value, int | float) and not isinstance(value, bool)
    return value if real and math.isfinite(value) else None


def _step(value: Any, _: _Place) -> float | None:
    number = _number(value, _)
    return number if number is not None and number > 0 else None


def _count(value: Any, _: _Place) -> int | None:
    number = _number(value, _)
    return int(number) if number is not None and number >= 0 and number % 1 == 0 else None


def _flag(value: Any, _: _Place) -> bool | None:
    return value if isinstance(value, bool) else None


def _values(value: Any, _: _Place) -> list[Any] | None:
    return value if isinstance(value, list) and value else None


_CHECKS: dict[str, Callable[[Any, _Place], Any]] = {
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
