"""The root of a tool's schema as providers take it: an object without combinations, with plain names of parameters."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from router.provider_formats.formats import Schema
from router.provider_formats.schemas import COMBINATIONS, free_name, resolve_reference, with_targets

# Other keywords that OpenAI does not accept at the root.
_REFUSED_ROOTS = ("enum", "const", "not", "if", "then", "else", "dependentSchemas")
# Limits for combinations of combinations: real roots have a few branches, one that refers to itself has no end of them.
_MAX_ROOT_DEPTH = 8
_MAX_ROOT_BRANCHES = 1_000
_PLAIN = re.compile(r"[a-zA-Z0-9_.-]{1,64}\Z")


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
    removed = (*COMBINATIONS, *_REFUSED_ROOTS)
    if not any(keyword in root for keyword in removed):
        return root
    properties, required = members(root, root)
    merged = {k: v for k, v in root.items() if k not in (*removed, "properties", "required")}
    merged = {**merged, "properties": properties, **({"required": list(required)} if required else {})}
    return with_targets(merged, root)


def members(
    schema: Any, root: Schema, depth: int = 0, branch_numbers: Iterator[int] | None = None
) -> tuple[dict[str, Any], dict[str, None]]:
    """Return the properties of a schema and of its branches, and the names that are required, in order."""
    branch_numbers = branch_numbers or count()
    if depth > _MAX_ROOT_DEPTH or next(branch_numbers) > _MAX_ROOT_BRANCHES:
        return {}, {}
    schema = resolve_reference(schema, root)
    properties = dict(schema.get("properties", {}))
    required = dict.fromkeys(schema.get("required", ()))
    for keyword in COMBINATIONS:
        branches = [members(branch, root, depth + 1, branch_numbers) for branch in schema.get(keyword, ())]
        for of_branch, _ in branches:
            for name, child in of_branch.items():
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
    """Return an object root whose properties are named `[a-zA-Z0-9_.-]{1,64}`, and the old names by new name.

    A name that has no such character becomes `parameter_3`, by its place. The description says the vendor's name.
    """
    new: dict[str, str] = {}
    taken = {name for name in root["properties"] if _PLAIN.match(name)}
    for place, name in enumerate(root["properties"], start=1):
        if name not in taken:
            ascii_letters = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
            is_readable = name.isascii() or 2 * len(re.sub(r"\W", "", ascii_letters)) > len(re.sub(r"\W", "", name))
            readable = re.sub(r"[^a-zA-Z0-9_.-]+", "_", name if name.isascii() else ascii_letters)[:56]
            word = readable if is_readable and readable.strip("_.-") else f"parameter_{place}"
            new[name] = free_name(word, {*taken, *new.values()})
    if not new:
        return root, {}
    properties = {new.get(name, name): child for name, child in root["properties"].items()}
    for name, plain in new.items():
        if not name.isascii() and isinstance(child := properties[plain], Mapping):
            said = child.get("description")
            properties[plain] = {**child, "description": f"{name}: {said}" if said else name}
    renamed = {**root, "properties": properties}
    if "required" in root:
        renamed["required"] = [new.get(name, name) for name in root["required"]]
    return with_targets(renamed, root), {plain: name for name, plain in new.items()}
