"""What annotations say beside a type: resolved hints, descriptions, the fields of a class and which are required."""

import dataclasses
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any

# Of a name that exists for type checkers alone, or of what an annotation does when it is looked up.
_UNRESOLVED = (NameError, TypeError, AttributeError, SyntaxError, LookupError, ValueError, ImportError)


def hints_of(annotated: Any) -> dict[str, Any]:
    """Return the annotations of a function or a class; one that cannot be resolved stays as it is written."""
    try:
        return typing.get_type_hints(annotated, include_extras=True)
    except _UNRESOLVED:
        own = dict(getattr(annotated, "__annotations__", {}))
        return {name: _resolved(hint, annotated) for name, hint in own.items()}


def _resolved(hint: Any, annotated: Any) -> Any:
    if not isinstance(hint, str):
        return hint
    probe = types.SimpleNamespace(__annotations__={"hint": hint})
    try:
        return typing.get_type_hints(probe, getattr(annotated, "__globals__", {}), include_extras=True)["hint"]
    except _UNRESOLVED:
        return hint


def description_of(metadata: Iterable[Any]) -> str:
    """Return the first text among an annotation's metadata: itself, or the description of what has one."""
    for item in metadata:
        # pydantic's Field has a description, typing's Doc (PEP 727) a documentation.
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
    """Return the annotations of a class's fields, as far as a caller gives them."""
    hints = hints_of(annotation)
    if not dataclasses.is_dataclass(annotation):
        return hints
    given = {field.name for field in dataclasses.fields(annotation) if field.init}
    return {name: hint for name, hint in hints.items() if name in given}


def required_fields(annotation: Any, hints: Mapping[str, Any]) -> list[str]:
    """Return the names of the fields that have no default, of a class with fields."""
    if _is_typed_dict(annotation):
        marks = {name: typing.get_origin(hint) for name, hint in hints.items()}
        # Of annotations that are texts, a class does not know which are marked.
        needed = annotation.__required_keys__
        return [
            name
            for name, mark in marks.items()
            if mark is typing.Required or (name in needed and mark is not typing.NotRequired)
        ]
    if dataclasses.is_dataclass(annotation):
        missing = dataclasses.MISSING
        return [f.name for f in dataclasses.fields(annotation) if f.init and f.default is missing is f.default_factory]
    return [name for name in hints if name not in annotation._field_defaults]


def _is_typed_dict(annotation: Any) -> bool:
    # By its marks: that of typing_extensions is another class.
    return isinstance(annotation, type) and issubclass(annotation, dict) and hasattr(annotation, "__required_keys__")
