"""Schemas as some providers take them: without the regular expressions, or the keywords, that they refuse.

OpenAI: "Invalid JSON schema: regex lookaround is not supported", "… is not a 'regex'". Gemini and Vertex take a part of
OpenAPI 3.0 (`Schema` of their API reference), whose parser refuses a whole request for one field that it does not know.
"""

import re
from collections.abc import Mapping
from itertools import count
from typing import Any

from router.fingerprint import canonical_json
from router.provider_formats.formats import Schema
from router.provider_formats.roots import members
from router.provider_formats.schemas import COMBINATIONS, kinds_of, map_schemas, whole_part

_LOOKAROUND = re.compile(r"\(\?(?:<?[=!])")
_LONGEST_PATTERN = 1_000  # characters: a longer one is not worth compiling
_SHOWN_PATTERN = 100
# Of Gemini's fields those whose values it takes as JSON Schema has them.
_GEMINI_KEPT = ("minItems", "maxItems", "minimum", "maximum")
_GEMINI_FORMATS = {"string": ("date-time",), "integer": ("int32", "int64"), "number": ("float", "double")}
# Parts within each other, a definition counting for twelve: Gemini has no references, and a recursive one has no end.
_MAX_DEPTH, _OF_REFERENCE = 100, 12
_MAX_PARTS = 10_000  # and alternatives


def without_unportable_patterns(schema: Schema) -> Schema:
    """Return a valid schema without the regular expressions that only some engines compile.

    OpenAI refuses a whole request for a lookaround, and for what Python's `re` does not compile, such as `\\p{L}`. The
    description says the pattern that was left out.
    """
    return schema if (changed := map_schemas(schema, _portable)) == schema else changed


def _portable(part: Schema) -> Schema:
    pattern, named = part.get("pattern"), part.get("patternProperties", {})
    kept = {name: child for name, child in named.items() if _is_portable(name)}
    if len(kept) < len(named):
        part = {**part, "patternProperties": kept}
        if part.get("additionalProperties") is False:  # they would now be refused
            del part["additionalProperties"]
        if not kept:
            del part["patternProperties"]
    if pattern is None or _is_portable(pattern):
        return part
    said = [part["description"]] if part.get("description") else []
    shown = [f"Must match the regular expression {pattern}"] if len(pattern) <= _SHOWN_PATTERN else []
    rest = {keyword: value for keyword, value in part.items() if keyword not in ("pattern", "description")}
    return {**rest, "description": "\n".join([*said, *shown])} if said or shown else rest


def _is_portable(pattern: str) -> bool:
    """Return whether a regular expression has no lookaround, and Python compiles it."""
    if len(pattern) > _LONGEST_PATTERN or _LOOKAROUND.search(pattern):
        return False
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    return True


def gemini_schema(root: Schema) -> Schema:
    """Return an object root without combinations as Gemini takes it: references inlined, one type a part, null a flag.

    A part of any type becomes a text, and an enum that has no text a description: the arguments that a model gives for
    them are mended by the tool's own schema.
    """
    return _Gemini(root).part(root, 0)


class _Gemini:
    """The conversion of one schema; `left` bounds what inlining may make of it."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._left = _MAX_PARTS
        self._branch_numbers = count()

    def part(self, schema: Any, depth: int) -> Schema:
        """Return a part; `depth` counts the parts around it."""
        part = whole_part(schema, self._root)
        depth += 1 if part is schema else _OF_REFERENCE
        self._left -= 1
        if not isinstance(part, Mapping) or depth > _MAX_DEPTH or self._left < 0:
            return {"type": "STRING"}
        for branch in part.get("allOf", ()):
            part = {**whole_part(branch, self._root), **part}
        kinds = kinds_of(part)
        branches = [one for keyword in ("anyOf", "oneOf") for one in part.get(keyword, ())]
        self._left -= len(branches)
        plain = {keyword: value for keyword, value in part.items() if keyword != "description"}
        options: list[Any] = [{**plain, "type": kind} for kind in kinds if kind != "null"] if len(kinds) > 1 else []
        others = [one for one in branches if kinds_of(whole_part(one, self._root)) != ["null"]]
        nullable = "null" in kinds or None in part.get("enum", ()) or len(others) < len(branches)
        if branches and kinds in ([], ["null"]):
            options = others
        if len(options) == 1:
            made = self.part(options[0], depth)
        elif options:
            made = {"anyOf": [self.part(one, depth) for one in options]}
        else:
            made = self._of_kind(next((kind for kind in kinds if kind != "null"), ""), part, depth)
        if said := [text for text in (part.get("description"), made.get("description")) if text]:
            made["description"] = "\n".join(dict.fromkeys(said))
        return {**made, "nullable": True} if nullable else made

    def _of_kind(self, kind: str, part: Mapping[str, Any], depth: int) -> Schema:
        values = [one for one in part.get("enum", [part.get("const")]) if one not in (None, "")]
        if values and all(isinstance(value, str) for value in values):
            return {"type": "STRING", "enum": values}
        made: Schema = {"type": kind.upper() or "STRING"}
        made |= {keyword: part[keyword] for keyword in _GEMINI_KEPT if keyword in part and kind}
        if values:
            made["description"] = f"One of {', '.join(map(canonical_json, values))}"
        if part.get("format") in _GEMINI_FORMATS.get(kind, ()):
            made["format"] = part["format"]
        if kind == "array":
            made["items"] = self.part(part.get("items", {}), depth)
        properties, required = (part.get("properties", {}), part.get("required", ())) if kind == "object" else ({}, ())
        if kind == "object" and not part.keys().isdisjoint(COMBINATIONS):
            merged, required = members(part, self._root, 0, self._branch_numbers)
            properties = {**properties, **merged}
        made["properties"] = {name: self.part(child, depth) for name, child in properties.items()}
        made["required"] = [name for name in required if name in properties]
        return {keyword: value for keyword, value in made.items() if value not in ({}, [])}
