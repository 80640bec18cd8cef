"""Turn schemas of an API document into self-contained JSON Schema: move references to `$defs`, unify dialects."""

from collections import deque
from collections.abc import Mapping
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


def mapping(value: Any) -> Mapping[Any, Any]:
    """Return an object of a document; an empty one in place of any other value."""
    return value if isinstance(value, Mapping) else {}


class SchemaBudget:
    """How many characters the schemas of a document may still come to, and those of one operation at most."""

    def __init__(self, limits: LimitsSettings = DEFAULT_LIMITS) -> None:
        self.limits = limits
        self.left = limits.document_bytes
        self._sizes: dict[int, tuple[Any, int]] = {}  # with the value, so that no other takes its id

    def size_of(self, schema: Any) -> int:
        """Return the length of a value of the document as JSON. It is measured once: many operations may share it."""
        if (known := self._sizes.get(id(schema))) is None:
            known = self._sizes[id(schema)] = (schema, len(msgspec.json.encode(schema)))
        return known[1]


class SchemaScope:
    """The schemas of one operation; rewrites each and collects the schemas that they refer to.

    A schema that exceeds the budget is left open, with a notice: any value fits it. Methods raise RecordRejected for
    references that lead nowhere, and for schemas that are nested too deeply.
    """

    def __init__(self, document: dict[str, Any], origin: Origin, budget: SchemaBudget | None = None) -> None:
        self._document = document
        self.origin = origin
        self._budget = budget or SchemaBudget()
        self._left = self._budget.limits.schema_characters
        self._names: dict[str, str] = {}  # of definitions, by reference
        self._definitions: dict[str, Any] = {}
        # Not rewritten in place: a chain of models may be of any length.
        self._pending: deque[tuple[str, Any]] = deque()
        self.notices: list[str] = []

    def target(self, value: Any) -> Any:
        """Return the end of a chain of local references; a reference to another document stays as it is."""
        seen: set[str] = set()
        while isinstance(value, dict) and isinstance(ref := value.get("$ref"), str) and ref.startswith("#"):
            if ref in seen:
                raise RecordRejected(self.origin, f"the reference {ref[:200]} leads back to itself")
            if len(seen) == _MAX_HOPS:
                raise RecordRejected(self.origin, f"a chain of references has more than {_MAX_HOPS} links")
            seen.add(ref)
            value = self._at(ref)
        return value

    def local(self, value: Any) -> Any:
        """Return the end of a chain of references; None, with a notice, where it leads to another document."""
        value = self.target(value)
        if not isinstance(reference := mapping(value).get("$ref"), str):
            return value
        self._leave_open(reference)
        return None

    def definitions(self) -> dict[str, Any]:
        """Return the `$defs` of every schema rewritten so far, in order of first use."""
        while self._pending:
            name, schema = self._pending.popleft()
            self._definitions[name] = self.rewrite(schema)
        return dict(self._definitions)

    def rewrite(self, schema: Any) -> Any:
        """Return a schema with local references moved to `$defs`, and dialects unified; `{}` beyond the budget."""
        size, budget = self._budget.size_of(schema), self._budget
        if size > min(self._left, budget.left):
            most = budget.limits.schema_characters
            limit = f"{most:,} characters of limits.schema_characters"
            if budget.left < most:
                most = budget.limits.document_bytes
                limit = f"{most:,} characters of limits.document_bytes, for all operations together,"
            notice = f"its schemas exceed the {limit} and are left open in part"
            if notice not in self.notices:
                self.notices.append(notice)
            return {}
        self._left -= size
        budget.left -= size
        return self._rewrite(schema, 0)

    def _rewrite(self, schema: Any, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise RecordRejected(self.origin, f"a schema is nested more than {_MAX_DEPTH} levels deep")
        if isinstance(schema, list):
            return [self._rewrite(item, depth + 1) for item in schema]
        if not isinstance(schema, dict):
            return schema
        if isinstance(schema.get("$ref"), str):
            return self._reference(schema)
        kept: dict[str, Any] = {}
        for key, value in schema.items():
            if key in _DROPPED or str(key).startswith("x-"):
                continue
            if key in _MAPS and isinstance(value, dict):
                kept[key] = {str(name): self._rewrite(item, depth + 1) for name, item in value.items()}
            else:
                kept[str(key)] = value if key in _DATA else self._rewrite(value, depth + 1)
        return _modern(kept)

    def _reference(self, schema: dict[str, Any]) -> dict[str, Any]:
        beside = {key: value for key, value in schema.items() if key in ("description", "title", "default")}
        if not (reference := schema["$ref"]).startswith("#"):
            self._leave_open(reference)
            return beside
        if (name := self._names.get(reference)) is None:
            name = base = unquote(reference.rsplit("/", 1)[-1]).replace("~1", "_").replace("/", "_") or "root"
            while name in self._definitions:
                name = f"{base}_{len(self._definitions)}"
            self.target(schema)  # raises where the references lead nowhere
            self._names[reference] = name
            self._definitions[name] = {}  # holds its place until it is rewritten
            self._pending.append((name, self._at(reference)))
        return {"$ref": f"#/$defs/{name.replace('~', '~0')}", **beside}

    def _leave_open(self, reference: str) -> None:
        self.notices.append(f"{reference[:200]} is in another document: left open")

    def _at(self, reference: str) -> Any:
        if len(reference) > _MAX_REFERENCE:
            why = f"a reference has {len(reference):,} characters, more than {_MAX_REFERENCE:,}"
            raise RecordRejected(self.origin, why)
        try:
            return value_at_pointer(self._document, reference)
        except LookupError as error:
            raise RecordRejected(self.origin, str(error)) from None


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
