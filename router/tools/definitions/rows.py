"""Flattens JSON Schemas into rows: path, type, description, enum, required.

The rows of parameters are searched and shown. Those of an answer are evidence of what a tool finds: nobody calls a tool
by them and no search reads them, so they are cut, breadth first, because the top of an answer says what it is, and the
objects inside it are often those of other tools.
"""

import math
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from router.fingerprint import canonical_json
from router.record import Parameter
from router.tools.definitions.json_values import value_at_pointer

MAX_HOPS = 10  # of references within one
_MAX_REQUIRED = 1_000
_MAX_REFERENCE = 1_000  # characters
# Schemas and references that are looked at: for an answer, twice what 100 rows take.
MAX_STEPS = 1_000
_MAX_PARAMETER_STEPS = 20_000
_COMBINED = ("allOf", "anyOf", "oneOf")


class TooManySteps(Exception):
    """Raised where a schema takes more steps than any real one."""


@dataclass(slots=True)
class Steps:
    """Counts how many schemas and references may still be looked at."""

    left: int = MAX_STEPS

    def take(self, steps: int = 1) -> bool:
        """Take steps; return whether they were left."""
        self.left -= steps
        return self.left >= 0

    def spend(self, steps: int = 1) -> None:
        """Take steps. Raises TooManySteps where they were not left."""
        if not self.take(steps):
            raise TooManySteps


@dataclass(frozen=True, slots=True)
class _Limits:
    """What is read of a schema: rows, levels, branches of a combination, values of an enum, and the characters of each
    text; None for any number."""

    rows: int
    depth: int
    branches: int | None = None
    values: int | None = None
    name: int | None = None
    description: int | None = None
    type: int | None = None
    value: int | None = None


# Self-referring or generated schemas could give endless rows, and nested branches are endless without giving any. Rows
# beyond these limits are not searched, but stay in `input_schema`: of 9,974 real MCP tools, 99% have at most 23.
_PARAMETERS = _Limits(rows=500, depth=6)
# An answer embeds whole objects, and a document repeats them in every operation. Each row is stored with its tool. The
# depth is that of `data[].attributes.id` inside an allOf.
_ANSWER = _Limits(rows=100, depth=5, branches=20, values=12, name=100, description=200, type=40, value=60)


def parameter_rows(schema: Mapping[str, Any]) -> tuple[Parameter, ...]:
    """Return the rows of an input schema, depth first in document order. Follows local references and cuts cycles."""
    # The schema as a whole is not looked at again inside itself.
    walk = _Walk(schema, Steps(_MAX_PARAMETER_STEPS), _PARAMETERS, frozenset({"#"}))
    rows: dict[Parameter, None] = {}  # without repeats: branches of a oneOf share rows
    for row in walk.rows(schema):
        rows[row] = None
        if len(rows) == _PARAMETERS.rows:
            break
    return tuple(rows)


def output_rows(schema: Any, document: Any = None, steps: Steps | None = None) -> tuple[Parameter, ...]:
    """Return the rows of the schema of an answer, breadth first, in document order.

    Local references are followed within `document`, by default the schema itself; cycles are cut.
    """
    rows: dict[str, Parameter] = {}  # branches of a oneOf share paths: the first counts
    for row in _Walk(schema if document is None else document, steps or Steps(), _ANSWER).rows(schema):
        rows.setdefault(row.path, row)
        if len(rows) == _ANSWER.rows:
            break
    return tuple(rows.values())


def follow(value: Any, document: Any, steps: Steps, inside: frozenset[str] = frozenset()) -> tuple[Any, frozenset[str]]:
    """Return the end of a chain of local references, and the references passed on the way; None where it has no end.

    A reference that is among `inside`, those around the value, leads back and has no end either.
    """
    passed = set(inside)
    while isinstance(value, Mapping) and isinstance(reference := value.get("$ref"), str):
        if len(reference) > _MAX_REFERENCE or not reference.startswith("#") or reference in passed or not steps.take():
            return None, inside
        passed.add(reference)
        try:
            value = value_at_pointer(document, reference, hops=MAX_HOPS)
        except LookupError:
            return None, inside
    return value, frozenset(passed)


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a schema that waits for its turn; `required` is None for a branch or an item, which has no row."""

    schema: Any
    path: str
    required: bool | None
    inside: frozenset[str]
    depth: int


@dataclass(frozen=True, slots=True)
class _Walk:
    """A walk over one schema. `around` are the references that lead nowhere."""

    root: Any
    steps: Steps
    limits: _Limits
    around: frozenset[str] = frozenset()

    def rows(self, schema: Any) -> Iterator[Parameter]:
        """Yield the rows: those of parameters depth first, those of an answer breadth first."""
        waiting = deque([_Part(schema, "", None, self.around, 0)])
        while waiting and self.steps.take():
            part = waiting.popleft()
            if part.required is not None:
                yield self._row(part.schema, part.path, part.required)
            if part.depth > self.limits.depth:
                continue
            if self.limits is _ANSWER:
                waiting.extend(self._parts_of(part))
            else:
                waiting.extendleft(reversed([*self._parts_of(part)]))

    def _parts_of(self, part: _Part) -> Iterator[_Part]:
        """Yield the properties, the items and the branches of a part."""
        schema, inside = follow(part.schema, self.root, self.steps, part.inside)
        if not isinstance(schema, Mapping):
            return
        required = schema["required"][:_MAX_REQUIRED] if isinstance(schema.get("required"), list) else []
        properties = schema["properties"] if isinstance(schema.get("properties"), Mapping) else {}
        for name, child in islice(properties.items(), self.limits.rows):
            if self.limits is _ANSWER and self._is_write_only(child):
                continue
            if self.limits.name is None or 0 < len(name) <= self.limits.name:
                path = f"{part.path}.{name}" if part.path else str(name)
                yield _Part(child, path, name in required, inside, part.depth + 1)
        if isinstance(schema.get("items"), Mapping):
            yield _Part(schema["items"], f"{part.path}[]", None, inside, part.depth + 1)
        for branch in self._branches(schema):
            yield _Part(branch, part.path, None, inside, part.depth + 1)

    def _is_write_only(self, schema: Any) -> bool:
        """Return whether a property is of requests alone, by itself or by what it refers to."""
        found = (schema, follow(schema, self.root, Steps(3))[0])
        return any(isinstance(one, Mapping) and one.get("writeOnly") is True for one in found)

    def _branches(self, schema: Mapping[str, Any]) -> Iterator[Any]:
        for keyword in _COMBINED:
            if isinstance(branches := schema.get(keyword), list):
                yield from branches[: self.limits.branches]

    def _row(self, schema: Any, path: str, required: bool) -> Parameter:
        # Some vendors write {"city": "the city's name"} for a schema.
        beside = schema.get("description") if isinstance(schema, Mapping) else schema
        schema, _ = follow(schema, self.root, self.steps, self.around)
        if not isinstance(schema, Mapping):
            return Parameter(path, "", self._text(beside), (), required)
        items, _ = follow(schema.get("items"), self.root, self.steps, self.around)
        values = schema.get("enum") or (items.get("enum") if isinstance(items, Mapping) else None)
        enum = tuple(self._values(values)) if isinstance(values, list) else ()
        description = self._text(beside) or self._text(schema.get("description"))
        return Parameter(path, self._type(schema, self.root)[: self.limits.type], description, enum, required)

    def _text(self, value: Any) -> str:
        return value[: self.limits.description].strip() if isinstance(value, str) else ""

    def _values(self, values: list[Any]) -> Iterator[str]:
        for value in values[: self.limits.values]:
            if isinstance(value, str):
                yield value[: self.limits.value]
            elif self.limits is _PARAMETERS or (isinstance(value, int | float) and math.isfinite(value)):
                yield canonical_json(value)[: self.limits.value]

    def _type(self, schema: Mapping[str, Any], root: Any) -> str:
        """Return the type of a schema, several joined as `string|null`; of a combination, those of its branches."""
        kinds = schema.get("type")
        if not isinstance(kinds, str | list):
            branches = (follow(branch, root, self.steps, self.around)[0] for branch in self._branches(schema))
            # Without a root, further references are not followed.
            kinds = [self._type(branch, {}) for branch in branches if isinstance(branch, Mapping) and self.steps.take()]
        kinds = [kinds] if isinstance(kinds, str) else kinds[: self.limits.branches]
        texts = dict.fromkeys(kind for kind in kinds if isinstance(kind, str) and kind)
        return "|".join(texts) or ("object" if "properties" in schema else "")
