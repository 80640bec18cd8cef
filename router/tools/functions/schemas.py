"""Converts Python annotations to JSON Schema: containers by rules of its own, other types by msgspec."""

import enum
import os
import types
import typing
from collections import abc
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from router.tools.functions.annotations import description_of, field_hints, has_fields, required_fields
from router.tools.functions.docstrings import parse_docstring

Schema = dict[str, Any]

_PLAIN: tuple[tuple[Any, Schema], ...] = (
    (str, {"type": "string"}),
    (bool, {"type": "boolean"}),
    (int, {"type": "integer"}),
    (float, {"type": "number"}),
    (None, {"type": "null"}),
    (type(None), {"type": "null"}),
    (Any, {}),
    (object, {}),
)
_LISTS = (
    list,
    set,
    frozenset,
    abc.Sequence,
    abc.MutableSequence,
    abc.Iterable,
    abc.Collection,
    abc.Set,
    abc.MutableSet,
)
_MAPPINGS = (dict, abc.Mapping, abc.MutableMapping)
_MARKS = (typing.Required, typing.NotRequired, typing.ClassVar, typing.Final)


class SchemaMaker:
    """Makes the schemas of one tool's parameters.

    `definitions` holds the classes with fields that the schemas refer to as `#/$defs/<name>`. `unknown` lists the names
    of types without a JSON form: their schema takes any value.
    """

    def __init__(self) -> None:
        self.definitions: dict[str, Schema] = {}
        self.unknown: list[str] = []
        self._names: dict[Any, str] = {}
        self._aliases: list[Any] = []

    def of(self, annotation: Any) -> Schema:
        """Return the schema of an annotation."""
        for plain, schema in _PLAIN:
            if annotation is plain:
                return dict(schema)
        origin, inside = typing.get_origin(annotation), typing.get_args(annotation)
        if origin is typing.Annotated:
            return self._described(inside[0], inside[1:])
        if origin in _MARKS:
            return self.of(inside[0])
        if origin in (typing.Union, types.UnionType):
            return self._union(inside)
        if origin is typing.Literal:
            return _choice(inside)
        bare = origin or annotation
        if bare in _LISTS:
            return {"type": "array", **self._items(inside)}
        if bare is tuple:
            return self._tuple(inside)
        if bare in _MAPPINGS:
            values = self.of(inside[1]) if len(inside) == 2 else {}
            return {"type": "object", **({"additionalProperties": values} if values else {})}
        if isinstance(annotation, type):
            return self._of_class(annotation)
        # `type X = …` and NewType are resolved; an alias may refer to itself.
        target = getattr(annotation, "__value__", None) or getattr(annotation, "__supertype__", None)
        if target is None or annotation in self._aliases:
            return self._by_msgspec(annotation) if target is None else {}
        self._aliases.append(annotation)
        schema = self.of(target)
        self._aliases.pop()
        return schema

    def _of_class(self, annotation: type) -> Schema:
        if issubclass(annotation, enum.Enum):
            return _choice(annotation)
        if hasattr(annotation, "model_json_schema"):
            return self._by_pydantic(annotation)
        if issubclass(annotation, os.PathLike):
            return {"type": "string"}
        return self._with_fields(annotation) if has_fields(annotation) else self._by_msgspec(annotation)

    def _described(self, inner: Any, metadata: Iterable[Any]) -> Schema:
        schema, text = self.of(inner), description_of(metadata)
        return {**schema, "description": text} if text else schema

    def _union(self, options: Iterable[Any]) -> Schema:
        schemas: list[Schema] = []
        for option in options:
            if (schema := self.of(option)) not in schemas:
                schemas.append(schema)
        if {} in schemas:
            return {}
        return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}

    def _items(self, inside: tuple[Any, ...]) -> Schema:
        items = self._union(inside[:1]) if inside else {}
        return {"items": items} if items else {}

    def _tuple(self, inside: tuple[Any, ...]) -> Schema:
        if not inside or inside[-1] is Ellipsis:
            return {"type": "array", **self._items(inside)}
        # Without `prefixItems`, which model providers refuse.
        items, size = self._union(inside), len(inside)
        return {"type": "array", **({"items": items} if items else {}), "minItems": size, "maxItems": size}

    def _with_fields(self, annotation: type) -> Schema:
        """Return a reference to the definition of a dataclass, a TypedDict or a NamedTuple, added if it is new."""
        if annotation not in self._names:
            name = self._names[annotation] = self._free_name(annotation.__name__)
            schema: Schema = {"type": "object"}
            self.definitions[name] = schema  # before its fields, which may refer to it
            text = annotation.__doc__ or ""
            is_generated = text.startswith(f"{annotation.__name__}(")  # by dataclass or NamedTuple
            docs = parse_docstring("" if is_generated else text)
            hints = field_hints(annotation)
            fields = {field: self.of(hint) for field, hint in hints.items()}
            for field in fields.keys() & docs.parameters.keys():
                fields[field].setdefault("description", docs.parameters[field])
            schema.update({"description": docs.description} if docs.description else {}, properties=fields)
            if required := required_fields(annotation, hints):
                schema["required"] = required
        return {"$ref": f"#/$defs/{self._names[annotation]}"}

    def _by_pydantic(self, model: Any) -> Schema:
        """Return a reference to the schema that a pydantic model makes of itself."""
        if model not in self._names:
            try:
                schema = dict(model.model_json_schema())
            except (TypeError, ValueError, RuntimeError):  # a field's type has no JSON form
                return self._anything(model)
            names = self._adopt({model.__name__: schema, **schema.pop("$defs", {})})
            self._names[model] = names[model.__name__]
        return {"$ref": f"#/$defs/{self._names[model]}"}

    def _by_msgspec(self, annotation: Any) -> Schema:
        """Return msgspec's schema of dates, UUIDs, decimals, structs and the like."""
        if isinstance(annotation, str):  # a name that could not be resolved
            return self._anything(annotation)
        try:
            (schema,), definitions = msgspec.json.schema_components([annotation], ref_template="#/$defs/{name}")
        except (TypeError, ValueError, NameError, RecursionError):
            return self._anything(annotation)
        return dict(_rename_references(schema, self._adopt(definitions)))

    def _anything(self, annotation: Any) -> Schema:
        self.unknown.append(getattr(annotation, "__qualname__", None) or str(annotation).strip("'\""))
        return {}

    def _adopt(self, definitions: Mapping[str, Schema]) -> dict[str, str]:
        """Add definitions, under free names; return these by the original names."""
        names: dict[str, str] = {}
        for name, schema in definitions.items():
            names[name] = self._free_name(name, schema)
            self.definitions[names[name]] = schema
        for name, schema in definitions.items():
            self.definitions[names[name]] = _rename_references(schema, names)
        return names

    def _free_name(self, name: str, same: Schema | None = None) -> str:
        """Return the name, with a number where another definition than `same` has it."""
        free, number = name, 1
        while free in self.definitions and self.definitions[free] != same:
            number += 1
            free = f"{name}{number}"
        return free


def _choice(values: Iterable[Any]) -> Schema:
    """Return the schema of an enumeration; values without a JSON form are written as text."""
    plain = [value.value if isinstance(value, enum.Enum) else value for value in values]
    kinds = {type(value): schema["type"] for value in plain for kind, schema in _PLAIN[:6] if type(value) is kind}
    json_values = [value if type(value) in kinds else str(value) for value in plain]
    json_types = {kinds.get(type(value), "string") for value in json_values}
    return {**({"type": json_types.pop()} if len(json_types) == 1 else {}), "enum": json_values}


def _rename_references(value: Any, names: Mapping[str, str]) -> Any:
    """Return a schema with the names of the definitions that it refers to replaced."""
    if isinstance(value, list):
        return [_rename_references(item, names) for item in value]
    if not isinstance(value, dict):
        return value
    renamed = {key: _rename_references(item, names) for key, item in value.items()}
    reference = value.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/$defs/"):
        renamed["$ref"] = f"#/$defs/{names.get(reference[8:], reference[8:])}"
    return renamed
