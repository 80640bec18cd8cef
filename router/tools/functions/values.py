"""Makes of a model's JSON values the Python values that annotations promise: what `schemas` describes, read back."""

import enum
import json
import typing
from collections.abc import Iterable
from inspect import Parameter
from os import PathLike
from typing import Any

import msgspec

from router.errors import RequestInvalid
from router.tools.functions.annotations import (
    LISTS,
    MAPPINGS,
    UNIONS,
    adapter_of,
    choices,
    fields_of,
    is_pydantic,
    stands_for,
)

_OF_PYDANTIC = ("pydantic.", "annotated_types")


def fit(value: Any, hint: Any, where: str, *, strict: bool = False) -> Any:
    """Return a JSON value as its annotation promises it; `where` names it in messages.

    Of a union, the first option that takes the value as it is counts, else the first that takes it converted: 5 for
    "5", which `strict` forbids. A type that neither msgspec nor pydantic knows takes any value. Raises RequestInvalid,
    with the place, the value and the reason, where the value does not fit.
    """
    if hint in (Any, object, Parameter.empty) or isinstance(hint, str):
        return value
    if (target := stands_for(hint)) is not None:
        return fit(value, target, where, strict=strict)
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _annotated(value, hint, where, strict)
    if origin in UNIONS:
        return _option(value, inside, where, strict)
    bare: Any = origin or hint
    if origin is typing.Literal or (isinstance(bare, type) and issubclass(bare, enum.Enum)):
        return value if bare is type(value) else _choose(value, inside or bare, where, strict)
    if not isinstance(bare, type):
        return _leaf(value, hint, where, strict)
    if bare in LISTS:
        items = [*value] if type(value) in LISTS else _leaf(value, list, where, strict)
        fixed = bare is tuple and inside and inside[-1] is not Ellipsis
        if fixed and len(items) != len(inside):
            raise _misfit(value, where, f"Expected `array` of length {len(inside)}, got {len(items)}")
        hints = inside if fixed else (*inside, Any)[:1] * len(items)
        pairs = enumerate(zip(items, hints, strict=True))
        fitted = [fit(part, of, f"{where}[{place}]", strict=strict) for place, (part, of) in pairs]
        return _made(LISTS[bare], value, where, fitted)
    if bare in MAPPINGS:
        of_key, of_value = inside if len(inside) == 2 else (Any, Any)
        pairs = _leaf(value, dict, where, strict).items()
        keys = {key: fit(key, of_key, f"a key of {where}") for key, _ in pairs}  # a key of JSON is always a text
        return MAPPINGS[bare]((keys[key], fit(v, of_value, f"{where}.{key}", strict=strict)) for key, v in pairs)
    if is_pydantic(bare):
        return _by_pydantic(value, hint, where)
    if issubclass(bare, PathLike):
        return value if isinstance(value, bare) else _made(bare, value, where, _leaf(value, str, where, strict))
    fields = fields_of(hint)
    if fields is None or (not issubclass(bare, dict) and isinstance(value, bare)):
        return value if fields else _leaf(value, hint, where, strict)
    return _object(value, bare, *fields, where, strict)


def _object(value: Any, kind: Any, hints: dict[str, Any], required: list[str], where: str, strict: bool) -> Any:
    if issubclass(kind, tuple) and isinstance(value, list | tuple) and len(value) <= len(hints):
        given = dict(zip(hints, value, strict=False))  # a NamedTuple's values in order
    else:
        given = _leaf(value, dict, where, strict)
    if unknown := [name for name in given if name not in hints]:
        raise _misfit(value, where, f"there is no field {unknown[0]!r}: there are {', '.join(hints)}")
    if missing := [name for name in required if name not in given]:
        raise _misfit(value, where, f"its field {missing[0]!r} is missing")
    fitted = {name: fit(part, hints[name], f"{where}.{name}", strict=strict) for name, part in given.items()}
    return _made(lambda fields: kind(**fields), value, where, fitted)


def _made(make: Any, value: Any, where: str, parts: Any) -> Any:
    """Return what a constructor makes of parts; its own refusal, as of a list in a set, is the reason given."""
    try:
        return make(parts)
    except (TypeError, ValueError) as error:
        raise _misfit(value, where, str(error)) from None


def _option(value: Any, options: Iterable[Any], where: str, strict: bool) -> Any:
    if type(value) in (int, float) and type(value) in options:  # not the float of an int
        return value
    models = tuple(option for option in options if is_pydantic(option))
    reasons: list[str] = []
    for strictly in dict.fromkeys((True, strict)):
        reasons.clear()
        for option in options:
            try:
                if option not in models:
                    return fit(value, option, where, strict=strictly)
                if option is models[0]:  # all at once: pydantic finds the one that fits best
                    return _by_pydantic(value, typing.Union[models], where)  # noqa: UP007 - made of a tuple
            except RequestInvalid as error:
                reasons.append(str(error).removeprefix(f"{where} is {value!r:.80}: "))
    raise _misfit(value, where, "; or ".join(dict.fromkeys(reasons)))


def _choose(value: Any, values: Any, where: str, strict: bool) -> Any:
    listed = choices(values)
    for written, choice in listed:
        if value is choice or (type(value) is type(written) and value == written):
            return choice
    if isinstance(values, type) and issubclass(values, enum.Flag):
        return _made(values, value, where, _leaf(value, int, where, strict))
    for written, choice in listed:
        if not strict and str(written) == str(value):
            return choice
    raise _misfit(value, where, f"it must be {', '.join(repr(written) for written, _ in listed)}")


def _annotated(value: Any, hint: Any, where: str, strict: bool) -> Any:
    """Return the value of an annotation with metadata, once it is within the bounds there."""
    kind, *notes = typing.get_args(hint)
    theirs = [note for note in notes if is_pydantic(note) or type(note).__module__.startswith(_OF_PYDANTIC)]
    # Validators, which may come before the type, and what tells models apart.
    whole = any(getattr(note, "discriminator", type(note).__module__ != "annotated_types") for note in theirs)
    if whole and adapter_of(hint) is not None:
        return _by_pydantic(value, hint, where)
    fitted = fit(value, kind, where, strict=strict)
    if fitted is None:
        return None
    if own := [note for note in notes if isinstance(note, msgspec.Meta)]:
        _leaf(fitted, typing.Annotated[(type(fitted), *own)], where, strict)
    bounds = typing.Annotated[(type(fitted), *theirs)] if theirs else None
    if bounds and adapter_of(bounds) is not None:
        _by_pydantic(fitted, bounds, where)
    return fitted


def _leaf(value: Any, hint: Any, where: str, strict: bool) -> Any:
    def other(kind: type, part: Any) -> Any:
        if kind is hint:
            raise NotImplementedError
        return fit(part, kind, where, strict=strict)

    try:
        return msgspec.convert(value, hint, strict=strict, dec_hook=other)
    except msgspec.ValidationError as error:
        raise _misfit(value, where, str(error)) from None
    except (TypeError, ValueError, NotImplementedError, NameError, RecursionError):  # not a type of msgspec's
        return value if adapter_of(hint) is None else _by_pydantic(value, hint, where)


def _by_pydantic(value: Any, hint: Any, where: str) -> Any:
    if (adapter := adapter_of(hint)) is None:
        raise _misfit(value, where, "pydantic can make no validator of its type")
    try:
        text = json.dumps(value)
    except (TypeError, ValueError):  # a program's own value, such as a model
        text = None
    try:
        # As JSON, a date may be a text even where the model is strict.
        return adapter.validate_python(value) if text is None else adapter.validate_json(text)
    except (ValueError, RuntimeError) as error:  # in one line: pydantic's own message has several, and links
        errors: list[Any] = getattr(error, "errors", list)()
        texts = [": ".join(filter(None, (".".join(map(str, each["loc"])), each["msg"]))) for each in errors]
        raise _misfit(value, where, "; ".join(texts) or str(error)) from None


def _misfit(value: Any, where: str, reason: str) -> RequestInvalid:
    return RequestInvalid(f"{where} is {value!r:.80}: {reason}")
