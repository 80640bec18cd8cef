"""Converts Python annotations to JSON Schema: containers by rules here, other types by msgspec."""

import contextlib
import enum
import inspect
import os
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, time
from typing import Any

import msgspec

from router.tools.functions.annotations import (
    JSON_TYPES,
    LISTS,
    MAPPINGS,
    UNIONS,
    UNRESOLVED,
    adapter_of,
    choices,
    fields_of,
    is_pydantic,
    stands_for,
)

Schema = dict[str, Any]

_PLAIN: list[tuple[Any, Schema]] = [(kind, {"type": name}) for kind, name in JSON_TYPES]
_PLAIN += [(None, {"type": "null"}), (Any, {}), (object, {})]
_TIMES = {datetime: "date-time", time: "time"}  # msgspec names the format only of those that must have a time zone
# Types in docstrings, for parameters without an annotation.
_DOCSTRING_TYPES = {written: name for kind, name in JSON_TYPES[:-1] for written in (name, kind.__name__)}
_DOCSTRING_TYPES |= {"list": "array", "dict": "object"}
# Keywords of JSON Schema by the attributes of msgspec's Meta, pydantic's Field and annotated_types.
_BOUNDS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}
_BOUNDS |= {"multiple_of": "multipleOf", "pattern": "pattern"}
_LENGTHS = {"string": "Length", "array": "Items", "object": "Properties"}
_DEFINITION = "#/$defs/"


def description_of(metadata: Iterable[Any]) -> str:
    """Return the first text in an annotation's metadata: an item itself, or an item's description; else empty."""
    # pydantic's Field has `description`, typing's Doc (PEP 727) `documentation`.
    named = ((item, *(getattr(item, name, None) for name in ("description", "documentation"))) for item in metadata)
    return next((text.strip() for texts in named for text in texts if isinstance(text, str) and text.strip()), "")


@dataclass(frozen=True, slots=True)
class ParsedDocstring:
    """The parts of a docstring: the description, and by parameter name the descriptions and JSON Schema types."""

    description: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)


def parse_docstring(text: str | None) -> ParsedDocstring:
    """Return the parts of a docstring; if it follows no style, the whole text is the description."""
    if not text or not text.strip():
        return ParsedDocstring()
    from docstring_parser import ParseError, parse  # here: a router over a snapshot does not need it

    text = inspect.cleandoc(text)
    try:
        parsed = parse(f"\n{text}")  # it dedents from the second line on
    except ParseError:
        return ParsedDocstring(text.strip())
    parameters: dict[str, str] = {}
    kinds: dict[str, str] = {}
    for parameter in parsed.params:
        # NumPy's style describes several parameters at once: "x, y : int".
        for name in parameter.arg_name.split(","):
            name = name.strip().lstrip("*")
            if parameter.description:
                parameters[name] = " ".join(parameter.description.split())
            if kind := _DOCSTRING_TYPES.get((parameter.type_name or "").partition("[")[0].strip().lower()):
                kinds[name] = kind
    # A docstring that describes only the return value serves as the description.
    description = parsed.description or ("" if parsed.params else text)
    return ParsedDocstring(description.strip(), parameters, kinds)


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
        for kind, schema in _PLAIN:
            if annotation is kind:
                return {**schema}
        origin, inside = typing.get_origin(annotation), typing.get_args(annotation)
        if origin is typing.Annotated:
            schema, text = self.of(inside[0]), description_of(inside[1:])
            schema = {**schema, **_bounds(inside[1:], schema.get("type"))}
            return {**schema, "description": text} if text else schema
        if origin in UNIONS:
            return self._union(inside)
        if origin is typing.Literal:
            return _choice(inside)
        bare = origin or annotation
        if bare is tuple and inside and inside[-1] is not Ellipsis:
            # Without `prefixItems`, which model providers refuse.
            return {"type": "array", **self._items(inside), "minItems": len(inside), "maxItems": len(inside)}
        if isinstance(bare, type):
            return self._of_class(annotation, bare, inside)
        target = stands_for(annotation)
        if target is None or annotation in self._aliases:  # an alias may refer to itself
            return self._by_msgspec(annotation) if target is None else {}
        self._aliases.append(annotation)
        schema = self.of(target)
        self._aliases.pop()
        return schema

    def _union(self, options: Iterable[Any]) -> Schema:
        schemas = [self.of(option) for option in options]
        schemas = [schema for place, schema in enumerate(schemas) if schema not in schemas[:place]]
        if {} in schemas:
            return {}
        return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}

    def _items(self, inside: tuple[Any, ...]) -> Schema:
        items = self._union(inside) if inside else {}
        return {"items": items} if items else {}

    def _of_class(self, annotation: Any, bare: type, inside: tuple[Any, ...]) -> Schema:
        if bare in LISTS:
            return {"type": "array", **self._items(inside[:1])}
        if bare in MAPPINGS:
            values = self.of(inside[1]) if len(inside) == 2 else {}
            return {"type": "object", **({"additionalProperties": values} if values else {})}
        if issubclass(bare, enum.Flag):
            return {"type": "integer", "description": "A sum of " + ", ".join(f"{m.value} ({m.name})" for m in bare)}
        if issubclass(bare, enum.Enum):
            return _choice(bare)
        if is_pydantic(bare):
            return self._anything(annotation)
        if issubclass(bare, os.PathLike):
            return {"type": "string"}
        if bare in _TIMES:
            return {"type": "string", "format": _TIMES[bare]}
        fields = fields_of(annotation)
        return self._by_msgspec(annotation) if fields is None else self._with_fields(annotation, *fields)

    def _with_fields(self, annotation: Any, hints: Mapping[str, Any], required: list[str]) -> Schema:
        """Return a reference to the definition of a class with fields, added if it is new."""
        if annotation not in self._names:
            name = self._names[annotation] = self._free_name(annotation.__name__)
            schema = self.definitions[name] = {"type": "object"}  # before its fields, which may refer to it
            text = annotation.__doc__ or ""
            is_generated = text.startswith(f"{annotation.__name__}(")  # by dataclass or NamedTuple
            docs = parse_docstring("" if is_generated else text)
            fields = {field: self.of(hint) for field, hint in hints.items()}
            for field in fields.keys() & docs.parameters.keys():
                fields[field].setdefault("description", docs.parameters[field])
            schema.update({"description": docs.description} if docs.description else {}, properties=fields)
            schema.update({"required": required} if required else {})
        return {"$ref": _DEFINITION + self._names[annotation]}

    def _by_msgspec(self, annotation: Any) -> Schema:
        """Return msgspec's schema of dates, UUIDs, decimals, structs and the like."""
        if isinstance(annotation, str):  # a name that could not be resolved
            return self._anything(annotation)
        try:
            (schema,), definitions = msgspec.json.schema_components([annotation], ref_template=_DEFINITION + "{name}")
        except (TypeError, ValueError, NameError, RecursionError):
            return self._anything(annotation)
        return dict(_rename_references(schema, self._adopt(definitions)))

    def _anything(self, annotation: Any) -> Schema:
        """Return pydantic's schema of what nothing here describes; one that takes any value where it has none.

        That of a model is a reference to its definition.
        """
        with contextlib.suppress(*UNRESOLVED, RuntimeError):
            if annotation not in self._names:
                schema = dict(adapter_of(annotation).json_schema())
                definitions = schema.pop("$defs", {})
                if not hasattr(annotation, "model_json_schema"):
                    return dict(_rename_references(schema, self._adopt(definitions)))
                name = annotation.__name__
                self._names[annotation] = self._adopt({name: schema, **definitions})[name]
            return {"$ref": _DEFINITION + self._names[annotation]}
        self.unknown.append(getattr(annotation, "__qualname__", None) or str(annotation).strip("'\""))
        return {}

    def _adopt(self, definitions: Mapping[str, Schema]) -> dict[str, str]:
        """Add definitions, under free names; return these by the original names."""
        names: dict[str, str] = {}
        for name, schema in definitions.items():
            names[name] = self._free_name(name, schema)
            self.definitions[names[name]] = schema
        self.definitions |= {names[name]: _rename_references(schema, names) for name, schema in definitions.items()}
        return names

    def _free_name(self, name: str, same: Schema | None = None) -> str:
        """Return the name, with a number where another definition than `same` has it."""
        free, number = name, 1
        while free in self.definitions and self.definitions[free] != same:
            number += 1
            free = f"{name}{number}"
        return free


def _bounds(metadata: Iterable[Any], kind: Any) -> Schema:
    """Return the keywords of the bounds in an annotation's metadata, for a schema of a type."""
    names = {**_BOUNDS, **{f"{end}_length": f"{end}{_LENGTHS[kind]}" for end in ("min", "max") if kind in _LENGTHS}}
    items = [one for item in metadata for one in (item, *(getattr(item, "metadata", None) or ()))]
    bounds = {word: getattr(item, name, None) for item in items for name, word in names.items() if hasattr(item, name)}
    return {word: bound for word, bound in bounds.items() if type(bound) in (int, float, str)}


def _choice(values: Iterable[Any]) -> Schema:
    json_values = [json for json, _ in choices(values)]
    json_types = {dict[type, str](JSON_TYPES)[type(value)] for value in json_values}
    return {**({"type": json_types.pop()} if len(json_types) == 1 else {}), "enum": json_values}


def _rename_references(value: Any, names: Mapping[str, str]) -> Any:
    """Return a schema with the names of the definitions that it refers to replaced."""
    if isinstance(value, list):
        return [_rename_references(item, names) for item in value]
    if not isinstance(value, dict):
        return value
    renamed = {key: _rename_references(item, names) for key, item in value.items()}
    if isinstance(reference := value.get("$ref"), str):
        name = reference.removeprefix(_DEFINITION)
        renamed["$ref"] = reference.removesuffix(name) + names.get(name, name)
    return renamed
