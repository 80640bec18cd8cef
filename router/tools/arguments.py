"""Mends a model's arguments by a tool's schema: JSON written as text, null for an optional, one value for a list.

Only values of a type that the schema does not take are changed, and only where nothing is lost: "5" becomes 5 where a
number is due, "five" stays and is refused. A schema is a stranger's: depth and references are bounded.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from router.tools.definitions.json_values import value_at_pointer

_DEEPEST = 32  # schemas within each other, references included
_NUMBER = re.compile(r"-?\d{1,300}(\.\d{1,300})?([eE][+-]?\d{1,3})?")
_WORDS = {"true": True, "false": False, "null": None}
_MOST_TEXT = 100_000  # characters of a text that is read as JSON


@dataclass(frozen=True)
class MendedArguments:
    """Arguments that fit better: `notes` say, by the path of each value, what was done; empty where nothing was."""

    arguments: Mapping[str, Any]
    notes: tuple[str, ...] = ()


def mend_arguments(schema: Mapping[str, Any], arguments: Any) -> MendedArguments | None:
    """Return arguments mended by a JSON Schema; None where they are no object and hold none as JSON text."""
    mending = _Mending(schema)
    if isinstance(arguments, str):
        arguments = mending.read_json(arguments, {"object"}, "arguments", arguments)
    if not isinstance(arguments, Mapping):
        return None
    return MendedArguments(mending.mended(schema, arguments, "", 0), tuple(mending.notes))


@dataclass
class _Mending:
    """One object's mending: the schema's root, which references lead from, and the notes so far."""

    root: Mapping[str, Any]
    notes: list[str] = field(default_factory=list)

    def mended(self, schema: Any, value: Any, path: str, depth: int) -> Any:
        """Return a value mended by its schema; as it is where the schema says nothing of its type."""
        schema = self._resolved(schema)
        if depth > _DEEPEST or schema is None:
            return value
        types = self.types(schema, depth)
        if types and kind_of(value).isdisjoint(types):
            value = self._converted(schema, types, value, path, depth)
        for part in _schemas(schema.get("allOf")):
            value = self.mended(part, value, path, depth + 1)
        if branch := self._branch(schema, value, depth):
            value = self.mended(branch, value, path, depth + 1)
        if isinstance(value, Mapping):
            return self._object(schema, value, path, depth)
        if isinstance(value, list):
            first = _schemas(schema.get("prefixItems"))
            rest = schema.get("items")
            return [
                self.mended(first[place] if place < len(first) else rest, item, f"{path}[{place}]", depth + 1)
                for place, item in enumerate(value)
            ]
        return value

    def types(self, schema: Any, depth: int = 0) -> frozenset[str]:
        """Return the JSON types that a schema takes; none where it takes any, or nobody can tell."""
        schema = self._resolved(schema)
        if schema is None or depth > _DEEPEST:
            return frozenset()
        named = schema.get("type")
        found = frozenset([named] if isinstance(named, str) else named if isinstance(named, list) else ())
        if not found and isinstance(values := schema.get("enum"), list):
            found = frozenset().union(*map(kind_of, values))
        if not found:
            branches = [self.types(branch, depth + 1) for branch in _branches(schema)]
            found = frozenset().union(*branches) if all(branches) else frozenset()
        if not found:
            found = frozenset({"object"} if "properties" in schema else {"array"} if "items" in schema else ())
        return found | {"null"} if found and schema.get("nullable") is True else found

    def read_json(self, text: str, types: frozenset[str] | set[str], path: str, otherwise: Any) -> Any:
        """Return what a text holds as JSON where that is of one of the types; else `otherwise`."""
        if len(text) > _MOST_TEXT:
            return otherwise
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return otherwise
        if kind_of(value).isdisjoint(types):
            return otherwise
        self.notes.append(f"{path}: its text was read as JSON")
        return value

    def _converted(self, schema: Mapping[str, Any], types: frozenset[str], value: Any, path: str, depth: int) -> Any:
        """Return a value of a type that the schema does not take as one that it takes, where nothing is lost."""
        if isinstance(value, str):
            text = value.strip()
            if text[:1] in ("{", "["):
                return self.read_json(text, types & {"object", "array"}, path, value)
            for word, meant in _WORDS.items():
                if text.lower() == word and not kind_of(meant).isdisjoint(types):
                    return self._noted(path, f"the text {value!r:.40} was read as {word}", meant)
            if _NUMBER.fullmatch(text) and types & {"integer", "number"}:
                number = int(text) if text.lstrip("-").isdigit() else float(text)
                if math.isfinite(number) and not kind_of(number).isdisjoint(types):
                    return self._noted(path, f"the text {value!r:.40} was read as a number", number)
        elif isinstance(value, int) and not isinstance(value, bool) and "string" in types:
            return self._noted(path, f"{value!r:.40} was written as a text", str(value))
        if "array" in types and value is not None:
            items = self._of_type(schema, "array", depth).get("items")
            within = self.types(items, depth)
            if not within or not kind_of(value).isdisjoint(within):
                return self._noted(path, "its value was put into a list", [value])
        return value

    def _object(self, schema: Mapping[str, Any], value: Mapping[str, Any], path: str, depth: int) -> dict[str, Any]:
        properties = schema.get("properties")
        properties = properties if isinstance(properties, Mapping) else {}
        required = schema.get("required")
        required = required if isinstance(required, list) else []
        kept = {}
        for name, inner in value.items():
            place = f"{path}.{name}" if path else name
            known = properties.get(name, schema.get("additionalProperties"))
            if inner is None and name in properties and name not in required:
                types = self.types(known, depth + 1)
                if types and "null" not in types:
                    self.notes.append(f"{place}: it is optional and was null, so it was left out")
                    continue
            kept[name] = self.mended(known, inner, place, depth + 1)
        return kept

    def _branch(self, schema: Mapping[str, Any], value: Any, depth: int) -> Mapping[str, Any] | None:
        """Return the one branch of `anyOf` or `oneOf` that takes the value's type; None where several do, or none."""
        fitting = [one for one in _branches(schema) if not kind_of(value).isdisjoint(self.types(one, depth + 1))]
        return self._resolved(fitting[0]) if len(fitting) == 1 else None

    def _of_type(self, schema: Mapping[str, Any], kind: str, depth: int) -> Mapping[str, Any]:
        """Return the schema, or its branch, that takes a type."""
        for branch in _branches(schema):
            if kind in self.types(branch, depth + 1):
                return self._of_type(self._resolved(branch) or {}, kind, depth + 1)
        return schema

    def _resolved(self, schema: Any) -> Mapping[str, Any] | None:
        """Follow references within the document; None for what is no schema, or leads in a circle."""
        for _ in range(_DEEPEST):
            if not isinstance(schema, Mapping):
                return None
            reference = schema.get("$ref")
            if not isinstance(reference, str):
                return schema
            try:
                schema = value_at_pointer(self.root, reference)
            except LookupError:
                return None
        return None

    def _noted(self, path: str, note: str, value: Any) -> Any:
        self.notes.append(f"{path}: {note}")
        return value


def kind_of(value: Any) -> frozenset[str]:
    """Return the JSON types of a value: a whole number is an integer and a number."""
    match value:
        case None:
            return frozenset({"null"})
        case bool():
            return frozenset({"boolean"})
        case int():
            return frozenset({"integer", "number"})
        case float():
            return frozenset({"number", "integer"} if value.is_integer() else {"number"})
        case str():
            return frozenset({"string"})
        case Mapping():
            return frozenset({"object"})
        case _:
            return frozenset({"array"})


def _schemas(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _branches(schema: Mapping[str, Any]) -> Sequence[Any]:
    return [*_schemas(schema.get("anyOf")), *_schemas(schema.get("oneOf"))]
