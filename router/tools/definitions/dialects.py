"""Turns schemas of any dialect into JSON Schema: its type names, `required` as a list, texts as schemas.

Nothing is dropped: an unknown type goes into the description, and unknown keywords stay.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from router.tools.definitions.types import JSON_TYPES, TYPE_ALIASES, parse_type, parse_typed_text

# A schema, and whether its parameter is required; None where that is not stated.
SchemaAndRequired = tuple[Any, bool | None]

# Deeper schemas are left unchanged: the provider formats go no deeper either.
_MAX_DEPTH = 48
_IDENTIFIER = re.compile(r"^[A-Za-z_]\w*$")
_ENTRY_NAMES = ("name", "param_name", "parameter_name")
_DESCRIPTIONS = ("desc", "llm_description", "help", "doc")
_ENUMS = ("options", "choices", "values", "allowed_values", "allowedValues")
_ANY = frozenset("any mixed unknown enum select unspecified type_unspecified".split())
_REPLACED = object()  # in the place of a keyword that others replace
_TRUTH = {"true": True, "yes": True, "required": True, "false": False, "no": False, "optional": False}

_MAPS = ("patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_NESTED = ("items", "additionalProperties", "contains", "not", "if", "then", "else", "propertyNames")
_SCHEMA_KEYS = frozenset(
    "type description title enum const default format pattern items properties required optional nullable anyOf oneOf "
    "allOf not $ref example examples minimum maximum schema in label".split()
).union(_DESCRIPTIONS, _ENUMS, _MAPS, _NESTED)


def to_json_schema(schema: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """Return an equivalent schema in standard JSON Schema. `depth` counts the schemas around it."""
    json_schema: dict[str, Any] = _convert_schema(schema, depth)[0]
    return json_schema


def object_schema(named: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """Return the schema of an object, given for each name a schema, a text, or another mapping of names."""
    properties = dict(named)
    required = properties.get("required")
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if isinstance(required, list) and all(isinstance(name, str) and name in named for name in required):
        schema["required"] = properties.pop("required")
    return to_json_schema(schema, depth)


def index_by_name(entries: Sequence[Any]) -> dict[str, Any] | None:
    """Return the entries of a list of parameters by name; None where the list is none.

    Of several entries of one name, such as a path's and a query's, the first is kept.
    """
    if all(isinstance(entry, str) and _IDENTIFIER.match(entry) for entry in entries):
        return {entry: {} for entry in entries}
    named: dict[str, Any] = {}
    for entry in entries:
        if not isinstance(entry, dict):
            return None
        key = next((key for key in _ENTRY_NAMES if isinstance(entry.get(key), str) and entry[key].strip()), None)
        if key is not None:
            named.setdefault(entry[key].strip(), {other: value for other, value in entry.items() if other != key})
        elif len(entry) == 1:  # [{"city": "string"}, {"days": {"type": "integer"}}]
            named |= {name: value for name, value in entry.items() if name not in named}
        else:
            return None
    return named


def _convert_value(value: Any, depth: int) -> SchemaAndRequired:
    """Return the schema of the value under a parameter's name."""
    if isinstance(value, str):
        typed = parse_typed_text(value)
        return typed.schema, typed.required
    if isinstance(value, dict):
        return _convert_schema(value, depth)
    if isinstance(value, list):
        kinds = [kind for kind in map(_json_type, value) if kind]
        return ({"type": kinds} if kinds and len(kinds) == len(value) else {"examples": value}), None
    if isinstance(value, bool):
        return value, None  # a schema: anything, or nothing
    return ({} if value is None else {"examples": [value]}), None


def _convert_schema(schema: Mapping[str, Any], depth: int) -> SchemaAndRequired:
    if depth > _MAX_DEPTH:
        return schema, None
    if _is_object_by_name(schema):
        return object_schema(schema, depth), None
    converted = dict(schema)  # keywords keep their order
    required = _convert_required(schema, converted)
    for keyword, value in schema.items():
        if keyword == "properties":
            _convert_properties(schema, converted, depth)
        elif keyword in _MAPS and isinstance(value, dict):
            converted[keyword] = {name: _convert_child(child, depth) for name, child in value.items()}
        elif keyword in _LISTS and isinstance(value, list):
            converted[keyword] = [_convert_child(child, depth) for child in value]
        elif keyword in _NESTED:
            converted[keyword] = _convert_child(value, depth)
    inner = schema.get("schema")
    if isinstance(inner, dict) and "type" not in schema and "properties" not in schema:  # a parameter of OpenAPI
        converted |= {"schema": _REPLACED, **to_json_schema(inner, depth + 1)}
    _convert_aliases(schema, converted)
    by_type = _convert_type(schema, converted)
    kept = {keyword: value for keyword, value in converted.items() if value is not _REPLACED}
    return kept, by_type if required is None else required


def _convert_child(value: Any, depth: int) -> Any:
    if isinstance(value, dict):
        return to_json_schema(value, depth + 1)
    if isinstance(value, list):  # a tuple's items, in older drafts
        return [_convert_child(child, depth + 1) for child in value]
    typed = parse_type(value) if isinstance(value, str) else None
    return typed.schema if typed else value


def _is_object_by_name(schema: Mapping[str, Any]) -> bool:
    """Return whether a nested value maps names to schemas: `{"street": {"type": "string"}, "city": "(string) …"}`."""
    if not schema or any(_is_keyword(key, value) for key, value in schema.items()):
        return False
    return all(
        isinstance(value, dict) or (isinstance(value, str) and "type" in parse_typed_text(value).schema)
        for value in schema.values()
    )


def _is_keyword(key: str, value: Any) -> bool:
    # A parameter may have the name of a keyword; its schema is then an object, which the keyword does not take.
    if key.startswith(("$", "x-")):
        return True
    return key in _SCHEMA_KEYS and not (isinstance(value, dict) and key in ("type", "description", "title", "format"))


def _convert_properties(schema: Mapping[str, Any], converted: dict[str, Any], depth: int) -> None:
    value = schema["properties"]
    named = index_by_name(value) if isinstance(value, list) else value
    if not isinstance(named, dict):
        return
    children = {name: _convert_value(child, depth + 1) for name, child in named.items()}
    converted["properties"] = {name: child for name, (child, _) in children.items()}
    listed = schema.get("required")
    listed = listed if isinstance(listed, list) else []
    if added := [name for name, (_, required) in children.items() if required and name not in listed]:
        converted["required"] = [*listed, *added]


def _convert_required(schema: Mapping[str, Any], converted: dict[str, Any]) -> bool | None:
    """Return whether a schema declares itself required, as in Swagger and draft 3; None where it does not say."""
    required = None
    for key, truth in (("optional", False), ("required", True)):
        value = schema.get(key)
        flag = _TRUTH.get(value.lower()) if isinstance(value, str) else value
        if isinstance(flag, bool):
            required = flag is truth
            converted[key] = _REPLACED
    return required


def _convert_aliases(schema: Mapping[str, Any], converted: dict[str, Any]) -> None:
    """Convert other names of `description` and `enum`, where these are missing."""
    if not schema.get("description"):
        key = next((key for key in _DESCRIPTIONS if isinstance(schema.get(key), str)), None)
        if key is not None:
            converted |= {"description": schema[key], key: _REPLACED}
    if "enum" not in schema and "properties" not in schema:
        for key in _ENUMS:
            values = schema.get(key)
            if isinstance(values, list) and values:
                inner = [value.get("value") if isinstance(value, dict) else value for value in values]
                if all(isinstance(value, str | int | float) for value in inner):
                    converted |= {"enum": inner, key: _REPLACED}
                    return


def _convert_type(schema: Mapping[str, Any], converted: dict[str, Any]) -> bool | None:
    """Convert a type; return whether its text says that the parameter is required, None where it does not."""
    kind = schema.get("type")
    if isinstance(kind, list):
        types = list(dict.fromkeys(json_type for json_type in map(_json_type, kind) if json_type))
        converted["type"] = types or kind
        return None
    if not isinstance(kind, str) or kind in JSON_TYPES:
        return None
    converted["type"] = _REPLACED
    if typed := parse_type(kind):
        converted |= {key: value for key, value in typed.schema.items() if key == "type" or key not in schema}
        return typed.required
    if kind.lower() not in _ANY:
        text = converted.get("description")
        converted["description"] = f"{text} ({kind})" if isinstance(text, str) and text else kind
    return None


def _json_type(kind: Any) -> str | None:
    word = kind.lower() if isinstance(kind, str) else ""
    return word if word in JSON_TYPES else TYPE_ALIASES.get(word)
