"""Tools said in less: descriptions cut to a sentence, schemas without prose, a signature of one line."""

import re
from collections.abc import Mapping
from typing import Any

from router.fingerprint import canonical_json
from router.provider_formats.references import resolved
from router.provider_formats.roots import joined, object_root
from router.provider_formats.schemas import Schema, valid
from router.record import ToolRecord

# Characters. Half of the first sentences of 9,998 real MCP tools have at most 62, nine in ten at most 131.
_TOOL_PROSE = 140
_PARAMETER_PROSE = 60
# Keywords whose value maps names to schemas, is a schema, or is a list of them.
_NAMED = ("properties", "$defs", "patternProperties")
_NESTED = ("items", "additionalProperties")
_BRANCHES = ("anyOf", "oneOf", "allOf", "prefixItems")
# What a call is made by; the rest says how a value may look, and whoever runs the tool checks that anyway.
_KEPT = ("type", "enum", "const", "required", "format", "$ref")
_SENTENCE = re.compile(r"(?<![ (]e\.g\.)(?<![ (]i\.e\.)(?<=[.!?])\s+(?=[^a-z])|(?<=[。！？])|\s*\n")
_MAX_PARAMETERS = 24
_MAX_MEMBERS = 6
_MAX_VALUES = 8
_MAX_VALUE = 40
_MAX_NESTED = 2


def first_sentence(text: str, most: int) -> str:
    """The first sentence of a text, or of its first line, in at most `most` characters; a cut one ends in "…"."""
    # Twice the room: blanks that run on are one.
    said = _line(_SENTENCE.split(text.strip()[: 2 * most], maxsplit=1)[0])
    if len(said) <= most:
        return said
    return said[: most - 1].rsplit(" ", 1)[0].rstrip(",;:- ") + "…"


def short_description(record: ToolRecord) -> str:
    """What the tool does, in one sentence."""
    return first_sentence(record.description or "", _TOOL_PROSE)


def short_schema(root: Schema) -> Schema:
    """A schema by which the tool can still be called: names, types, enums, what is required; of the descriptions those
    of the root's properties, cut."""
    short: Schema = _short(root, 0)
    return short


def _short(schema: Any, depth: int) -> Any:
    if not isinstance(schema, Mapping):
        return schema
    made: Schema = {}
    for keyword, value in schema.items():
        if keyword in _KEPT or (keyword in _NESTED and value is True):
            made[keyword] = value
        elif keyword in _NAMED:
            below = depth + (keyword == "properties")
            made[keyword] = {name: _short(child, below) for name, child in value.items()}
        elif keyword in _NESTED and value is not False:
            made[keyword] = _short(value, depth + 1)
        elif keyword in _BRANCHES:
            made[keyword] = [_short(branch, depth + 1) for branch in value]
        elif keyword == "description" and depth == 1 and (said := first_sentence(value, _PARAMETER_PROSE)):
            made[keyword] = said
    return made


def signature(record: ToolRecord) -> str:
    """One line: `refund(charge: string, amount?: integer) — Gives money back.` Required parameters come first."""
    return signature_of(record, joined(object_root(valid(record.input_schema))))


def signature_of(record: ToolRecord, root: Schema) -> str:
    """The signature of a record whose object root, without combinations, is at hand."""
    members = _members(root, root, 0, _MAX_PARAMETERS)
    line = f"{_line(record.name)}({members})"
    return f"{line} — {said}" if (said := short_description(record)) else line


def _members(schema: Mapping[str, Any], root: Schema, depth: int, most: int) -> str:
    properties = schema.get("properties", {})
    required = {name: "" for name in schema.get("required", ()) if name in properties}
    names = [*{**required, **{name: "?" for name in properties if name not in required}}.items()]
    said = [f"{_line(name)}{mark}: {_type(properties[name], root, depth + 1)}" for name, mark in names[:most]]
    return ", ".join([*said, "…"] if len(names) > most else said)


def _type(schema: Any, root: Schema, depth: int) -> str:
    schema = resolved(schema, root)
    if not isinstance(schema, Mapping):
        return "any"
    if "const" in schema or "enum" in schema:
        return _values(schema.get("enum", [schema.get("const")]))
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            if depth > _MAX_NESTED:
                return "any"
            return "|".join(dict.fromkeys(_type(branch, root, depth + 1) for branch in schema[keyword][:_MAX_VALUES]))
    kind = schema.get("type", "object" if "properties" in schema else "any")
    return "|".join(_one(k, schema, root, depth) for k in (kind if isinstance(kind, list) else [kind]))


def _one(kind: str, schema: Mapping[str, Any], root: Schema, depth: int) -> str:
    if kind == "array" and "items" in schema and depth <= _MAX_NESTED:
        item = _type(schema["items"], root, depth + 1)
        return f"({item})[]" if "|" in item else f"{item}[]"
    if kind == "object" and schema.get("properties") and depth <= _MAX_NESTED:
        return f"{{{_members(schema, root, depth, _MAX_MEMBERS)}}}"
    return kind


def _values(values: list[Any]) -> str:
    said = [
        value if len(value := canonical_json(v)) <= _MAX_VALUE else f"{value[:_MAX_VALUE]}…"
        for v in values[:_MAX_VALUES]
    ]
    return "|".join([*said, "…"] if len(values) > _MAX_VALUES else said)


def _line(text: str) -> str:
    """A text on one line: what is untrusted must not look like the next tool's."""
    return " ".join(text.split())
