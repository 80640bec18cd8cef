"""A JSON Schema without steering text: prose is cut, values and names stay whole or go.

Names of parameters and values are what a call sends. They are never changed: one that cannot be trusted is withheld
whole, and a call that needs it is then known to be impossible.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from router.tools.definitions.json_values import escape_pointer_part
from router.tools.trust.characters import strip_hidden
from router.tools.trust.sanitization import sanitize_text
from router.tools.trust.steering_text import Finding

# Keywords that map names to schemas, hold a schema or a list of schemas, or a text that only people and models read.
_NAMED = frozenset("properties patternProperties $defs definitions dependentSchemas".split())
_NESTED = frozenset(
    "items additionalProperties additionalItems contains not if then else propertyNames unevaluatedItems "
    "unevaluatedProperties contentSchema allOf anyOf oneOf prefixItems".split()
)
_PROSE = frozenset(("description", "title", "$comment"))
_SHORTEST_ORDER = 16  # characters; no pattern matches a single shorter word
_MAX_DEPTH = 64  # deeper than any format renders


@dataclass(frozen=True, slots=True)
class WithheldPart:
    """A part of a schema that was left out: its JSON pointer, and why.

    `is_needed` says that it is the name of a required parameter, so that the tool cannot be called rightly.
    """

    pointer: str
    finding: Finding
    is_needed: bool = False


def trusted_schema(schema: Any) -> tuple[Any, tuple[WithheldPart, ...]]:
    """Return a schema without what cannot be trusted, and what was left out. An honest schema is returned itself."""
    reading = _Reading()
    return reading.schema(schema, "", 0), tuple(reading.withheld)


@dataclass
class _Reading:
    """Walks one schema, and collects what it leaves out. Unchanged parts are shared with the original."""

    withheld: list[WithheldPart] = field(default_factory=list)

    def schema(self, schema: Any, pointer: str, depth: int) -> Any:
        """Return a part of a schema at a pointer."""
        if isinstance(schema, str):  # some vendors write {"city": "the city's name"}
            return self._prose(schema, pointer)
        if not isinstance(schema, Mapping | list):
            return schema
        if depth > _MAX_DEPTH:
            return {}
        if isinstance(schema, list):
            branches = [self.schema(part, f"{pointer}/{place}", depth + 1) for place, part in enumerate(schema)]
            return schema if _same(branches, schema) else branches
        kept: dict[Any, Any] = {}
        for keyword, value in schema.items():
            place = f"{pointer}/{escape_pointer_part(str(keyword))}"
            if keyword in _NAMED and isinstance(value, Mapping):
                kept[keyword] = self._named(value, place, schema.get("required"), depth + 1)
            elif keyword in _NESTED:
                kept[keyword] = self.schema(value, place, depth + 1)
            elif keyword in _PROSE and isinstance(value, str):
                if (text := self._prose(value, place)) or not value:
                    kept[keyword] = text
            elif keyword == "required" and isinstance(value, list):
                kept[keyword] = value  # those of withheld names go below
            elif self._is_clean(keyword, pointer) and self._is_clean(value, place):
                kept[keyword] = value
        kept = _without_withheld_names(kept, schema)
        return schema if len(kept) == len(schema) and _same(kept.values(), schema.values()) else kept

    def _named(self, parts: Mapping[Any, Any], pointer: str, required: Any, depth: int) -> Mapping[Any, Any]:
        """Return schemas by name, without the names that cannot be trusted."""
        kept = {}
        for name, child in parts.items():
            finding = untrusted(name)
            if finding is None:
                kept[name] = self.schema(child, f"{pointer}/{escape_pointer_part(str(name))}", depth)
            else:
                needed = pointer.endswith("/properties") and isinstance(required, list) and name in required
                self.withheld.append(WithheldPart(pointer, finding, needed))
        return parts if len(kept) == len(parts) and _same(kept.values(), parts.values()) else kept

    def _prose(self, text: str, pointer: str) -> str:
        kept, hits = sanitize_text(text)
        self.withheld.extend(WithheldPart(pointer, finding) for _, finding in hits)
        return text if kept == text else kept  # its cache may hold an equal text, which is another object

    def _is_clean(self, value: Any, pointer: str) -> bool:
        """Return whether a value can be trusted whole; note it as withheld where not."""
        finding = untrusted(value)
        if finding is not None:
            self.withheld.append(WithheldPart(pointer, finding))
        return finding is None


def untrusted(value: Any) -> Finding | None:
    """Return the first steering text or hidden character in a value at any depth; None where there is none."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            if finding := _untrusted_text(part):
                return finding
        elif isinstance(part, Mapping):
            waiting += [*part.keys(), *part.values()]
        elif isinstance(part, list | tuple):
            waiting += part
    return None


def _untrusted_text(text: str) -> Finding | None:
    if len(text) < _SHORTEST_ORDER and text.isascii() and text.isalnum():  # most keywords, names and types
        return None
    _, hits = sanitize_text(text)
    if hits:
        return hits[0][1]
    visible = strip_hidden(text)
    return None if visible == text else Finding("hidden", "hidden characters")


def _without_withheld_names(kept: dict[Any, Any], schema: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return a schema whose `required` has no name that cannot be trusted."""
    required = schema.get("required")
    if not isinstance(required, list):
        return kept
    names = [name for name in required if untrusted(name) is None]
    return kept if len(names) == len(required) else {**kept, "required": names}


def _same(parts: Any, originals: Any) -> bool:
    return all(part is original for part, original in zip(parts, originals, strict=True))
