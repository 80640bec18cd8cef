"""Repair of vendors' input schemas to JSON Schema, draft 2020-12, and of their roots to what providers take.

Providers refuse a whole request for one bad schema. Valid parts stay as they are, and are shared with the record, which
is never changed. The repair removes as little as possible: a keyword whose value has the wrong type, an unknown type, a
reference to nothing.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from itertools import count
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
_COMBINATIONS = ("allOf", "anyOf", "oneOf")
_BRANCHES = frozenset((*_COMBINATIONS, "prefixItems"))
_NESTED = frozenset(
    "additionalProperties contains not if then else propertyNames unevaluatedItems unevaluatedProperties "
    "contentSchema".split()
)
_COUNTS = "minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains".split()
# Other keywords that OpenAI does not accept at the root.
_REFUSED_ROOTS = ("enum", "const", "not", "if", "then", "else", "dependentSchemas")
# Limits for combinations of combinations: real roots have a few branches, one that refers to itself has no end of them.
_MAX_ROOT_DEPTH = 8
_MAX_ROOT_BRANCHES = 1_000
_PLAIN = re.compile(r"[a-zA-Z0-9_.-]{1,64}\Z")


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
    for referring in repair.referring:
        reference = re.sub("^#/definitions/", "#/$defs/", referring["$ref"])
        try:
            leads_to_schema = reference.startswith("#") and isinstance(value_at_pointer(repaired, reference), Mapping)
        except LookupError:
            leads_to_schema = False
        if leads_to_schema:
            referring["$ref"] = reference
        else:
            del referring["$ref"]
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
        if keyword in _NAMED:
            return {str(name): self.schema(child, depth) for name, child in value.items()} if _is_map(value) else None
        if keyword in _BRANCHES:
            return self._branches(value, depth)
        if keyword == "items" and isinstance(value, list):  # a tuple's, in older drafts: each item is one of them
            branches = self._branches(value, depth)
            return {"anyOf": branches} if branches else None
        if keyword == "items" or keyword in _NESTED:
            if isinstance(value, bool):
                return {} if keyword == "items" and value else value
            return self.schema(value, depth) if _is_map(value) else None
        if keyword == "required":
            return _texts(value) or None
        if keyword == "dependentRequired":
            return {str(name): _texts(others) for name, others in value.items()} if _is_map(value) else None
        return _type(value)

    def _branches(self, value: Any, depth: int) -> list[Any] | None:
        return [self.schema(branch, depth) for branch in value] or None if isinstance(value, list) else None


_KEYWORDS = frozenset({*_IS_VALID, *_NAMED, *_BRANCHES, *_NESTED, "items", "required", "dependentRequired", "type"})


def _is_map(value: Any) -> bool:
    return isinstance(value, dict)


def _texts(value: Any) -> list[str]:
    return list(dict.fromkeys(item for item in value if isinstance(item, str))) if isinstance(value, list) else []


def _type(value: Any) -> str | list[str] | None:
    """Return a type, or several, by the names of JSON Schema; None for any, such as one unknown among several."""
    if isinstance(value, str) and value in JSON_TYPES:
        return value
    kinds = value if isinstance(value, list) else [value]
    lower = [kind.lower() for kind in kinds if isinstance(kind, str)]
    known = list(dict.fromkeys(k for kind in lower if (k := kind if kind in JSON_TYPES else TYPE_ALIASES.get(kind))))
    if isinstance(value, list) and len(known) == len(lower):
        return known or None
    return known[0] if len(known) == 1 and len(kinds) == 1 else None


def object_root(schema: Schema) -> Schema:
    """Return the schema with `type` object and `properties` at its root; an open one where its root is not an object.

    `schema` is valid (`valid_schema`), and is not changed.
    """
    root = dict(resolve_reference(schema, schema))
    if "$defs" in schema:
        root["$defs"] = schema["$defs"]
    kind = root.get("type", "object")
    if kind != "object" and not (isinstance(kind, list) and "object" in kind):
        return {"type": "object", "properties": {}}
    properties = root.pop("properties", {})
    return {**root, "type": "object", "properties": properties}


def merge_combinations(root: Schema) -> Schema:
    """Return an object root without combinations. Each branch adds its properties; those that all require are required.

    It allows more than the record's own schema does: the tool itself refuses the rest.
    """
    removed = (*_COMBINATIONS, *_REFUSED_ROOTS)
    if not any(keyword in root for keyword in removed):
        return root
    properties, required = _members(root, root, 0, count())
    merged = {k: v for k, v in root.items() if k not in (*removed, "properties", "required")}
    return {**merged, "properties": properties, **({"required": list(required)} if required else {})}


def _members(
    schema: Any, root: Schema, depth: int, branch_numbers: Iterator[int]
) -> tuple[dict[str, Any], dict[str, None]]:
    """Return the properties of a schema and of its branches, and the names that are required, in order."""
    schema = resolve_reference(schema, root)
    if depth > _MAX_ROOT_DEPTH or next(branch_numbers) > _MAX_ROOT_BRANCHES:
        return {}, {}
    properties = dict(schema.get("properties", {}))
    required = dict.fromkeys(schema.get("required", ()))
    for keyword in _COMBINATIONS:
        branches = [_members(branch, root, depth + 1, branch_numbers) for branch in schema.get(keyword, ())]
        for members, _ in branches:
            for name, child in members.items():
                known = properties.setdefault(name, child)
                if keyword != "allOf" and child is not known:
                    properties[name] = _either(known, child)
        if branches:
            name_sets = [set(names) for _, names in branches]
            by_all = set.union(*name_sets) if keyword == "allOf" else set.intersection(*name_sets)
            required.update(dict.fromkeys(name for _, names in branches for name in names if name in by_all))
    return properties, required


def _either(one: Any, other: Any) -> Any:
    """Return a schema that allows what either of two schemas allows. A bare anyOf gets another branch."""
    branches = one["anyOf"] if isinstance(one, Mapping) and set(one) == {"anyOf"} else [one]
    return one if one == other or other in branches else {"anyOf": [*branches, other]}


def with_plain_parameters(root: Schema) -> tuple[Schema, dict[str, str]]:
    """Return an object root whose properties are named `[a-zA-Z0-9_.-]{1,64}`, and the old names by new name."""
    properties = root["properties"]
    already_plain = {name for name in properties if _PLAIN.match(name)}
    if len(already_plain) == len(properties):
        return root, {}
    new: dict[str, str] = {}
    for name in properties:
        if name not in already_plain:
            plain = re.sub(r"[^a-zA-Z0-9_.-]+", "_", name)[:64] or "_"
            if plain in already_plain or plain in new.values():
                plain = f"{plain[:55]}_{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
            new[name] = plain
    renamed = {**root, "properties": {new.get(name, name): child for name, child in properties.items()}}
    if "required" in root:
        renamed["required"] = [new.get(name, name) for name in root["required"]]
    return renamed, {plain: name for name, plain in new.items()}
