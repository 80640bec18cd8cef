"""Shorter tools: descriptions cut to a sentence, schemas without prose, a signature of one line."""

import re
from collections.abc import Mapping
from typing import Any

from router.fingerprint import canonical_json
from router.provider_formats.formats import VendorText
from router.provider_formats.roots import merge_combinations, object_root
from router.provider_formats.schemas import Schema, resolve_reference, valid_schema
from router.record import ToolRecord
from router.tools.trust import trusted_record

# Characters. Half of the first sentences of 9,998 real MCP tools have at most 62, nine in ten at most 131.
_MAX_TOOL_DESCRIPTION = 140
_MAX_PARAMETER_DESCRIPTION = 60
# Keywords whose value maps names to schemas, is a schema, or is a list of them.
_NAMED = ("properties", "$defs", "patternProperties")
_NESTED = ("items", "additionalProperties")
_BRANCHES = ("anyOf", "oneOf", "allOf", "prefixItems")
# Keywords that a call needs. The others restrict values, which the tool itself checks.
_CALL_KEYWORDS = ("type", "enum", "const", "required", "format", "$ref")
_SENTENCE = re.compile(r"(?<![ (]e\.g\.)(?<![ (]i\.e\.)(?<=[.!?])\s+(?=[^a-z])|(?<=[。！？])|(?:(?<!\s)\s*)?\n")
_MAX_PARAMETERS = 24
_MAX_MEMBERS = 6
_MAX_VALUES = 8
_MAX_VALUE = 40
_MAX_NESTED = 2


def first_sentence(text: str, most: int) -> str:
    """Return the first sentence of a text, or of its first line, cut at `most` characters with a "…"."""
    # Twice the length, because runs of blanks become one.
    sentence = _one_line(_SENTENCE.split(text.strip()[: 2 * most], maxsplit=1)[0])
    if len(sentence) <= most:
        return sentence
    return sentence[: most - 1].rsplit(" ", 1)[0].rstrip(",;:- ") + "…"


def short_description(record: ToolRecord) -> str:
    """Return the first sentence of a tool's description; an empty text where it has none."""
    return first_sentence(record.description or "", _MAX_TOOL_DESCRIPTION)


def short_schema(root: Schema) -> Schema:
    """Return a schema by which the tool can still be called: names, types, enums and required properties.

    Of the descriptions it keeps those of the root's properties, cut.
    """
    short: Schema = _short(root, 0)
    return short


def _short(schema: Any, depth: int) -> Any:
    """Return a part of a schema, shortened; `depth` is how many properties and items it lies in."""
    if not isinstance(schema, Mapping):
        return schema
    short: Schema = {}
    for keyword, value in schema.items():
        if keyword in _CALL_KEYWORDS or (keyword in _NESTED and value is True):
            short[keyword] = value
        elif keyword in _NAMED:
            below = depth + (keyword == "properties")
            short[keyword] = {name: _short(child, below) for name, child in value.items()}
        elif keyword in _NESTED and value is not False:
            short[keyword] = _short(value, depth + 1)
        elif keyword in _BRANCHES:
            short[keyword] = [_short(branch, depth + 1) for branch in value]
        elif (
            keyword == "description" and depth == 1 and (sentence := first_sentence(value, _MAX_PARAMETER_DESCRIPTION))
        ):
            short[keyword] = sentence
    return short


def signature(record: ToolRecord, vendor_text: VendorText = VendorText.TRUSTED) -> str:
    """Return a line like `refund(charge: string, amount?: integer) — Gives money back.`, required parameters first.

    It has the trusted text alone unless `vendor_text` is "verbatim".
    """
    if vendor_text is VendorText.TRUSTED:
        record = trusted_record(record).record
    return signature_of(record, merge_combinations(object_root(valid_schema(record.input_schema))))


def signature_of(record: ToolRecord, root: Schema) -> str:
    """Return the signature of a record; `root` is the object root of its schema, without combinations."""
    members = _members(root, root, 0, _MAX_PARAMETERS)
    line = f"{_one_line(record.name)}({members})"
    return f"{line} — {description}" if (description := short_description(record)) else line


def _members(schema: Mapping[str, Any], root: Schema, depth: int, most: int) -> str:
    """Return the first `most` properties of a schema, required ones first."""
    properties = schema.get("properties", {})
    required = {name: "" for name in schema.get("required", ()) if name in properties}
    names = [*{**required, **{name: "?" for name in properties if name not in required}}.items()]
    members = [f"{_one_line(name)}{mark}: {_type(properties[name], root, depth + 1)}" for name, mark in names[:most]]
    return ", ".join([*members, "…"] if len(names) > most else members)


def _type(schema: Any, root: Schema, depth: int) -> str:
    """Return the type of a schema, such as `integer`, `"open"|"closed"` or `string[]`."""
    schema = resolve_reference(schema, root)
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
    return "|".join(_single_type(k, schema, root, depth) for k in (kind if isinstance(kind, list) else [kind]))


def _single_type(kind: str, schema: Mapping[str, Any], root: Schema, depth: int) -> str:
    """Return the type of a schema of one kind, with that of its items or properties."""
    if kind == "array" and "items" in schema and depth <= _MAX_NESTED:
        item = _type(schema["items"], root, depth + 1)
        return f"({item})[]" if "|" in item else f"{item}[]"
    if kind == "object" and schema.get("properties") and depth <= _MAX_NESTED:
        return f"{{{_members(schema, root, depth, _MAX_MEMBERS)}}}"
    return kind


def _values(values: list[Any]) -> str:
    """Return the values of an enum as JSON, the first few and each cut."""
    texts = [
        value if len(value := canonical_json(v)) <= _MAX_VALUE else f"{value[:_MAX_VALUE]}…"
        for v in values[:_MAX_VALUES]
    ]
    return "|".join([*texts, "…"] if len(values) > _MAX_VALUES else texts)


def _one_line(text: str) -> str:
    """Return a text on one line, so that an untrusted one cannot look like the next tool's."""
    return " ".join(text.split())
