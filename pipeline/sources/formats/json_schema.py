"""Turn schemas of an API document into self-contained JSON Schema: move references to `$defs`, unify dialects."""

from typing import Any
from urllib.parse import unquote

from pipeline.errors import RecordRejected
from router.record import Origin
from router.tools.definitions.json_values import value_at_pointer

_MAX_DEPTH = 100
# Annotations of the API document that JSON Schema does not know and a model does not need.
_DROPPED = ("xml", "externalDocs", "discriminator", "example")
# Keywords whose value maps names (not keywords) to schemas, and those whose value is data, never schema.
_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_DATA = ("enum", "default", "const", "examples", "required")


def resolve_pointer(document: Any, reference: str, origin: Origin) -> Any:
    """Return what `point` does. Raises RecordRejected where it finds nothing."""
    try:
        return value_at_pointer(document, reference)
    except LookupError as error:
        raise RecordRejected(origin, str(error)) from None


class SchemaScope:
    """The schemas of one operation; rewrites each and collects the schemas that they refer to."""

    def __init__(self, document: dict[str, Any], origin: Origin) -> None:
        self._document = document
        self._origin = origin
        self._names: dict[str, str] = {}
        self._definitions: dict[str, Any] = {}
        self._pending: list[tuple[str, Any]] = []  # not rewritten in place: a chain of models may be of any length
        self.notices: list[str] = []

    def target(self, schema: Any) -> Any:
        """Return the end of a schema's chain of local references; a reference to another document stays as it is."""
        seen: set[str] = set()
        while isinstance(schema, dict) and isinstance(ref := schema.get("$ref"), str) and ref.startswith("#"):
            if ref in seen:
                raise RecordRejected(self._origin, f"the reference {ref} leads back to itself")
            seen.add(ref)
            schema = resolve_pointer(self._document, ref, self._origin)
        return schema

    def definitions(self) -> dict[str, Any]:
        """Return the `$defs` of every schema rewritten so far, in order of first use."""
        while self._pending:
            name, schema = self._pending.pop(0)
            self._definitions[name] = self.rewrite(schema)
        return dict(self._definitions)

    def rewrite(self, schema: Any, depth: int = 0) -> Any:
        """Return a schema with local references moved to `$defs`, and dialects unified. Raises RecordRejected."""
        if depth > _MAX_DEPTH:
            raise RecordRejected(self._origin, f"a schema is nested more than {_MAX_DEPTH} levels deep")
        if isinstance(schema, list):
            return [self.rewrite(item, depth + 1) for item in schema]
        if not isinstance(schema, dict):
            return schema
        if isinstance(schema.get("$ref"), str):
            return self._reference(schema)
        kept: dict[str, Any] = {}
        for key, value in schema.items():
            if key in _DROPPED or str(key).startswith("x-"):
                continue
            if key in _MAPS and isinstance(value, dict):
                kept[key] = {str(name): self.rewrite(item, depth + 1) for name, item in value.items()}
            else:
                kept[str(key)] = value if key in _DATA else self.rewrite(value, depth + 1)
        return _modern(kept)

    def _reference(self, schema: dict[str, Any]) -> dict[str, Any]:
        reference = schema["$ref"]
        beside = {key: value for key, value in schema.items() if key in ("description", "title", "default")}
        if not reference.startswith("#"):
            self.notices.append(f"{reference} is in another document: left open")
            return beside
        name = self._names.get(reference)
        if name is None:
            base = unquote(reference.rsplit("/", 1)[-1]).replace("~1", "_").replace("/", "_") or "root"
            name = base
            while name in self._definitions:
                name = f"{base}_{len(self._definitions)}"
            self._names[reference] = name
            self._definitions[name] = {}  # holds its place until it is rewritten
            self.target(schema)  # raises where the references lead nowhere
            self._pending.append((name, resolve_pointer(self._document, reference, self._origin)))
        return {"$ref": f"#/$defs/{name.replace('~', '~0')}", **beside}


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
