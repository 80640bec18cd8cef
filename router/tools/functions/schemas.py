"""Python's annotations → JSON Schema: what holds other types by rules of its own, the rest by msgspec."""

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

    `definitions` are the types with fields that they refer to, as `#/$defs/<name>`. `unknown` names the types that JSON
    has no form for: any value is taken there.
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
        # Of `type X = …` and of NewType, what stands behind the name; an alias may stand behind itself.
        behind = getattr(annotation, "__value__", None) or getattr(annotation, "__supertype__", None)
        if behind is None or annotation in self._aliases:
            return self._by_msgspec(annotation) if behind is None else {}
        self._aliases.append(annotation)
        schema = self.of(behind)
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
        # No `prefixItems`: model providers refuse it.
        items, size = self._union(inside), len(inside)
        return {"type": "array", **({"items": items} if items else {}), "minItems": size, "maxItems": size}

    def _with_fields(self, annotation: type) -> Schema:
        """Return a reference to the definition of a dataclass, a TypedDict or a NamedTuple."""
        if annotation not in self._names:
            name = self._names[annotation] = self._free(annotation.__name__)
            schema: Schema = {"type": "object"}
            self.definitions[name] = schema  # before its fields, which may refer to it
            own = annotation.__doc__ or ""
            made_up = own.startswith(f"{annotation.__name__}(")  # by dataclass or NamedTuple
            docs = parse_docstring("" if made_up else own)
            hints = field_hints(annotation)
            fields = {field: self.of(hint) for field, hint in hints.items()}
            for field in fields.keys() & docs.parameters.keys():
                fields[field].setdefault("description", docs.parameters[field])
            schema.update({"description": docs.description} if docs.description else {}, properties=fields)
            if required := required_fields(annotation, hints):
                schema["required"] = required
        return {"$ref": f"#/$defs/{self._names[annotation]}"}

    def _by_pydantic(self, model: Any) -> Schema:
        """Return a reference to a model's own schema. pydantic is there: the model is made of it."""
        if model not in self._names:
            try:
                schema = dict(model.model_json_schema())
            except (TypeError, ValueError, RuntimeError):  # pydantic's: a field's type that JSON has no form for
                return self._anything(model)
            names = self._adopt({model.__name__: schema, **schema.pop("$defs", {})})
            self._names[model] = names[model.__name__]
        return {"$ref": f"#/$defs/{self._names[model]}"}

    def _by_msgspec(self, annotation: Any) -> Schema:
        """Return what msgspec makes of dates, UUIDs, decimals, structs and the like."""
        if isinstance(annotation, str):  # a name that could not be resolved
            return self._anything(annotation)
        try:
            (schema,), definitions = msgspec.json.schema_components([annotation], ref_template="#/$defs/{name}")
        except (TypeError, ValueError, NameError, RecursionError):
            return self._anything(annotation)
        return dict(_renamed(schema, self._adopt(definitions)))

    def _anything(self, annotation: Any) -> Schema:
        self.unknown.append(getattr(annotation, "__qualname__", None) or str(annotation).strip("'\""))
        return {}

    def _adopt(self, definitions: Mapping[str, Schema]) -> dict[str, str]:
        """Put definitions beside those there are; the names that they have there, by their own."""
        names: dict[str, str] = {}
        for name, schema in definitions.items():
            names[name] = self._free(name, schema)
            self.definitions[names[name]] = schema
        for name, schema in definitions.items():
            self.definitions[names[name]] = _renamed(schema, names)
        return names

    def _free(self, name: str, same: Schema | None = None) -> str:
        """Return a name that no other definition has."""
        free, number = name, 1
        while free in self.definitions and self.definitions[free] != same:
            number += 1
            free = f"{name}{number}"
        return free


def _choice(values: Iterable[Any]) -> Schema:
    """Return the schema of some fixed values; those that JSON cannot say stand as text."""
    plain = [value.value if isinstance(value, enum.Enum) else value for value in values]
    kinds = {type(value): schema["type"] for value in plain for kind, schema in _PLAIN[:6] if type(value) is kind}
    said = [value if type(value) in kinds else str(value) for value in plain]
    types_said = {kinds.get(type(value), "string") for value in said}
    return {**({"type": types_said.pop()} if len(types_said) == 1 else {}), "enum": said}


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """Return a schema whose references follow definitions to their new names."""
    if isinstance(value, list):
        return [_renamed(item, names) for item in value]
    if not isinstance(value, dict):
        return value
    made = {key: _renamed(item, names) for key, item in value.items()}
    reference = value.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/$defs/"):
        made["$ref"] = f"#/$defs/{names.get(reference[8:], reference[8:])}"
    return made
