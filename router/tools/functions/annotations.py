"""Takes Python annotations apart: names, aliases, generic types, fields and choices, for schemas and for values."""

import contextlib
import dataclasses
import enum
import functools
import inspect
import sys
import types
import typing
from collections import OrderedDict, abc, deque
from collections.abc import Iterable, Mapping
from typing import Any

# Raised for a name that only type checkers see, or by an annotation when it is evaluated.
UNRESOLVED = (NameError, TypeError, AttributeError, SyntaxError, LookupError, ValueError, ImportError)
JSON_TYPES = ((str, "string"), (bool, "boolean"), (int, "integer"), (float, "number"), (type(None), "null"))
# What makes the value of an array's and of an object's annotation.
LISTS: Mapping[Any, Any] = {
    **{kind: kind for kind in (list, set, frozenset, tuple, deque)},
    **dict.fromkeys((abc.Sequence, abc.MutableSequence, abc.Iterable, abc.Collection), list),
    **dict.fromkeys((abc.Set, abc.MutableSet), set),
}
MAPPINGS: Mapping[Any, Any] = {OrderedDict: OrderedDict, **dict.fromkeys((dict, abc.Mapping, abc.MutableMapping), dict)}
UNIONS = (typing.Union, types.UnionType)
_MARKS = (typing.Required, typing.NotRequired, typing.ClassVar, typing.Final)


def hints_of(annotated: Any) -> dict[str, Any]:
    """Return the annotations of a function or class by name; one that cannot be resolved stays as written."""
    try:
        return typing.get_type_hints(annotated, include_extras=True)
    except UNRESOLVED:
        hints = dict(getattr(annotated, "__annotations__", {}))
    module = sys.modules.get(getattr(annotated, "__module__", ""), types)
    names = getattr(annotated, "__globals__", vars(module))
    for name, hint in hints.items():
        if isinstance(hint, str):
            probe = types.SimpleNamespace(__annotations__={name: hint})
            with contextlib.suppress(*UNRESOLVED):
                hints |= typing.get_type_hints(probe, names, include_extras=True)
    return hints


def stands_for(annotation: Any) -> Any:
    """Return what a NewType, a `type` alias, a type variable or a mark such as Required stands for; None for others."""
    origin, inside = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in _MARKS:
        return inside[0]
    if isinstance(annotation, dataclasses.InitVar):
        return annotation.type
    if isinstance(annotation, typing.TypeVar):
        return annotation.__bound__ or Any
    alias = origin or annotation
    target = getattr(alias, "__value__", getattr(alias, "__supertype__", None))
    if target is None or isinstance(alias, type):
        return None
    return _filled(target, dict(zip(getattr(alias, "__type_params__", ()), inside, strict=False)))


def _filled(hint: Any, types: Mapping[Any, Any]) -> Any:
    """Return a hint with types in place of its type variables."""
    if isinstance(hint, typing.TypeVar):
        return types.get(hint, hint)
    variables = getattr(hint, "__parameters__", ()) if types and typing.get_origin(hint) else ()
    return hint[tuple(types.get(variable, variable) for variable in variables)] if variables else hint


def adapter_of(annotation: Any) -> Any:
    """Return pydantic's TypeAdapter of an annotation; None where pydantic cannot, or no module has imported it."""
    for make in (_adapter, _adapter.__wrapped__):  # one without a hash is made anew
        with contextlib.suppress(*UNRESOLVED, RuntimeError):
            return make(annotation)
    return None


@functools.lru_cache(maxsize=256)
def _adapter(annotation: Any) -> Any:
    return sys.modules["pydantic"].TypeAdapter(annotation)


def is_pydantic(annotation: Any) -> bool:
    """Return whether a class is a model of pydantic's, or another that tells pydantic its schema."""
    return hasattr(annotation, "__pydantic_core_schema__") or hasattr(annotation, "__get_pydantic_core_schema__")


def fields_of(annotation: Any) -> tuple[dict[str, Any], list[str]] | None:
    """Return the hints of the fields of a class that is written as an object, and the names of the required ones.

    It is a dataclass, a TypedDict, a NamedTuple, an attrs class or a msgspec Struct; None for any other. The fields are
    those that its constructor takes.
    """
    kind: Any = typing.get_origin(annotation) or annotation
    if (own := _own_fields(kind)) is None:
        return None
    types = dict(zip(getattr(kind, "__parameters__", ()), typing.get_args(annotation), strict=False))
    return {name: _filled(hint, types) for name, hint in own[0].items()}, own[1]


@functools.lru_cache(maxsize=256)
def _own_fields(kind: Any) -> tuple[dict[str, Any], list[str]] | None:
    struct = getattr(kind, "__struct_config__", None)
    # One with a tag, with other names or written as an array is left to msgspec.
    is_renamed = struct and (struct.tag or struct.array_like or kind.__struct_fields__ != kind.__struct_encode_fields__)
    if issubclass(kind, dict) and hasattr(kind, "__required_keys__"):  # of `typing` or `typing_extensions`
        hints, keys = hints_of(kind), kind.__required_keys__
        # The keys ignore the marks in annotations that are strings.
        marks = [(name, typing.get_origin(hint)) for name, hint in hints.items()]
        return hints, [n for n, m in marks if m is typing.Required or (n in keys and m is not typing.NotRequired)]
    if (
        dataclasses.is_dataclass(kind)
        or hasattr(kind, "__attrs_attrs__")
        or (issubclass(kind, tuple) and hasattr(kind, "_fields"))
        or (struct and not is_renamed)
    ):
        hints, given = hints_of(kind), inspect.signature(kind).parameters.values()
        required = [parameter.name for parameter in given if parameter.default is parameter.empty]
        # attrs takes `_x` as `x`; without an annotation, it takes any value.
        hints = {p.name: hints.get(p.name, hints.get(f"_{p.name}", p.annotation)) for p in given}
        return {name: Any if hint is inspect.Parameter.empty else hint for name, hint in hints.items()}, required
    return None


def choices(values: Iterable[Any]) -> list[tuple[Any, Any]]:
    """Return the values of an enumeration, each behind its form in JSON; one without such a form is written as text."""
    plain = [(value.value if isinstance(value, enum.Enum) else value, value) for value in values]
    return [(json if type(json) in dict(JSON_TYPES) else str(json), value) for json, value in plain]
