"""The root of a tool's schema: an object, as every provider requires, without combinations where one requires that."""

import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from itertools import count
from typing import Any

from router.provider_formats.schemas import Schema, resolve_reference

_COMBINATIONS = ("allOf", "anyOf", "oneOf")
# Other keywords that OpenAI does not accept at the root.
_REFUSED = ("enum", "const", "not", "if", "then", "else", "dependentSchemas")
# Limits for combinations of combinations: real roots have a few branches, one that refers to itself has no end of them.
_MAX_DEPTH = 8
_MAX_BRANCHES = 1_000
_PLAIN = re.compile(r"[a-zA-Z0-9_.-]{1,64}\Z")


def object_root(schema: Schema) -> Schema:
    """Return the schema with `type` object and `properties` at its root; an open one where its root is no object.

    `schema` is valid (`valid_schema`), and is not changed.
    """
    root = dict(resolve_reference(schema, schema))
    if "$defs" in schema:
        root["$defs"] = schema["$defs"]
    kind = root.get("type")
    is_object = kind is None or kind == "object" or (isinstance(kind, list) and "object" in kind)
    if not is_object:
        return {"type": "object", "properties": {}}
    properties = root.pop("properties", {})
    return {**root, "type": "object", "properties": properties}


def merge_combinations(root: Schema) -> Schema:
    """Return an object root without combinations. Each branch adds its properties; those that all require are required.

    It allows more than the record's own schema does: the tool itself refuses the rest.
    """
    if not any(keyword in root for keyword in (*_COMBINATIONS, *_REFUSED)):
        return root
    properties, required = _members(root, root, 0, count())
    merged = {k: v for k, v in root.items() if k not in (*_COMBINATIONS, *_REFUSED, "properties", "required")}
    merged["properties"] = properties
    if required:
        merged["required"] = list(required)
    return merged


def _members(
    schema: Any, root: Schema, depth: int, branch_numbers: Iterator[int]
) -> tuple[dict[str, Any], dict[str, None]]:
    """Return the properties of a schema and of its branches, and the names that are required, in order."""
    schema = resolve_reference(schema, root)
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
            name_sets = [set(names) for _, names in branches]
            by_all = set.union(*name_sets) if keyword == "allOf" else set.intersection(*name_sets)
            required.update(dict.fromkeys(name for _, names in branches for name in names if name in by_all))
    return properties, required


def _either(one: Any, other: Any) -> Any:
    """Return a schema that allows what either of two schemas allows. A bare anyOf gets another branch."""
    if one == other:
        return one
    branches = one["anyOf"] if isinstance(one, Mapping) and set(one) == {"anyOf"} else [one]
    return one if other in branches else {"anyOf": [*branches, other]}


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
