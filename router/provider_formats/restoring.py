"""A model's arguments for a strict tool, without the nulls that stand for optional properties left out."""

import re
from collections.abc import Callable, Mapping
from operator import ge, gt, le, lt
from typing import Any

from router.provider_formats.formats import Schema
from router.provider_formats.schemas import whole_part
from router.tools.arguments import kind_of
from router.tools.definitions.rows import Steps, TooManySteps

_MOST_STEPS = 200_000  # parts of a schema that a call may visit, in a fifth of a second: unions in unions have no end
# A pattern may take time without end where it repeats a group, or three parts, and the text is long.
_SLOW = re.compile(r"\)[*+{]|(?:[*+{][^*+{]*){3}")
_LONGEST_TEXT = 100
_BOUNDS: dict[str, Callable[[float, float], bool]] = {
    "minimum": ge,
    "maximum": le,
    "exclusiveMinimum": gt,
    "exclusiveMaximum": lt,
    "multipleOf": lambda value, step: (value / step).is_integer(),
}


def without_added_nulls(arguments: Any, schema: Schema) -> Any:
    """Return arguments without the nulls that a strict schema demands for what its own schema leaves optional.

    `schema` is the tool's schema before it was made strict. Of several alternatives the first counts that takes the
    value without its nulls. A schema that takes too many steps gets its arguments as they are.
    """
    try:
        return _Restoring(schema).restored(arguments, schema)
    except (TooManySteps, RecursionError, OverflowError):  # of integers that no double can hold
        return arguments


class _Restoring:
    """The restoring of one call's arguments; `root` is where references lead from."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._steps = Steps(_MOST_STEPS)

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
        named = part.get("type", ())
        types = {named} if isinstance(named, str) else set(named)
        if types and kind_of(value).isdisjoint(types):
            return False
        if "enum" in part or "const" in part:
            values = part.get("enum", [part.get("const")])
            return any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in values)
        if isinstance(value, Mapping):
            properties, others = part.get("properties", {}), part.get("additionalProperties", True)
            return all(name in value for name in part.get("required", ())) and all(
                self.fits(inner, properties.get(name, others)) for name, inner in value.items()
            )
        if isinstance(value, list):
            bounded = part.get("minItems", 0) <= len(value) <= part.get("maxItems", len(value))
            return bounded and all(self.fits(item, part.get("items", True)) for item in value)
        if isinstance(value, str):
            return _matches(part.get("pattern"), value)
        bounds = {} if value is None or isinstance(value, bool) else part
        return all(holds(value, bounds[keyword]) for keyword, holds in _BOUNDS.items() if keyword in bounds)

    def _part(self, schema: Any) -> Mapping[str, Any]:
        """Return a part as strict schemas have it."""
        self._steps.spend()
        part = whole_part(schema, self._root)
        return part if isinstance(part, Mapping) else {}


def _branches(part: Mapping[str, Any]) -> list[Any]:
    return part.get("anyOf") or part.get("oneOf") or []


def _matches(pattern: Any, text: str) -> bool:
    """Return whether a text matches a pattern; True where that could take long."""
    if not isinstance(pattern, str) or len(text) > _LONGEST_TEXT or _SLOW.search(pattern):
        return True
    try:
        return re.search(pattern, text) is not None
    except (re.error, RecursionError, OverflowError):
        return True
