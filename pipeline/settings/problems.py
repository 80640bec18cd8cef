"""Says what is wrong with settings, one sentence each: the field as the user wrote it, its value, what is allowed."""

import json
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from router.validation import describe_requirement

Place = tuple[int | str, ...]
# Their values may be secrets, or hold some: they are never shown.
_SECRET = frozenset(("api_key", "base_url", "command", "env", "headers", "oauth", "parameters", "sign_key", "url"))
_LONGEST = 60
_SET_BY_THE_PROGRAM = "folder"


def problems(error: ValidationError, model: type[BaseModel], written: Mapping[Place, str]) -> list[str]:
    """Return a sentence for each wrong field of a catalog's settings.

    `written` says how a field was given where that was not in catalog.toml: a variable, an argument.
    """
    errors: Sequence[Any] = error.errors(include_url=False)
    sentences = []
    for wrong in errors:
        place = tuple(part for part in wrong["loc"] if not str(part).startswith("["))
        # A list whose items are wrong is counted as too short as well, which says nothing new.
        inner = any(len(e["loc"]) > len(wrong["loc"]) and e["loc"][: len(wrong["loc"])] == wrong["loc"] for e in errors)
        if not (wrong["type"] == "too_short" and inner):
            sentences.append(_sentence(wrong, place, model, written))
    return list(dict.fromkeys(sentences))


def _meant(key: str, known: Sequence[str], elsewhere: Sequence[str]) -> str:
    """Say that a setting is unknown, with the known one that was probably meant, else with all of them."""
    near = get_close_matches(key.lower(), known, 1) or list(elsewhere[:1])
    meant = f'did you mean "{near[0]}"?' if near else f"choose from {', '.join(known)}"
    return f"unknown setting {quoted(key)}, {meant}"


def quoted(text: str) -> str:
    """Return a text in quotation marks, bounded, without control characters."""
    return json.dumps(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…", ensure_ascii=not text.isprintable())


def _sentence(wrong: Mapping[str, Any], place: Place, model: type[BaseModel], written: Mapping[Place, str]) -> str:
    if wrong["type"] == "extra_forbidden":
        return _unknown(place, model, written)
    named = _named(place, written)
    if place == ("source",) and wrong["type"] in ("missing", "too_short", "tuple_type"):
        what = "must be a list" if wrong["type"] == "tuple_type" else "is missing"
        return f"{named} {what}: write one [[source]] for each file, command or URL"
    if place == ("sources",) and isinstance(wrong["input"], list):
        return f"{named} must be a table, [sources]; each source by itself is written as [[source]]"
    required = describe_requirement(wrong["type"], wrong.get("ctx"))
    if wrong["type"] == "value_error" and len(place) == 1:  # fields of a section that do not go together
        variables = [how for given, how in written.items() if given[0] == place[0] and len(given) > 1]
        named = f"{named} (with {', '.join(variables)})" if variables else named
    if wrong["type"] in ("value_error", "assertion_error", "missing", "invalid_key"):
        return f"{named} {required}" if wrong["type"] in ("missing", "invalid_key") else f"{named}: {required}"
    value = None if _SECRET & set(map(str, place)) else _shown(wrong["input"])
    return f"{named} is {value}: it {required}" if value else f"{named} {required}"


def _unknown(place: Place, model: type[BaseModel], written: Mapping[Place, str]) -> str:
    *parents, key = place
    known = [name for name in _model_at(parents, model).model_fields if name != _SET_BY_THE_PROGRAM]
    elsewhere = [".".join(path) for path in _paths(model) if path[-1] == key]
    message = _meant(str(key), known, elsewhere)
    if place in written:
        return f"{written[place]}: {message}"
    return f"{_named(tuple(parents), written)}: {message}" if parents else message


def _named(place: Place, written: Mapping[Place, str]) -> str:
    """Name a field as the user wrote it: `publish.keep`, `source 1: path`, a variable or an argument with the field."""
    if place[:1] == ("source",) and len(place) > 1 and isinstance(place[1], int):
        field = _dotted(place[2:])
        return f"source {place[1] + 1}" + (f": {field}" if field else "")
    field = _dotted(place) or "catalog"
    return f"{written[place[:2]]} ({field})" if place[:2] in written else field


def _dotted(place: Place) -> str:
    """Join a place's parts; a name that a person chose is quoted where it holds a control character or is long."""
    names = map(str, place)
    return ".".join(name if name.isprintable() and len(name) <= _LONGEST else quoted(name) for name in names)


def _shown(value: object) -> str | None:
    """Return a value as TOML would have it; None for what is too long, or has no short form."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value) if abs(value) < 10**_LONGEST or isinstance(value, float) else None
    if isinstance(value, str):
        return quoted(value)
    return "a list" if isinstance(value, list | tuple) else "a table" if isinstance(value, Mapping) else None


def _model_at(place: Sequence[int | str], model: type[BaseModel]) -> type[BaseModel]:
    """Return the model of the table at a place: lists and tables of tables are passed through."""
    for part in place:
        field = model.model_fields.get(str(part))
        if field is not None:
            model = _model_of(field.annotation) or model
    return model


def _model_of(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and not get_args(annotation):
        return annotation if issubclass(annotation, BaseModel) else None
    return next((model for part in get_args(annotation) if (model := _model_of(part))), None)


def _paths(model: type[BaseModel], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield every setting by its full path, but those of a source."""
    for name, field in model.model_fields.items():
        inner = _model_of(field.annotation)
        if inner is None:
            yield (*above, name)
        elif name != "source":
            yield from _paths(inner, (*above, name))
