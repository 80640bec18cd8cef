"""The root of a tool's schema: an object, as every provider wants it, its combinations joined where one wants that."""

import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from itertools import count
from typing import Any

from router.provider_formats.references import resolved
from router.provider_formats.schemas import Schema

_COMBINATIONS = ("allOf", "anyOf", "oneOf")
# Beside the combinations: what OpenAI does not take at the root.
_REFUSED = ("enum", "const", "not", "if", "then", "else", "dependentSchemas")
# Combinations of combinations: real roots have a few branches, and one that refers to itself has no end of them.
_MAX_DEPTH = 8
_MAX_BRANCHES = 1_000
_PLAIN = re.compile(r"[a-zA-Z0-9_.-]{1,64}\Z")


def object_root(schema: Schema) -> Schema:
    """The schema with `type` object and `properties` at its root; an open one where its root is no object.

    `schema` is valid (`schemas.valid`), and is not changed.
    """
    root = dict(resolved(schema, schema))
    if "$defs" in schema:
        root["$defs"] = schema["$defs"]
    kind = root.get("type")
    says_object = kind is None or kind == "object" or (isinstance(kind, list) and "object" in kind)
    if not says_object:
        return {"type": "object", "properties": {}}
    properties = root.pop("properties", {})
    return {**root, "type": "object", "properties": properties}


def joined(root: Schema) -> Schema:
    """An object root without combinations: what any branch names is a property, what all need is required.

    It allows more than the record's own schema does, and whoever runs the tool refuses what that does not allow.
    """
    if not any(keyword in root for keyword in (*_COMBINATIONS, *_REFUSED)):
        return root
    properties, required = _members(root, root, 0, count())
    made = {k: v for k, v in root.items() if k not in (*_COMBINATIONS, *_REFUSED, "properties", "required")}
    made["properties"] = properties
    if required:
        made["required"] = list(required)
    return made


def _members(
    schema: Any, root: Schema, depth: int, branch_numbers: Iterator[int]
) -> tuple[dict[str, Any], dict[str, None]]:
    """The properties of a schema and of its branches, and the names that it needs, in order."""
    schema = resolved(schema, root)
    if depth > _MAX_DEPTH or next(branch_numbers) > _MAX_BRANCHES:
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
            needs = [set(needed) for _, needed in branches]
            of_all = set.union(*needs) if keyword == "allOf" else set.intersection(*needs)
            required.update(dict.fromkeys(name for _, needed in branches for name in needed if name in of_all))
    return properties, required


def _either(one: Any, other: Any) -> Any:
    """Two schemas of one property: either may hold. One that says nothing beside its branches gains a branch."""
    if one == other:
        return one
    branches = one["anyOf"] if isinstance(one, Mapping) and set(one) == {"anyOf"} else [one]
    return one if other in branches else {"anyOf": [*branches, other]}


def plain_parameters(root: Schema) -> tuple[Schema, dict[str, str]]:
    """An object root whose properties are named `[a-zA-Z0-9_.-]{1,64}`, and by new name the name that each had."""
    properties = root["properties"]
    taken = {name for name in properties if _PLAIN.match(name)}
    if len(taken) == len(properties):
        return root, {}
    new: dict[str, str] = {}
    for name in properties:
        if name not in taken:
            plain = re.sub(r"[^a-zA-Z0-9_.-]+", "_", name)[:64] or "_"
            if plain in taken or plain in new.values():
                plain = f"{plain[:55]}_{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
            new[name] = plain
    made = {**root, "properties": {new.get(name, name): child for name, child in properties.items()}}
    if "required" in root:
        made["required"] = [new.get(name, name) for name in root["required"]]
    return made, {plain: name for name, plain in new.items()}
