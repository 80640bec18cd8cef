"""Reads annotations: resolved type hints, descriptions, the fields of classes and which of them are required."""

import dataclasses
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any

# Raised for a name that only type checkers see, or by an annotation when it is evaluated.
_UNRESOLVED = (NameError, TypeError, AttributeError, SyntaxError, LookupError, ValueError, ImportError)


def hints_of(annotated: Any) -> dict[str, Any]:
    """Return the annotations of a function or class by name; one that cannot be resolved stays as written."""
    try:
        return typing.get_type_hints(annotated, include_extras=True)
    except _UNRESOLVED:
        annotations = dict(getattr(annotated, "__annotations__", {}))
        return {name: _resolve(hint, annotated) for name, hint in annotations.items()}


def _resolve(hint: Any, annotated: Any) -> Any:
    if not isinstance(hint, str):
        return hint
    probe = types.SimpleNamespace(__annotations__={"hint": hint})
    try:
        return typing.get_type_hints(probe, getattr(annotated, "__globals__", {}), include_extras=True)["hint"]
    except _UNRESOLVED:
        return hint


def description_of(metadata: Iterable[Any]) -> str:
    """Return the first text in an annotation's metadata: an item itself, or an item's description; else empty."""
    for item in metadata:
        # pydantic's Field has `description`, typing's Doc (PEP 727) `documentation`.
        texts = (item, getattr(item, "description", None), getattr(item, "documentation", None))
        for text in texts:
            if isinstance(text, str) and text.strip():
                return text.strip()
    return ""


def has_fields(annotation: type) -> bool:
    """Return whether a class is a dataclass, a TypedDict or a NamedTuple."""
    named_tuple = issubclass(annotation, tuple) and hasattr(annotation, "_fields")
    return named_tuple or _is_typed_dict(annotation) or dataclasses.is_dataclass(annotation)


def field_hints(annotation: type) -> dict[str, Any]:
    """Return the annotations of a class's fields, without those that its constructor does not take."""
    hints = hints_of(annotation)
    if not dataclasses.is_dataclass(annotation):
        return hints
    init_fields = {field.name for field in dataclasses.fields(annotation) if field.init}
    return {name: hint for name, hint in hints.items() if name in init_fields}


def required_fields(annotation: Any, hints: Mapping[str, Any]) -> list[str]:
    """Return the names of the required fields of a class that `has_fields`, given the hints of its fields."""
    if _is_typed_dict(annotation):
        marks = {name: typing.get_origin(hint) for name, hint in hints.items()}
        # __required_keys__ ignores the marks in annotations that are strings.
        required_keys = annotation.__required_keys__
        return [
            name
            for name, mark in marks.items()
            if mark is typing.Required or (name in required_keys and mark is not typing.NotRequired)
        ]
    if dataclasses.is_dataclass(annotation):
        missing = dataclasses.MISSING
        return [f.name for f in dataclasses.fields(annotation) if f.init and f.default is missing is f.default_factory]
    return [name for name in hints if name not in annotation._field_defaults]


def _is_typed_dict(annotation: Any) -> bool:
    # Not by its class: typing_extensions has another one.
    return isinstance(annotation, type) and issubclass(annotation, dict) and hasattr(annotation, "__required_keys__")
