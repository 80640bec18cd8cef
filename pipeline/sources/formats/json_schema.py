"""Turn schemas of an API document into self-contained JSON Schema: move references to `$defs`, unify dialects."""

from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

import msgspec

from pipeline.errors import RecordRejected
from pipeline.settings import LimitsSettings
from pipeline.sources.formats.document import DEFAULT_LIMITS
from pipeline.sources.formats.openapi_files import NotFollowed, as_written
from router.record import Origin
from router.tools.definitions.json_values import value_at_pointer
from router.tools.definitions.rows import MAX_HOPS

_MAX_DEPTH = 100
_MAX_HOPS = 100  # of a chain of references; real ones have two or three
_MAX_REFERENCE = 10_000  # characters
_MAX_INLINE = 10  # levels
_MAX_PARTS = 100  # of a schema, by references and branches
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
        self.properties: dict[tuple[int, tuple[str, ...]], tuple[Any, tuple[frozenset[str], frozenset[str]]]] = {}

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

    def target(self, value: Any) -> tuple[Any, str]:
        """Return the end of a chain of references, and why it is not followed further; empty where it is."""
        seen: set[str] = set()
        while isinstance(value, dict) and isinstance(ref := value.get("$ref"), str) and ref.startswith("#"):
            if ref in seen:
                raise RecordRejected(self.origin, f"the reference {as_written(ref)[:200]} leads back to itself")
            if len(seen) == _MAX_HOPS:
                raise RecordRejected(self.origin, f"a chain of references has more than {_MAX_HOPS} links")
            seen.add(ref)
            try:
                value = self._at(ref)
            except NotFollowed as error:
                return value, str(error)
        return value, ""

    def whole(self, value: Any) -> tuple[Any, str]:
        """Return what `target` returns, with what stands beside the first reference."""
        target, away = self.target(value)
        if target is value or not isinstance(target, dict):
            return target, away
        return {**target, **{key: item for key, item in value.items() if key != "$ref"}}, away

    def local(self, value: Any) -> Any:
        """Return the end of a chain of references; None, with a notice, where it is not followed."""
        whole, away = self.whole(value)
        if away:
            self.notices.append(f"{away}: left open")
        return None if away else whole

    def definitions(self) -> dict[str, Any]:
        """Return the `$defs` of every schema rewritten so far, in order of first use."""
        while self._pending:
            name, schema = self._pending.popleft()
            self._definitions[name] = self.rewrite(schema)
        return dict(self._definitions)

    def rewrite(self, schema: Any, depth: int = 0, hidden: frozenset[str] = frozenset()) -> Any:
        """Return a schema with references moved to `$defs`, and dialects unified; `{}` beyond the budget.

        Properties that only answers have are left out, and so are those that are `hidden` by a schema around it.
        """
        size, budget = self._budget.size_of(schema), self._budget
        if size > min(self._left, budget.left):
            limits = budget.limits
            limit = f"{limits.schema_characters:,} characters of limits.schema_characters"
            if budget.left < limits.schema_characters:
                limit = f"{limits.document_bytes:,} characters of limits.document_bytes, for all operations together,"
            notice = f"its schemas exceed the {limit} and are left open in part"
            if notice not in self.notices:
                self.notices.append(notice)
            return {}
        self._left -= size
        budget.left -= size
        return self._rewrite(schema, depth, hidden)

    def read_only(self, schema: Any, branches: tuple[str, ...] = ("allOf",)) -> frozenset[str]:
        """Return the properties of an object that only answers have (`readOnly`), declared by itself or a branch."""
        return self._properties(schema, branches)[1]

    def _properties(self, schema: Any, branches: tuple[str, ...]) -> tuple[frozenset[str], frozenset[str]]:
        """Return the properties that a schema or a part of it declares or requires, and those that only answers have.

        They are collected once.
        """
        if (known := self._budget.properties.get((id(schema), branches))) is None:
            declared, read_only = set[str](), set[str]()
            for part in self._parts(schema, branches):
                properties, required = mapping(part.get("properties")), part.get("required")
                listed = required if isinstance(required, list) else ()
                declared |= {name for name in (*properties, *listed) if isinstance(name, str)}
                read_only |= {name for name, one in properties.items() if self._is_read_only(one)}
            known = schema, (frozenset(declared), frozenset(read_only))
            self._budget.properties[id(schema), branches] = known
        return known[1]

    def _is_read_only(self, schema: Any) -> bool:
        return any(part.get("readOnly") is True for part in self._parts(schema))

    def _parts(self, schema: Any, branches: tuple[str, ...] = ("allOf",)) -> Iterator[Mapping[Any, Any]]:
        """Yield a schema, those that it refers to, and their branches, each once."""
        waiting, seen = [schema], set[int]()
        while waiting and len(seen) < _MAX_PARTS:
            part = mapping(waiting.pop())
            if id(part) in seen:
                continue
            seen.add(id(part))
            yield part
            with suppress(RecordRejected, NotFollowed):  # reported where the schema is rewritten
                waiting.extend([self._at(part["$ref"])] if isinstance(part.get("$ref"), str) else ())
            waiting.extend(one for key in branches if isinstance(part.get(key), list) for one in part[key])

    def _rewrite(self, schema: Any, depth: int, hidden: frozenset[str] = frozenset()) -> Any:
        if depth > _MAX_DEPTH:
            raise RecordRejected(self.origin, f"a schema is nested more than {_MAX_DEPTH} levels deep")
        if isinstance(schema, list):
            return [self._rewrite(item, depth + 1) for item in schema]
        if not isinstance(schema, dict):
            return schema
        if isinstance(schema.get("$ref"), str):
            if hidden and depth < _MAX_INLINE:
                declared, read_only = self._properties(schema, ("allOf",))
                if hidden & (declared - read_only):  # it is another schema here
                    return self.rewrite(self.target(schema)[0], depth + 1, hidden)
            return self._reference(schema)
        hidden |= self.read_only(schema)
        kept: dict[str, Any] = {}
        for key, value in schema.items():
            if key in _DROPPED or str(key).startswith("x-"):
                continue
            if key in _MAPS and isinstance(value, dict):
                left = {name: item for name, item in value.items() if key != "properties" or str(name) not in hidden}
                kept[key] = {str(name): self._rewrite(item, depth + 1) for name, item in left.items()}
            elif key == "required" and isinstance(value, list):
                none = hidden | self.read_only(schema, ("allOf", "anyOf", "oneOf"))
                if (names := [one for one in value if not (isinstance(one, str) and one in none)]) or not value:
                    kept[key] = names
            elif key == "allOf" and isinstance(value, list):
                kept[key] = [self._rewrite(item, depth + 2, hidden) for item in value]
            else:
                kept[str(key)] = value if key in _DATA else self._rewrite(value, depth + 1)
        return _modern(kept)

    def _reference(self, schema: dict[str, Any]) -> dict[str, Any]:
        beside = {key: value for key, value in schema.items() if key in ("description", "title", "default")}
        if (name := self._names.get(reference := schema["$ref"])) is None:
            try:
                found = self._at(reference)
            except NotFollowed as error:
                self.notices.append(f"{error}: left open")
                return beside
            written = as_written(reference)  # a file as a whole is named without its folder and its suffix
            base = unquote(reference.rsplit("/", 1)[-1] if "#" in written else PurePosixPath(written).stem)
            name = base = base.replace("~1", "_").replace("/", "_") or "root"
            while name in self._definitions:
                name = f"{base}_{len(self._definitions)}"
            self.target(schema)  # raises where the references lead nowhere
            self._names[reference] = name
            self._definitions[name] = {}  # holds its place until it is rewritten
            self._pending.append((name, found))
        return {"$ref": f"#/$defs/{name.replace('~', '~0')}", **beside}

    def _at(self, reference: str) -> Any:
        if len(reference) > _MAX_REFERENCE:
            why = f"a reference has {len(reference):,} characters, more than {_MAX_REFERENCE:,}"
            raise RecordRejected(self.origin, why)
        try:
            return value_at_pointer(self._document, reference, MAX_HOPS)
        except NotFollowed as error:
            raise NotFollowed(f"{as_written(reference)[:200]} is in another document, which {error}") from None
        except LookupError as error:
            raise RecordRejected(self.origin, as_written(str(error))) from None


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
