"""Values from outside as typed structs, and plain sentences on what is wrong with them.

A constraint is stated once, in the type: `Annotated[int, Meta(ge=1)]`. msgspec checks it; what it refuses is reported
with the field, the value and what the value may be.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar, get_type_hints

import msgspec
from msgspec import inspect

from router.errors import SettingsInvalid, quoted

_T = TypeVar("_T")
# Of msgspec's messages. They are compiled where something is wrong, and not at each start.
_STEP = r"\[(\d+|\.\.\.)\]|\.?([^.\[\]]+)"
_NAMED = r"(?s)Object (contains unknown|missing required) field `(.*)`"
_NOT_BLANK = r"\S"
_LONG = 80  # what is longer is shown in part, with its length


def is_nested_deeper(value: object, levels: int) -> bool:
    """Return whether lists and tables are nested more than `levels` deep. Takes no recursion."""
    level: list[Any] = [value]
    for _ in range(levels):
        parents = [item for item in level if isinstance(item, Mapping | list | tuple)]
        level = [child for p in parents for child in (p.values() if isinstance(p, Mapping) else p)]
        if not level:
            return False
    return True


def converted(
    value: object,
    kind: type[_T],
    *,
    error: type[SettingsInvalid] = SettingsInvalid,
    place: str = "",
    strict: bool = True,
    secret: bool = False,
    whole: str = "the value",
) -> _T:
    """Return a value as its type. Raises `error`, which has the field's name, where it is not one.

    `place` begins the sentence, and `whole` is what it calls the value itself. Without `strict`, numbers and booleans
    may be written as texts. What is `secret` is not repeated.
    """
    try:
        return msgspec.convert(value, kind, strict=strict)
    except msgspec.ValidationError as refused:
        field, sentence = _explained(str(refused), value, inspect.type_info(kind), "", whole, secret)
        raise error(f"{place}{sentence}", field) from None


def check_fields(struct: msgspec.Struct, place: str) -> None:
    """Check a struct that a program made: msgspec checks only what it decodes. Lists become tuples.

    Raises SettingsInvalid, with the field, the value and what it may be.
    """
    kind = type(struct)
    types = _types(kind)
    required = [msgspec.NODEFAULT] * (len(kind.__struct_fields__) - len(kind.__struct_defaults__))
    for name, default in zip(kind.__struct_fields__, (*required, *kind.__struct_defaults__), strict=True):
        value = getattr(struct, name)
        if value is default:
            continue
        try:
            msgspec.structs.force_setattr(struct, name, msgspec.convert(value, types[name]))
        except msgspec.ValidationError as refused:
            field, sentence = _explained(str(refused), value, inspect.type_info(types[name]), name)
            raise SettingsInvalid(f"{place}{sentence}", field) from None


@cache
def _types(kind: type) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _explained(
    said: str, value: Any, kind: inspect.Type, field: str, whole: str = "", secret: bool = False
) -> tuple[str, str]:
    """Return the field and the sentence of what msgspec said of a value."""
    message, _, path = said.partition(" - at `")
    for index, name in re.findall(_STEP, path.removesuffix("`").partition("$")[2]):
        value = _part_of(value, name or index)
        kind = _type_of_part(kind, name)
        field = f"{field}.{name}" if name and field else name or f"{field}[{index}]"
    if found := re.fullmatch(_NAMED, message):
        name = found[2]
        whole = f"{field}.{name}" if field else name
        if found[1].startswith("missing"):
            return whole, f"{whole} is missing, it must be {_described(_type_of_part(kind, name))}"
        known = _member(kind, inspect.StructType)
        names = ", ".join(part.encode_name for part in known.fields) if isinstance(known, inspect.StructType) else ""
        return whole, f"there is no field {whole:.80}: choose from {names}"
    shown = "" if secret else f"is {_shown(value)}, it "
    return field, f"{field or whole} {shown}must be {_described(kind)}"


def descriptions(kind: type[msgspec.Struct]) -> dict[str, str]:
    """Return what each field of a struct is for, by its name, as its type says."""
    described = {}
    for name, annotation in _types(kind).items():
        metas = [part for part in getattr(annotation, "__metadata__", ()) if isinstance(part, msgspec.Meta)]
        described[name] = next((meta.description for meta in reversed(metas) if meta.description), "")
    return described


def _shown(value: object) -> str:
    if not isinstance(value, str | list | tuple) or len(value) <= _LONG:
        return quoted(value)
    return f"{quoted(value)} ({len(value):,} {'characters' if isinstance(value, str) else 'entries'})"


def _part_of(value: Any, key: str) -> Any:
    try:
        return value[key] if isinstance(value, dict) else value[int(key)]
    except (LookupError, TypeError, ValueError):  # a value of a table that the path does not name
        return value


def _type_of_part(kind: inspect.Type, name: str) -> inspect.Type:
    """Return the type of a struct's field, or of a list's items for an empty name."""
    if not name:
        held = _member(kind, inspect.ListType, inspect.VarTupleType)
        return held.item_type if isinstance(held, inspect.ListType | inspect.VarTupleType) else inspect.AnyType()
    held = _member(kind, inspect.StructType)
    fields = held.fields if isinstance(held, inspect.StructType) else ()
    return next((part.type for part in fields if part.encode_name == name), inspect.AnyType())


def _member(kind: inspect.Type, *wanted: type[inspect.Type]) -> inspect.Type:
    """Return the member of a union that is of a wanted type, or a type as it is."""
    if isinstance(kind, inspect.Metadata):
        return _member(kind.type, *wanted)
    if isinstance(kind, inspect.UnionType):
        members = [_member(one, *wanted) for one in kind.types]
        return next((one for one in members if isinstance(one, wanted)), kind)
    return kind


def _described(kind: inspect.Type) -> str:
    """Return what a value of a type may be, as the end of a sentence."""
    match kind:
        case inspect.Metadata():
            return _described(kind.type)
        case inspect.UnionType():
            others = [one for one in kind.types if not isinstance(one, inspect.NoneType)]
            left_out = ", or left out" if len(others) < len(kind.types) else ""
            return " or ".join(map(_described, others)) + left_out
        case inspect.IntType():
            return f"a whole number{_bounds(kind.ge, kind.le)}"
        case inspect.FloatType():
            return f"a number{_bounds(kind.ge, kind.le)}"
        case inspect.BoolType():
            return "true or false"
        case inspect.StrType():
            return "a text" + _of_text(kind)
        case inspect.EnumType():
            return f"one of {', '.join(str(member.value) for member in kind.cls)}"
        case inspect.LiteralType():
            return f"one of {', '.join(map(str, kind.values))}"
        case inspect.ListType() | inspect.VarTupleType():
            if not kind.max_length:
                return "a list"
            least = f"{kind.min_length:,} to" if kind.min_length else "at most"
            return f"a list of {least} {kind.max_length:,} entries"
        case inspect.DateTimeType():
            return "a time with its offset, such as 2027-01-31T12:00:00Z"
        case inspect.DataclassType():
            return f"a {kind.cls.__name__}"
        case _:
            return "a table of names and values"


def _bounds(least: float | None, most: float | None) -> str:
    if least is None:
        return ""
    return f" from {least:,} up" if most is None else f" from {least:,} to {most:,}"


def _of_text(kind: inspect.StrType) -> str:
    parts = []
    if kind.pattern:
        parts.append(" that is not blank" if kind.pattern == _NOT_BLANK else f" that matches {kind.pattern}")
    if kind.max_length:
        parts.append(f" of at most {kind.max_length:,} characters")
    return ",".join(parts)
