"""Turn schemas of an API document into self-contained JSON Schema: move references to `$defs`, unify dialects."""

from collections import deque
from typing import Any
from urllib.parse import unquote

import msgspec

from pipeline.errors import RecordRejected
from pipeline.settings import LimitsSettings
from pipeline.sources.formats.document import DEFAULT_LIMITS
from router.record import Origin
from router.tools.definitions.json_values import value_at_pointer

_MAX_DEPTH = 100
_MAX_HOPS = 100  # of a chain of references; real ones have two or three
_MAX_REFERENCE = 10_000  # characters
# Annotations of the API document that JSON Schema does not know and a model does not need.
_DROPPED = ("xml", "externalDocs", "discriminator", "example")
# Keywords whose value maps names (not keywords) to schemas, and those whose value is data, never schema.
_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_DATA = ("enum", "default", "const", "examples", "required")


def resolve_pointer(document: Any, reference: str, origin: Origin) -> Any:
    """Return the value that a reference points to. Raises RecordRejected where it points to nothing."""
    if len(reference) > _MAX_REFERENCE:
        raise RecordRejected(origin, f"a reference has {len(reference):,} characters, more than {_MAX_REFERENCE:,}")
    try:
        return value_at_pointer(document, reference)
    except LookupError as error:
        raise RecordRejected(origin, str(error)) from None


def follow_references(value: Any, document: Any, origin: Origin) -> Any:
    """Return the end of a chain of local references; a reference to another document stays as it is.

    Raises RecordRejected where the chain has no end, or is too long.
    """
    seen: set[str] = set()
    while isinstance(value, dict) and isinstance(ref := value.get("$ref"), str) and ref.startswith("#"):
        if ref in seen:
            raise RecordRejected(origin, f"the reference {ref[:200]} leads back to itself")
        if len(seen) == _MAX_HOPS:
            raise RecordRejected(origin, f"a chain of references has more than {_MAX_HOPS} links")
        seen.add(ref)
        value = resolve_pointer(document, ref, origin)
    return value


def foreign_reference(value: Any) -> str | None:
    """Return the reference to another document that a value is; None for any other value."""
    reference = value.get("$ref") if isinstance(value, dict) else None
    return reference if isinstance(reference, str) and not reference.startswith("#") else None


class SchemaBudget:
    """How many characters the schemas of a document may still come to, and those of one operation at most."""

    def __init__(self, limits: LimitsSettings = DEFAULT_LIMITS) -> None:
        self.operation = limits.schema_characters
        self.document = self.most = limits.document_bytes
        self._sizes: dict[int, tuple[Any, int]] = {}  # with the value, so that no other takes its id

    def size_of(self, data: Any) -> int:
        """Return the length of a value of the document as JSON. It is measured once: many operations may share it."""
        if (known := self._sizes.get(id(data))) is None:
            known = self._sizes[id(data)] = (data, len(msgspec.json.encode(data)))
        return known[1]


class _TooLarge(Exception):
    """A schema exceeds the budget."""


class SchemaScope:
    """The schemas of one operation; rewrites each and collects the schemas that they refer to.

    A schema that exceeds the budget is left open, with a notice: any value fits it.
    """

    def __init__(self, document: dict[str, Any], origin: Origin, budget: SchemaBudget | None = None) -> None:
        self._document = document
        self._origin = origin
        self._budget = budget = budget or SchemaBudget()
        self._left = min(budget.operation, budget.document)
        self._names: dict[str, str] = {}
        self._definitions: dict[str, Any] = {}
        # Not rewritten in place: a chain of models may be of any length.
        self._pending: deque[tuple[str, str, Any]] = deque()
        self.notices: list[str] = []

    def target(self, schema: Any) -> Any:
        """Return the end of a schema's chain of local references; a reference to another document stays as it is."""
        return follow_references(schema, self._document, self._origin)

    def local(self, value: Any) -> Any:
        """Return the end of a chain of references; None, with a notice, where it leads to another document."""
        value = self.target(value)
        if (reference := foreign_reference(value)) is None:
            return value
        self.notices.append(f"{reference[:200]} is in another document: left open")
        return None

    def definitions(self) -> dict[str, Any]:
        """Return the `$defs` of every schema rewritten so far, in order of first use."""
        while self._pending:
            name, _, schema = self._pending.popleft()
            self._definitions[name] = self.rewrite(schema)
        return dict(self._definitions)

    def rewrite(self, schema: Any) -> Any:
        """Return a schema with local references moved to `$defs`, and dialects unified. Raises RecordRejected.

        A schema that exceeds the budget becomes `{}`.
        """
        before, pending = self._left, len(self._pending)
        try:
            rewritten = self._rewrite(schema, 0)
        except _TooLarge:
            self._left = before
            self._forget(pending)
            self._leave_open()
            return {}
        self._budget.document -= before - self._left
        return rewritten

    def _leave_open(self) -> None:
        if self._budget.operation <= self._budget.document:
            limit = f"{self._budget.operation:,} characters of limits.schema_characters"
        else:
            limit = f"{self._budget.most:,} characters of limits.document_bytes, for all operations together,"
        told = f"its schemas exceed the {limit} and are left open in part"
        if told not in self.notices:
            self.notices.append(told)

    def take(self, text: object) -> None:
        """Count a text that goes into the tool's schema beside what is rewritten."""
        self._budget.document -= len(text) if isinstance(text, str) else 0

    def _rewrite(self, schema: Any, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise RecordRejected(self._origin, f"a schema is nested more than {_MAX_DEPTH} levels deep")
        if isinstance(schema, list):
            self._spend(2 + len(schema))
            return [self._rewrite(item, depth + 1) for item in schema]
        if not isinstance(schema, dict):
            self._spend(len(schema) + 2 if isinstance(schema, str) else 4)
            return schema
        if isinstance(schema.get("$ref"), str):
            return self._reference(schema)
        kept: dict[str, Any] = {}
        for key, value in schema.items():
            if key in _DROPPED or str(key).startswith("x-"):
                continue
            self._spend(len(str(key)) + 4)
            if key in _MAPS and isinstance(value, dict):
                self._spend(sum(len(str(name)) + 4 for name in value))
                kept[key] = {str(name): self._rewrite(item, depth + 1) for name, item in value.items()}
            elif key in _DATA:
                self._spend(self._budget.size_of(value))
                kept[str(key)] = value
            else:
                kept[str(key)] = self._rewrite(value, depth + 1)
        return _modern(kept)

    def _spend(self, characters: int) -> None:
        self._left -= characters
        if self._left < 0:
            raise _TooLarge

    def _reference(self, schema: dict[str, Any]) -> dict[str, Any]:
        reference = schema["$ref"]
        beside = {key: value for key, value in schema.items() if key in ("description", "title", "default")}
        self._spend(self._budget.size_of(schema))
        if not reference.startswith("#"):
            self.notices.append(f"{reference[:200]} is in another document: left open")
            return beside
        name = self._names.get(reference)
        if name is None:
            base = unquote(reference.rsplit("/", 1)[-1]).replace("~1", "_").replace("/", "_") or "root"
            name = base
            while name in self._definitions:
                name = f"{base}_{len(self._definitions)}"
            self.target(schema)  # raises where the references lead nowhere
            target = resolve_pointer(self._document, reference, self._origin)
            self._names[reference] = name
            self._definitions[name] = {}  # holds its place until it is rewritten
            self._pending.append((name, reference, target))
        return {"$ref": f"#/$defs/{name.replace('~', '~0')}", **beside}

    def _forget(self, pending: int) -> None:
        """Take back the references of a schema that is left open, down to the number that were pending before it."""
        while len(self._pending) > pending:
            name, reference, _ = self._pending.pop()
            del self._names[reference], self._definitions[name]


def _modern(schema: dict[str, Any]) -> dict[str, Any]:
    """Replace OpenAPI 3.0's `nullable` and boolean bounds and Swagger's `type: file` by JSON Schema 2020-12."""
    if schema.pop("nullable", None) is True and isinstance(schema.get("type"), str):
        schema["type"] = [schema["type"], "null"]
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(schema.get(exclusive), bool) and schema.pop(exclusive) and bound in schema:
            schema[exclusive] = schema.pop(bound)
    if schema.get("type") == "file":
        schema["type"], schema["format"] = "string", "binary"
    return schema
