"""Repair of vendors' input schemas to JSON Schema, draft 2020-12; references followed, and kept where a schema changes.

Providers refuse a whole request for one bad schema. Valid parts stay as they are, and are shared with the record, which
is never changed. The repair removes as little as possible: a keyword whose value has the wrong type, an unknown type, a
reference to nothing.
"""

import math
import re
from collections.abc import Callable, Collection, Mapping
from functools import partial
from itertools import chain, count
from typing import Any

from router.provider_formats.formats import Schema
from router.tools.definitions.json_values import value_at_pointer
from router.tools.definitions.types import JSON_TYPES, TYPE_ALIASES

# Deeper than any real schema. Below it anything is allowed, so that a hostile schema cannot exhaust the stack.
_MAX_DEPTH = 48
_MAX_HOPS = 32  # references to references: real ones are one or two long
# They describe the vendor's copy of the schema: its dialect, its address, its name there.
_DROPPED = frozenset(
    "$schema $id $anchor $dynamicRef $dynamicAnchor $recursiveRef $recursiveAnchor $vocabulary $comment nullable "
    "dependencies".split()
)
_NAMED = frozenset("properties patternProperties $defs definitions dependentSchemas".split())
COMBINATIONS = ("allOf", "anyOf", "oneOf")
_BRANCHES = frozenset((*COMBINATIONS, "prefixItems"))
_NESTED = frozenset(
    "additionalProperties contains not if then else propertyNames unevaluatedItems unevaluatedProperties "
    "contentSchema".split()
)
_COUNTS = "minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains".split()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


# Whether a keyword's value is valid.
_IS_VALID: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(
        "title description pattern format contentEncoding contentMediaType $ref".split(), lambda v: isinstance(v, str)
    ),
    **dict.fromkeys("uniqueItems deprecated readOnly writeOnly".split(), lambda v: isinstance(v, bool)),
    **dict.fromkeys(("enum", "examples"), lambda v: isinstance(v, list) and v != []),
    **dict.fromkeys("minimum maximum exclusiveMinimum exclusiveMaximum".split(), _is_number),
    **dict.fromkeys(_COUNTS, lambda v: _is_number(v) and v >= 0 and v % 1 == 0),
    "multipleOf": lambda v: _is_number(v) and v > 0,
}


def valid_schema(schema: Any) -> Schema:
    """Return a valid schema that allows what the vendor's allows, with `definitions` moved to `$defs`.

    Return {} for a value that is not a schema.
    """
    if not isinstance(schema, Mapping):
        return {}
    older, newer = schema.get("definitions"), schema.get("$defs")
    if isinstance(older, dict):
        others = {keyword: value for keyword, value in schema.items() if keyword != "definitions"}
        schema = {**others, "$defs": {**older, **newer} if isinstance(newer, dict) else older}
    repair = _Repair()
    repaired: Schema = repair.schema(dict(schema), 0)
    checked: dict[str, str] = {}
    for referring in repair.referring:  # it grows
        reference = re.sub("^#/definitions/", "#/$defs/", referring["$ref"])
        if reference not in checked:
            checked[reference] = _checked_reference(reference, repaired, repair)
        referring["$ref"] = checked[reference]
        if not checked[reference]:
            del referring["$ref"]
    return repaired


def _checked_reference(reference: str, repaired: Schema, repair: "_Repair") -> str:
    """Return a reference to the valid schema that one means, made where there is none; "" where it means no schema."""
    if not _leads_to_schema(repaired, reference):
        return ""
    target, known = value_at_pointer(repaired, reference), len(repair.referring)
    # What stands under a keyword of the vendor's own has not been repaired yet.
    if (copy := repair.schema(target, 0)) == target:
        del repair.referring[known:]
        return reference
    definitions = repaired.setdefault("$defs", {})
    definitions[name := free_name("part", definitions)] = copy
    return f"#/$defs/{name}"


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


def merged_all_of(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema whose `allOf` of one branch is merged into it; any other as it is."""
    if len(schema.get("allOf", ())) != 1:
        return schema
    return {**schema["allOf"][0], **{keyword: value for keyword, value in schema.items() if keyword != "allOf"}}


def whole_part(schema: Any, root: Mapping[str, Any]) -> Any:
    """Return a part with its references followed and an `allOf` of one branch merged, however they are nested."""
    for _ in range(_MAX_HOPS):
        part = resolve_reference(schema, root)
        if not isinstance(part, Mapping) or (schema := merged_all_of(part)) is part:
            return part
    return {}


def kinds_of(part: Mapping[str, Any]) -> list[str]:
    """Return the types of a part; none where it says none."""
    kind = part.get("type", "object" if "properties" in part else "array" if "items" in part else [])
    return [kind] if isinstance(kind, str) else list(kind)


def map_schemas(schema: Any, change: Callable[[Schema], Schema]) -> Any:
    """Return a valid schema in which `change` made each part anew, the inner ones first."""
    if not isinstance(schema, Mapping):
        return schema
    mapped: Schema = {}
    for keyword, value in schema.items():
        if keyword in _NAMED and isinstance(value, Mapping):
            mapped[keyword] = {name: map_schemas(child, change) for name, child in value.items()}
        elif keyword in _BRANCHES and isinstance(value, list):
            mapped[keyword] = [map_schemas(child, change) for child in value]
        else:
            mapped[keyword] = map_schemas(value, change) if keyword in _NESTED or keyword == "items" else value
    return change(mapped)


def with_targets(changed: Schema, whole: Schema, shape: Callable[[Any], Any] = lambda part: part) -> Schema:
    """Return a changed schema whose references all lead somewhere, `whole` being the schema before the change.

    What the change removed or renamed becomes a definition, shaped by `shape`.
    """
    names: dict[str, str] = {}
    waiting: list[str] = []

    def redirect(part: Schema) -> Schema:
        reference = part.get("$ref")
        if reference is None or _leads_to_schema(changed, reference):
            return part
        if reference not in names:
            word = re.sub(r"[^A-Za-z0-9]+", "_", reference).strip("_") or "part"
            names[reference] = free_name(word, {*changed.get("$defs", ()), *names.values()})
            waiting.append(reference)
        return {**part, "$ref": f"#/$defs/{names[reference]}"}

    redirected: Schema = map_schemas(changed, redirect)
    definitions = dict(redirected.get("$defs", {}))
    while waiting:
        reference = waiting.pop()
        definitions[names[reference]] = map_schemas(shape(value_at_pointer(whole, reference)), redirect)
    return {**redirected, "$defs": definitions} if names else changed


def _leads_to_schema(root: Schema, reference: str) -> bool:
    try:
        return reference.startswith("#") and isinstance(value_at_pointer(root, reference), Mapping)
    except LookupError:
        return False


def free_name(name: str, taken: Collection[str], length: int = 1_000) -> str:
    """Return the name, or the first of name_2, name_3 and so on that is free, within a length."""
    endings = chain([""], (f"_{number}" for number in count(2)))
    candidates = (f"{name[: length - len(ending)]}{ending}" for ending in endings)
    return next(candidate for candidate in candidates if candidate not in taken)


class _Repair:
    """The repair of one schema. `referring` are the repaired parts that have a reference."""

    def __init__(self) -> None:
        self.referring: list[Schema] = []

    def schema(self, schema: Any, depth: int) -> Any:
        """Return a part of a schema, repaired; {} for a value that is not a schema."""
        if isinstance(schema, str):
            return {"description": schema}  # some vendors write {"city": "the city's name"}
        if not isinstance(schema, dict) or depth > _MAX_DEPTH:
            return {}
        repaired: Schema = {}
        for keyword, value in schema.items():
            if keyword in _KEYWORDS:
                if (kept := self._value(keyword, value, depth + 1)) is not None:
                    repaired[keyword] = kept
            elif str(keyword) not in _DROPPED and (value is not None or keyword in ("default", "const")):
                repaired[str(keyword)] = value
        if "$ref" in repaired:
            self.referring.append(repaired)
        if "array" in repaired.get("type", ()) and "items" not in repaired:
            repaired["items"] = {}  # it means the same, and OpenAI refuses an array without it
        if schema.get("nullable") is True and isinstance(repaired.get("type"), str):
            repaired["type"] = [repaired["type"], "null"]  # OpenAPI 3.0
        for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
            if bound in repaired and schema.get(exclusive) is True:  # draft 4
                repaired[exclusive] = repaired.pop(bound)
        children = schema["properties"].items() if "properties" in repaired else ()
        needed = [str(name) for name, child in children if isinstance(child, dict) and child.get("required") is True]
        if needed:  # draft 3
            repaired["required"] = list(dict.fromkeys([*repaired.get("required", ()), *needed]))
        return repaired

    def _value(self, keyword: str, value: Any, depth: int) -> Any:
        """Return the value of a keyword, repaired; None where the keyword is to be removed."""
        if keyword in _IS_VALID:
            is_valid = _IS_VALID[keyword](value)
            return (int(value) if keyword in _COUNTS else value) if is_valid else None
        if keyword in _NAMED or keyword == "dependentRequired":
            change = _texts if keyword == "dependentRequired" else partial(self.schema, depth=depth)
            return {str(name): change(child) for name, child in value.items()} if isinstance(value, dict) else None
        if keyword in _BRANCHES:
            return self._branches(value, depth)
        if keyword == "items" and isinstance(value, list):  # a tuple's, in older drafts: each item is one of them
            branches = self._branches(value, depth)
            return {"anyOf": branches} if branches else None
        if keyword == "items" or keyword in _NESTED:
            if isinstance(value, bool):
                return {} if keyword == "items" and value else value
            return self.schema(value, depth) if isinstance(value, dict) else None
        if keyword == "required":
            return _texts(value) or None
        return _type(value)

    def _branches(self, value: Any, depth: int) -> list[Any] | None:
        return [self.schema(branch, depth) for branch in value] or None if isinstance(value, list) else None


_KEYWORDS = frozenset({*_IS_VALID, *_NAMED, *_BRANCHES, *_NESTED, "items", "required", "dependentRequired", "type"})


def _texts(value: Any) -> list[str]:
    return list(dict.fromkeys(item for item in value if isinstance(item, str))) if isinstance(value, list) else []


def _type(value: Any) -> str | list[str] | None:
    """Return a type, or several, by the names of JSON Schema; None for any, such as one unknown among several."""
    kinds = value if isinstance(value, list) else [value]
    lower = [kind.lower() for kind in kinds if isinstance(kind, str)]
    known = list(dict.fromkeys(k for kind in lower if (k := kind if kind in JSON_TYPES else TYPE_ALIASES.get(kind))))
    if isinstance(value, list) and len(known) == len(lower):
        return known or None
    return known[0] if len(known) == 1 and len(kinds) == 1 else None
