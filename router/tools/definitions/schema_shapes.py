"""Parses the parameters of a tool, in any shape, into the JSON Schema of an object.

Shapes are a JSON Schema of any dialect, a list of objects (`[{"name": "city", "type": "str", "required": true}]`), an
object by name (`{"city": {"type": "str"}}`, `{"city": "(string) the city"}`), a list of names, and the JSON text of any
of them.
"""

from dataclasses import dataclass, field
from typing import Any

from router.tools.definitions.dialects import index_by_name, object_schema, to_json_schema
from router.tools.definitions.json_values import parse_json
from router.tools.definitions.types import TYPE_ALIASES, parse_type, parse_typed_text

JSON_SCHEMA = "JSON Schema"
_ANNOTATIONS = frozenset("title description additionalProperties $schema $id $comment strict deprecated".split())
_OBJECT = frozenset({"object", *(word for word, kind in TYPE_ALIASES.items() if kind == "object")})
# The keywords at the root of a tool's schema, with the types of their values.
_KEYWORDS: dict[str, Any] = {
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
        return _parse_text(value)
    if isinstance(value, list):
        named = index_by_name(value)
        kind = "names" if isinstance(value[0], str) else "objects"
        return None if named is None else ParsedParameters(object_schema(named), f"list of {kind}")
    if not isinstance(value, dict):
        return None
    if not _is_schema(value):
        return ParsedParameters(object_schema(value), "object by name")
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
    listed = schema.get("required")
    listed = listed if isinstance(listed, list) else []
    added = [name for name in names if isinstance(name, str) and name in properties and name not in listed]
    return {**schema, "required": [*listed, *added]} if added else schema


def _parse_text(text: str) -> ParsedParameters | None:
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        parsed = parse_parameters(parse_json(text))
    except ValueError:
        return None
    return parsed and ParsedParameters(parsed.schema, f"text of a {parsed.shape}" if parsed.shape else "")


def _is_schema(value: dict[str, Any]) -> bool:
    """Return whether an object is a JSON Schema, not an object by name, whose names may be `type` or `title` too."""
    if isinstance(value.get("properties"), dict | list) or isinstance(value.get("$ref"), str):
        return True
    if any(isinstance(value.get(keyword), list) for keyword in ("allOf", "anyOf", "oneOf")):
        return True
    return _is_object_type(value.get("type")) or all(_is_keyword(key, item) for key, item in value.items())


def _with_properties(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with `properties` added where it lacks them: `{"type": "object", "city": {"type": "string"}}`."""
    combined = any(keyword in schema for keyword in ("properties", "$ref", "allOf", "anyOf", "oneOf"))
    names = [key for key, item in schema.items() if not _is_keyword(key, item) and isinstance(item, dict | str)]
    if combined or not names:
        return schema
    keywords = {key: item for key, item in schema.items() if key not in names}
    return {**keywords, "properties": {name: schema[name] for name in names}}


def _is_object_type(kind: Any) -> bool:
    kinds = kind if isinstance(kind, list) else [kind]
    return any(isinstance(name, str) and name.lower() in _OBJECT for name in kinds)


def _is_keyword(key: str, value: Any) -> bool:
    """Return whether a key is a keyword: it takes the value, and the value is no typed text ("(string) the city")."""
    if key.startswith(("$", "x-")):
        return True
    if not isinstance(value, _KEYWORDS.get(key, ())):
        return False
    if not isinstance(value, str):
        return True
    return parse_type(value) is not None if key == "type" else "type" not in parse_typed_text(value).schema
