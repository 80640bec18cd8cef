"""The strict subset of JSON Schema, for which a provider forces the model's arguments to follow the schema.

OpenAI, Structured Outputs, "Supported schemas": every object closed, every property required, an optional one allowed
to be null; no allOf, not, if, dependent* or default; 5,000 properties, 10 levels, 1,000 enum values, 120,000 characters
of names and values. Anthropic, "JSON schema limitations": every object closed, optional properties stay optional; no
recursion, no bounds of numbers, texts and arrays.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import Any

from router.errors import QuartermasterError
from router.provider_formats.formats import Schema, StrictLimits
from router.provider_formats.schemas import kinds_of, merged_all_of

_FORMATS = frozenset("date-time time date duration email hostname ipv4 ipv6 uuid".split())
_SCALARS = {bool: "boolean", type(None): "null", str: "string", int: "integer", float: "number"}
_NUMBER = ("multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_KEYWORDS = {"string": ("pattern", "format"), "number": _NUMBER, "integer": _NUMBER, "array": ("minItems", "maxItems")}


class NotStrict(QuartermasterError):
    """A schema has no strict form; the message says why, and where. `render` turns it into a note."""


def strict_schema(root: Schema, limits: StrictLimits) -> Schema:
    """Return the strict form of an object root without combinations (`merge_combinations`). Raises NotStrict.

    Keywords that only narrow a value and are not supported (minLength, not, a default) are left out: the tool still
    checks them.
    """
    conversion = _StrictConversion(root, limits)
    # In MCP's own examples a root without properties and without `additionalProperties` means: no arguments.
    closed = conversion.object_of({"additionalProperties": False, **root}, "the root", 1)
    definitions = conversion.definitions()
    if "description" in root:
        closed["description"] = root["description"]
    return {**closed, "$defs": definitions} if definitions else closed


@dataclass(slots=True)
class _StrictConversion:
    """The conversion of one schema: its counts so far, and the definitions that it needs.

    `pending` are definitions yet to be converted, `edges` the definitions that each refers to, `within` the one that is
    being converted; None is the schema itself.
    """

    root: Schema
    limits: StrictLimits
    pending: list[str] = field(default_factory=list)
    edges: dict[str | None, set[str]] = field(default_factory=dict)
    within: str | None = None
    properties: int = 0
    values: int = 0
    characters: int = 0

    def schema(self, schema: Any, place: str, level: int) -> Schema:
        """Return the strict form of a part; `place` is its path for messages, `level` how many objects it lies in."""
        if not isinstance(schema, Mapping) or not schema:
            raise NotStrict(f"{place} accepts any value")
        if "$ref" in schema:
            closed = self._reference(schema["$ref"], place)
        elif "allOf" in schema:
            if len(schema["allOf"]) > 1:
                raise NotStrict(f"{place} has an allOf")
            return self.schema(merged_all_of(schema), place, level)
        elif branches := schema.get("anyOf") or schema.get("oneOf"):
            if "properties" in schema:
                raise NotStrict(f"{place} has properties beside its alternatives")
            closed = {"anyOf": [self.schema(branch, place, level) for branch in branches]}
        elif "const" in schema or "enum" in schema:
            closed = self._enum(schema.get("enum", [schema.get("const")]), place)
        else:
            closed = self._typed(schema, place, level)
        if "description" not in schema:
            return closed
        # A reference has no keywords beside it.
        return {**({"anyOf": [closed]} if "$ref" in closed else closed), "description": schema["description"]}

    def definitions(self) -> Schema:
        """Return the strict forms of all definitions that the schema refers to, directly or through others."""
        converted: Schema = {}
        while self.pending:
            name = self.within = self.pending.pop()
            if name not in converted:
                converted[name] = {}  # holds its place
                converted[name] = self.schema(self.root["$defs"][name], f"$defs/{name}", 1)
                self._count(name)
        if not self.limits.recursion:
            try:
                TopologicalSorter(self.edges).prepare()
            except CycleError:
                raise NotStrict("it refers to itself") from None
        return converted

    def object_of(self, schema: Mapping[str, Any], place: str, level: int) -> Schema:
        """Return the strict form of an object: closed, with all its properties."""
        limits, members = self.limits, schema.get("properties", {})
        if level > limits.levels:
            raise NotStrict(f"{place} is more than {limits.levels} levels deep")
        if "patternProperties" in schema or schema.get("additionalProperties") not in (None, False):
            raise NotStrict(f"{place} accepts properties that it does not list")
        if not members and "additionalProperties" not in schema:
            raise NotStrict(f"{place} is an object that lists no properties")
        self.properties += len(members)
        if self.properties > limits.properties:
            raise NotStrict(f"it has more than {limits.properties:,} properties")
        required = [name for name in schema.get("required", ()) if name in members]
        properties: Schema = {}
        for name, child in members.items():
            self._count(name)
            closed = self.schema(child, f"{place}/{name}" if level > 1 else name, level + 1)
            properties[name] = _nullable(closed) if self.limits.null_for_optional and name not in required else closed
        return {
            "type": "object",
            "properties": properties,
            "required": list(members) if limits.null_for_optional else required,
            "additionalProperties": False,
        }

    def _reference(self, reference: str, place: str) -> Schema:
        """Return a reference to a definition, which is then converted too."""
        start, _, name = reference.rpartition("/")
        if reference == "#" and self.limits.recursion:
            return {"$ref": "#"}
        if start != "#/$defs" or name not in self.root.get("$defs", {}):
            raise NotStrict(f"{place} refers to {reference}, which is not a definition")
        self.pending.append(name)
        self.edges.setdefault(self.within, set()).add(name)
        return {"$ref": reference}

    def _enum(self, values: list[Any], place: str) -> Schema:
        """Return an enum with its types."""
        if any(isinstance(value, dict | list) for value in values):
            raise NotStrict(f"{place} has an enum of objects or lists")
        self.values += len(values)
        texts = [value for value in values if isinstance(value, str)]
        self._count(*texts)
        limits = self.limits
        if self.values > limits.values:
            raise NotStrict(f"it has more than {limits.values:,} enum values")
        if len(texts) > limits.many_values and sum(map(len, texts)) > limits.many_characters:
            raise NotStrict(f"the enum of {place} has more than {limits.many_characters:,} characters")
        kinds = [*dict.fromkeys(_SCALARS[type(value)] for value in values)]
        return {"type": kinds[0] if len(kinds) == 1 else kinds, "enum": list(values)}

    def _typed(self, schema: Mapping[str, Any], place: str, level: int) -> Schema:
        """Return a part with a type, or with several as alternatives."""
        if not (kinds := kinds_of(schema)):
            raise NotStrict(f"{place} has no type")
        branches = [self._of_kind(kind, schema, place, level) for kind in kinds if kind != "null"]
        closed = branches[0] if len(branches) == 1 else {"anyOf": branches} if branches else {"type": "null"}
        return _nullable(closed) if "null" in kinds else closed

    def _of_kind(self, kind: str, schema: Mapping[str, Any], place: str, level: int) -> Schema:
        """Return a part as one of its types, with the keywords of that type that the provider supports."""
        if kind == "object":
            return self.object_of(schema, place, level)
        supported = [k for k in _KEYWORDS.get(kind, ()) if k in schema and (self.limits.bounds or k == "format")]
        keywords = {k: schema[k] for k in supported if k != "format" or schema[k] in _FORMATS}
        if kind == "array":
            if "prefixItems" in schema:
                raise NotStrict(f"{place} is a tuple")
            return {"type": "array", "items": self.schema(schema["items"], f"{place}[]", level), **keywords}
        return {"type": kind, **keywords}

    def _count(self, *texts: str) -> None:
        """Count the characters of names and values. Raises NotStrict where there are too many."""
        self.characters += sum(map(len, texts))
        if self.characters > self.limits.characters:
            raise NotStrict(f"its names and values have more than {self.limits.characters:,} characters")


def _nullable(schema: Schema) -> Schema:
    """Return a strict schema that also allows null."""
    kind, null = schema.get("type"), {"type": "null"}
    if "anyOf" in schema:
        return schema if null in schema["anyOf"] else {**schema, "anyOf": [*schema["anyOf"], null]}
    if kind is None or kind == "object":
        rest, beside = dict(schema), {}
        if "description" in rest:
            beside["description"] = rest.pop("description")
        return {"anyOf": [rest, null], **beside}
    kinds = kind if isinstance(kind, list) else [kind]
    if "null" in kinds:
        return schema
    return {**schema, "type": [*kinds, "null"], **({"enum": [*schema["enum"], None]} if "enum" in schema else {})}


def take(schema: Schema, limits: Mapping[str, int], taken: Counter[str]) -> None:
    """Count a strict schema among those of a request. Raises NotStrict, and counts nothing, where it is too much."""
    properties = list(_properties(schema))
    counts = {
        "strict tools": 1,
        "optional properties": sum(not required for _, required in properties),
        "properties of several types": sum(
            "anyOf" in child or isinstance(child.get("type"), list) for child, _ in properties
        ),
    }
    for counted, most in limits.items():
        if (count := taken[counted] + counts[counted]) > most:
            raise NotStrict(f"a request takes at most {most} {counted}; with this tool there would be {count}")
    taken.update(counts)


def _properties(schema: Any) -> Iterator[tuple[Schema, bool]]:
    """Yield every property in a strict schema, and whether it is required."""
    for name, child in schema.get("properties", {}).items():
        yield child, name in schema["required"]
        yield from _properties(child)
    items = [schema["items"]] if schema.get("items") else []
    for child in (*schema.get("$defs", {}).values(), *schema.get("anyOf", ()), *items):
        yield from _properties(child)
