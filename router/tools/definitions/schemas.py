"""Turns the parameters of a tool, in any shape and dialect, into JSON Schema.

Shapes are a JSON Schema, a list of objects (`[{"name": "city", "type": "str", "required": true}]`), an object by name
(`{"city": {"type": "str"}}`, `{"city": "(string) the city"}`), a list of names, and the JSON text of any of them.
Nothing is dropped: an unknown type goes into the description, and unknown keywords stay.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from router.tools.definitions.json_values import parse_json
from router.tools.definitions.types import JSON_TYPES, TYPE_ALIASES, parse_type, parse_typed_text

JSON_SCHEMA = "JSON Schema"
COMBINATIONS = ("allOf", "anyOf", "oneOf")

# A schema, and whether its parameter is required; None where that is not stated.
_SchemaAndRequired = tuple[Any, bool | None]

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
_LISTS = (*COMBINATIONS, "prefixItems")
_NESTED = ("items", "additionalProperties", "contains", "not", "if", "then", "else", "propertyNames")
_SCHEMA_KEYS = frozenset(
    "type description title enum const default format pattern items properties required optional nullable anyOf oneOf "
    "allOf not $ref example examples minimum maximum schema in label".split()
).union(_DESCRIPTIONS, _ENUMS, _MAPS, _NESTED)
_ANNOTATIONS = frozenset("title description additionalProperties $schema $id $comment strict deprecated".split())
_OBJECT = frozenset({"object", *(word for word, kind in TYPE_ALIASES.items() if kind == "object")})
# The keywords at the root of a tool's schema, with the types of their values.
_ROOT_KEYWORDS: dict[str, Any] = {
    "type": (str, list),
    **dict.fromkeys("title description format pattern".split(), str),
    **dict.fromkeys("properties patternProperties definitions dependentSchemas".split(), dict),
    **dict.fromkeys("required enum examples prefixItems allOf anyOf oneOf".split(), list),
    **dict.fromkeys("items additionalProperties not unevaluatedProperties propertyNames".split(), (dict, bool)),
    **dict.fromkeys("minimum maximum multipleOf minLength maxLength minProperties maxProperties".split(), (int, float)),
    **dict.fromkeys("deprecated nullable strict uniqueItems".split(), bool),
    **dict.fromkeys("default const".split(), object),
}


@dataclass(frozen=True)
class ParsedParameters:
    """A JSON Schema, and the shape that it was read from, in words; empty where there are no parameters."""

    schema: dict[str, Any] = field(default_factory=dict)
    shape: str = ""


def parse_parameters(value: Any) -> ParsedParameters | None:
    """Return parameters as a JSON Schema; None where the value has no known shape."""
    if value is None or value in ("", [], {}):
        return ParsedParameters()
    if isinstance(value, str):
        try:
            parsed = parse_parameters(parse_json(value)) if value.lstrip()[:1] in ("{", "[") else None
        except ValueError:
            return None
        return parsed and ParsedParameters(parsed.schema, f"text of a {parsed.shape}" if parsed.shape else "")
    if isinstance(value, list):
        named = _index_by_name(value)
        kind = "names" if isinstance(value[0], str) else "objects"
        return None if named is None else ParsedParameters(_object_schema(named), f"list of {kind}")
    if not isinstance(value, dict):
        return None
    if not _is_schema(value):
        return ParsedParameters(_object_schema(value), "object by name")
    return ParsedParameters(to_json_schema(_with_properties(value)), JSON_SCHEMA)


def is_empty(schema: dict[str, Any]) -> bool:
    """Return whether a schema declares that a tool takes no parameters."""
    keywords = {key for key, value in schema.items() if value not in ([], {}, "", None)}
    return not keywords or (_is_object_type(schema.get("type")) and keywords <= {"type", *_ANNOTATIONS})


def with_required(schema: dict[str, Any], names: Any) -> dict[str, Any]:
    """Return a schema that also requires the given names; those that it has no property for are left out."""
    properties = schema.get("properties")
    if not isinstance(names, list) or not isinstance(properties, dict):
        return schema
    listed = schema["required"] if isinstance(schema.get("required"), list) else []
    added = [name for name in names if isinstance(name, str) and name in properties and name not in listed]
    return {**schema, "required": [*listed, *added]} if added else schema


def to_json_schema(schema: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """Return an equivalent schema in standard JSON Schema. `depth` counts the schemas around it."""
    json_schema: dict[str, Any] = _convert_schema(schema, depth)[0]
    return json_schema


def _is_schema(value: dict[str, Any]) -> bool:
    """Return whether an object is a JSON Schema, not an object by name, whose names may be `type` or `title` too."""
    if isinstance(value.get("properties"), dict | list) or isinstance(value.get("$ref"), str):
        return True
    if any(isinstance(value.get(keyword), list) for keyword in COMBINATIONS):
        return True
    return _is_object_type(value.get("type")) or all(_is_root_keyword(key, item) for key, item in value.items())


def _with_properties(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with `properties` added where it lacks them: `{"type": "object", "city": {"type": "string"}}`."""
    names = [key for key, item in schema.items() if not _is_root_keyword(key, item) and isinstance(item, dict | str)]
    if not names or any(keyword in schema for keyword in ("properties", "$ref", *COMBINATIONS)):
        return schema
    keywords = {key: item for key, item in schema.items() if key not in names}
    return {**keywords, "properties": {name: schema[name] for name in names}}


def _is_object_type(kind: Any) -> bool:
    kinds = kind if isinstance(kind, list) else [kind]
    return any(isinstance(name, str) and name.lower() in _OBJECT for name in kinds)


def _is_root_keyword(key: str, value: Any) -> bool:
    """Return whether a key is a keyword that takes the value, which is not typed text ("(string) the city")."""
    if key.startswith(("$", "x-")):
        return True
    if not isinstance(value, _ROOT_KEYWORDS.get(key, ())):
        return False
    if not isinstance(value, str):
        return True
    return parse_type(value) is not None if key == "type" else "type" not in parse_typed_text(value).schema


def _object_schema(named: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """Return the schema of an object, given for each name a schema, a text, or another mapping of names."""
    properties = dict(named)
    required = properties.get("required")
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if isinstance(required, list) and all(isinstance(name, str) and name in named for name in required):
        schema["required"] = properties.pop("required")
    return to_json_schema(schema, depth)


def _index_by_name(entries: Sequence[Any]) -> dict[str, Any] | None:
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
            (name,) = entry
            named.setdefault(name, entry[name])
        else:
            return None
    return named


def _convert_value(value: Any, depth: int) -> _SchemaAndRequired:
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


def _convert_schema(schema: Mapping[str, Any], depth: int) -> _SchemaAndRequired:
    if depth > _MAX_DEPTH:
        return schema, None
    if _is_object_by_name(schema):
        return _object_schema(schema, depth), None
    converted = dict(schema)  # keywords keep their order
    required = _convert_required(schema, converted)
    for keyword, value in schema.items():
        if keyword == "properties":
            _convert_properties(schema, converted, depth)
        elif keyword in _MAPS and isinstance(value, dict):
            converted[keyword] = {name: _convert_child(child, depth) for name, child in value.items()}
        elif keyword in _NESTED or (keyword in _LISTS and isinstance(value, list)):
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
    return bool(schema) and all(
        not _is_keyword(key, value)
        and (isinstance(value, dict) or (isinstance(value, str) and "type" in parse_typed_text(value).schema))
        for key, value in schema.items()
    )


def _is_keyword(key: str, value: Any) -> bool:
    # A parameter may have the name of a keyword; its schema is then an object, which the keyword does not take.
    takes_text = isinstance(value, dict) and key in ("type", "description", "title", "format")
    return key.startswith(("$", "x-")) or (key in _SCHEMA_KEYS and not takes_text)


def _convert_properties(schema: Mapping[str, Any], converted: dict[str, Any], depth: int) -> None:
    value = schema["properties"]
    named = _index_by_name(value) if isinstance(value, list) else value
    if not isinstance(named, dict):
        return
    children = {name: _convert_value(child, depth + 1) for name, child in named.items()}
    converted["properties"] = {name: child for name, (child, _) in children.items()}
    listed = schema["required"] if isinstance(schema.get("required"), list) else []
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
    for key in _ENUMS if "enum" not in schema and "properties" not in schema else ():
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
        converted["type"] = list(dict.fromkeys(filter(None, map(_json_type, kind)))) or kind
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
