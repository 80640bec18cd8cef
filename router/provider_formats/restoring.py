"""A model's arguments for a strict tool, without the nulls that stand for optional properties left out."""

import re
from collections.abc import Mapping
from typing import Any

from router.provider_formats.formats import Schema
from router.provider_formats.schemas import merged_all_of, resolve_reference
from router.tools.arguments import kind_of

_MOST_STEPS = 20_000  # parts of a schema that one call may visit: unions within unions have no end


def without_added_nulls(arguments: Any, schema: Schema) -> Any:
    """Return arguments without the nulls that a strict schema demands for what its own schema leaves optional.

    `schema` is the tool's schema before it was made strict. Of several alternatives the first counts that takes the
    value without its nulls. A schema that takes too many steps gets its arguments as they are.
    """
    try:
        return _Restoring(schema).restored(arguments, schema)
    except (_TooManySteps, RecursionError):
        return arguments


class _TooManySteps(Exception):
    """Raised when a schema takes more steps than any real one."""


class _Restoring:
    """The restoring of one call's arguments; `root` is where references lead from."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._steps = 0

    def restored(self, value: Any, schema: Any) -> Any:
        """Return a value without added nulls, at any depth."""
        part = self._part(schema)
        for branch in _branches(part):
            found = self.restored(value, branch)
            if self.fits(found, branch):
                return found
        if isinstance(value, list):
            return [self.restored(item, part.get("items")) for item in value]
        properties = part.get("properties")
        if not isinstance(value, Mapping) or not isinstance(properties, Mapping):
            return value
        required = part.get("required", ())
        return {
            name: self.restored(inner, properties.get(name))
            for name, inner in value.items()
            if inner is not None or name in required or name not in properties or self.fits(None, properties[name])
        }

    def fits(self, value: Any, schema: Any) -> bool:
        """Return whether a value fits a schema, by the keywords that a strict schema keeps."""
        if isinstance(schema, bool):
            return schema
        part = self._part(schema)
        if branches := _branches(part):
            return any(self.fits(value, branch) for branch in branches)
        if "enum" in part or "const" in part:
            values = part.get("enum", [part.get("const")])
            return any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in values)
        named = part.get("type", ())
        types = {named} if isinstance(named, str) else set(named)
        if types and kind_of(value).isdisjoint(types):
            return False
        if isinstance(value, Mapping):
            return self._fits_object(value, part)
        if isinstance(value, list):
            bounded = part.get("minItems", 0) <= len(value) <= part.get("maxItems", len(value))
            return bounded and all(self.fits(item, part.get("items", True)) for item in value)
        if isinstance(value, str):
            return _matches(part.get("pattern"), value)
        return value is None or isinstance(value, bool) or _is_within(value, part)

    def _fits_object(self, value: Mapping[str, Any], part: Mapping[str, Any]) -> bool:
        properties = part.get("properties", {})
        others = part.get("additionalProperties", True)
        return all(name in value for name in part.get("required", ())) and all(
            self.fits(inner, properties.get(name, others)) for name, inner in value.items()
        )

    def _part(self, schema: Any) -> Mapping[str, Any]:
        """Return a part with its references followed, and a single `allOf` merged, as strict schemas have it."""
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise _TooManySteps
        part = resolve_reference(schema, self._root)
        return merged_all_of(part) if isinstance(part, Mapping) else {}


def _branches(part: Mapping[str, Any]) -> list[Any]:
    return part.get("anyOf") or part.get("oneOf") or []


def _is_within(value: float, part: Mapping[str, Any]) -> bool:
    least, most = part.get("minimum", value), part.get("maximum", value)
    above, below = part.get("exclusiveMinimum"), part.get("exclusiveMaximum")
    step = part.get("multipleOf")
    return (
        least <= value <= most
        and (above is None or value > above)
        and (below is None or value < below)
        and (step is None or (value / step).is_integer())
    )


def _matches(pattern: Any, text: str) -> bool:
    if not isinstance(pattern, str):
        return True
    try:
        return re.search(pattern, text) is not None
    except (re.error, RecursionError, OverflowError):
        return True
