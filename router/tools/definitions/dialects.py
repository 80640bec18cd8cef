"""Turn schemas of any dialect into JSON Schema: its type names, `required` as a list, texts as schemas.

A schema that is right already stays the same object. Nothing is dropped: an unknown type goes into the description, and
unknown keywords stay.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from router.tools.definitions.types import JSON_TYPES, TYPE_ALIASES, parse_type, parse_typed_text

# A schema, and whether what is under its name is required; None where it does not say.
Read = tuple[Any, bool | None]

# What nests more deeply is left as it is: the forms that providers take go no deeper either.
_MAX_DEPTH = 48
_IDENTIFIER = re.compile(r"^[A-Za-z_]\w*$")
_ENTRY_NAMES = ("name", "param_name", "parameter_name")
_DESCRIPTIONS = ("desc", "llm_description", "help", "doc")
_ENUMS = ("options", "choices", "values", "allowed_values", "allowedValues")
_ANY = frozenset("any mixed unknown enum select unspecified type_unspecified".split())
_SAID = {"true": True, "yes": True, "required": True, "false": False, "no": False, "optional": False}

_MAPS = ("patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_NESTED = ("items", "additionalProperties", "contains", "not", "if", "then", "else", "propertyNames")
_SCHEMA_KEYS = frozenset(
    "type description title enum const default format pattern items properties required optional nullable anyOf oneOf "
    "allOf not $ref example examples minimum maximum schema in label".split()
).union(_DESCRIPTIONS, _ENUMS, _MAPS, _NESTED)


def to_json_schema(schema: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """Return a schema that says the same in JSON Schema's own terms."""
    made: dict[str, Any] = _schema(schema, depth)[0]
    return made


def object_schema(named: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """Return the schema of an object of what stands under each name: a schema, a text, or names again."""
    properties = dict(named)
    required = properties.get("required")
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if isinstance(required, list) and all(isinstance(name, str) and name in named for name in required):
        schema["required"] = properties.pop("required")
    return to_json_schema(schema, depth)


def index_by_name(entries: Sequence[Any]) -> dict[str, Any] | None:
    """Return the entries of a list by their names; None where it is no list of parameters.

    Of entries of one name, such as a path's and a query's, the first is kept.
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


def _read(value: Any, depth: int) -> Read:
    """What stands under a parameter's name."""
    if isinstance(value, str):
        typed = parse_typed_text(value)
        return typed.schema, typed.required
    if isinstance(value, dict):
        return _schema(value, depth)
    if isinstance(value, list):
        kinds = [kind for kind in map(_word, value) if kind]
        return ({"type": kinds} if kinds and len(kinds) == len(value) else {"examples": value}), None
    if isinstance(value, bool):
        return value, None  # a schema: anything, or nothing
    return ({} if value is None else {"examples": [value]}), None


def _schema(schema: Mapping[str, Any], depth: int) -> Read:
    if depth > _MAX_DEPTH:
        return schema, None
    if _is_names(schema):
        return object_schema(schema, depth), None
    changed: dict[str, Any] = {}
    gone: list[str] = []
    required = _take_required(schema, gone)
    for keyword, value in schema.items():
        if keyword == "properties":
            _take_properties(schema, value, changed, depth)
        elif keyword in _MAPS and isinstance(value, dict):
            _take(changed, keyword, value, {name: _below(child, depth) for name, child in value.items()})
        elif keyword in _LISTS and isinstance(value, list):
            _take(changed, keyword, value, [_below(child, depth) for child in value])
        elif keyword in _NESTED and (below := _below(value, depth)) is not value:
            changed[keyword] = below
    _take_aliases(schema, changed, gone)
    inner = schema.get("schema")
    if isinstance(inner, dict) and "type" not in schema and "properties" not in schema:  # a parameter of OpenAPI
        changed = {**to_json_schema(inner, depth + 1), **changed}
        gone.append("schema")
    by_type = _take_type(schema, changed, gone)
    required = by_type if required is None else required
    if not changed and not gone:
        return schema, required
    made = {key: changed.pop(key, value) for key, value in schema.items() if key in changed or key not in gone}
    return {**made, **changed}, required


def _take(changed: dict[str, Any], keyword: str, old: Any, new: Any) -> None:
    """Keep what differs. What is right is the same object, so that nothing is compared twice."""
    if isinstance(old, dict) and isinstance(new, dict):
        same = len(old) == len(new) and all(child is new[name] for name, child in old.items())
    elif isinstance(old, list) and isinstance(new, list):
        same = all(before is after for before, after in zip(old, new, strict=True))
    else:
        same = new is old
    if not same:
        changed[keyword] = new


def _below(value: Any, depth: int) -> Any:
    if isinstance(value, dict):
        return to_json_schema(value, depth + 1)
    if isinstance(value, list):  # a tuple's items, in older drafts
        children = [_below(child, depth + 1) for child in value]
        return value if all(child is old for child, old in zip(children, value, strict=True)) else children
    typed = parse_type(value) if isinstance(value, str) else None
    return typed.schema if typed else value


def _is_names(schema: Mapping[str, Any]) -> bool:
    """Whether an object inside a schema is one by name: `{"street": {"type": "string"}, "city": "(string) …"}`."""
    if not schema or any(_is_keyword(key, value) for key, value in schema.items()):
        return False
    return all(
        isinstance(value, dict) or (isinstance(value, str) and "type" in parse_typed_text(value).schema)
        for value in schema.values()
    )


def _is_keyword(key: str, value: Any) -> bool:
    # A parameter may be called like a keyword, and its schema is an object where the keyword takes none.
    if key.startswith(("$", "x-")):
        return True
    return key in _SCHEMA_KEYS and not (isinstance(value, dict) and key in ("type", "description", "title", "format"))


def _take_properties(schema: Mapping[str, Any], value: Any, changed: dict[str, Any], depth: int) -> None:
    named = index_by_name(value) if isinstance(value, list) else value
    if not isinstance(named, dict):
        return
    read = {name: _read(child, depth + 1) for name, child in named.items()}
    _take(changed, "properties", value, {name: child for name, (child, _) in read.items()})
    needed = [name for name, (_, required) in read.items() if required]
    listed = schema.get("required")
    listed = listed if isinstance(listed, list) else []
    if added := [name for name in needed if name not in listed]:
        changed["required"] = [*listed, *added]


def _take_required(schema: Mapping[str, Any], gone: list[str]) -> bool | None:
    """Return whether a schema says itself that it is required, as Swagger's parameters and draft 3 do."""
    required = None
    for key, truth in (("optional", False), ("required", True)):
        value = schema.get(key)
        said = _SAID.get(value.lower()) if isinstance(value, str) else value
        if isinstance(said, bool):
            required = said is truth
            gone.append(key)
    return required


def _take_aliases(schema: Mapping[str, Any], changed: dict[str, Any], gone: list[str]) -> None:
    """Other words for a description and for the values that there are, where JSON Schema's own are missing."""
    if not schema.get("description"):
        key = next((key for key in _DESCRIPTIONS if isinstance(schema.get(key), str)), None)
        if key is not None:
            changed["description"] = schema[key]
            gone.append(key)
    if "enum" not in schema and "properties" not in schema:
        for key in _ENUMS:
            values = schema.get(key)
            if isinstance(values, list) and values:
                inner = [value.get("value") if isinstance(value, dict) else value for value in values]
                if all(isinstance(value, str | int | float) for value in inner):
                    changed["enum"] = inner
                    gone.append(key)
                    return


def _take_type(schema: Mapping[str, Any], changed: dict[str, Any], gone: list[str]) -> bool | None:
    kind = schema.get("type")
    if isinstance(kind, list):
        words = list(dict.fromkeys(word for word in map(_word, kind) if word))
        if words and words != kind:
            changed["type"] = words
        return None
    if not isinstance(kind, str) or kind in JSON_TYPES:
        return None
    gone.append("type")
    if typed := parse_type(kind):
        changed |= {key: value for key, value in typed.schema.items() if key == "type" or key not in schema}
        return typed.required
    if kind.lower() not in _ANY:
        said = changed.get("description") or schema.get("description")
        changed["description"] = f"{said} ({kind})" if isinstance(said, str) and said else kind
    return None


def _word(kind: Any) -> str | None:
    word = kind.lower() if isinstance(kind, str) else ""
    return word if word in JSON_TYPES else TYPE_ALIASES.get(word)
