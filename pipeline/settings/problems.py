"""Say what is wrong with settings, one sentence each: the field as the user wrote it, its value, what is allowed."""

import json
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from quartermaster.validation import describe_requirement

Place = tuple[int | str, ...]
# Their values may be secrets, or hold some: they are never shown.
_SECRET = frozenset(("api_key", "base_url", "command", "env", "headers", "oauth", "parameters", "sign_key", "url"))
_LONGEST = 60


def problems(error: ValidationError, model: type[BaseModel], written: Mapping[Place, str]) -> list[str]:
    """Return a sentence for each wrong field of a catalog's settings.

    `written` says how a field was given where that was not in catalog.toml: a variable, an argument.
    """
    return list(dict.fromkeys(_sentence(wrong, model, written) for wrong in error.errors(include_url=False)))


def _sentence(wrong: Any, model: type[BaseModel], written: Mapping[Place, str]) -> str:
    place = tuple(part for part in wrong["loc"] if not str(part).startswith("["))  # pydantic's own `[key]`
    name, kind = _named(place, written), wrong["type"]
    if kind == "extra_forbidden":
        known = [field for field in _model_at(place[:-1], model).model_fields if field != "folder"]
        return f"{name}: unknown setting, {suggestion(str(place[-1]), known)}"
    required = describe_requirement(kind, wrong.get("ctx"))
    if kind in ("value_error", "assertion_error"):  # a sentence of our own
        if given := [how for field, how in written.items() if len(place) == 1 and field[0] == place[0]]:
            name = f"{name} (with {', '.join(given)})"  # fields of a section that do not go together
        return f"{name}: {required}"
    value = None if _SECRET & set(map(str, place)) or kind in ("missing", "invalid_key") else _shown(wrong["input"])
    return f"{name} is {value}: it {required}" if value else f"{name} {required}"


def suggestion(name: str, known: Sequence[str]) -> str:
    """Return the known name that was most likely meant as a question, else all of them."""
    near = get_close_matches(name.lower(), known, 1)
    return f'did you mean "{near[0]}"?' if near else f"choose from {', '.join(known)}"


def _named(place: Place, written: Mapping[Place, str]) -> str:
    """Name a field as the user wrote it: `publish.keep`, `source 1: path`, a variable or an argument with the field."""
    if place[:1] == ("source",) and len(place) > 1 and isinstance(place[1], int):
        return ": ".join(filter(None, (f"source {place[1] + 1}", _dotted(place[2:]))))
    name = _dotted(place) or "catalog"
    return f"{written[place[:2]]} ({name})" if place[:2] in written else name


def _dotted(place: Place) -> str:
    """Join a place's parts; a name that a person chose is quoted where it holds a control character or is long."""
    names = map(str, place)
    return ".".join(name if name.isprintable() and len(name) <= _LONGEST else _quoted(name) for name in names)


def _quoted(text: str) -> str:
    return json.dumps(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…", ensure_ascii=not text.isprintable())


def _shown(value: object) -> str | None:
    """Return a value as TOML would have it; None for what is too long, or has no short form."""
    if isinstance(value, str | bool):
        return _quoted(value) if isinstance(value, str) else str(value).lower()
    if isinstance(value, float) or (isinstance(value, int) and abs(value) < 10**_LONGEST):
        return str(value)
    return "a list" if isinstance(value, list | tuple) else "a table" if isinstance(value, Mapping) else None


def _model_at(place: Place, model: type[BaseModel]) -> type[BaseModel]:
    """Return the model of the table at a place: lists and tables of tables are passed through."""
    for part in place:
        if (field := model.model_fields.get(str(part))) is not None:
            model = _model_of(field.annotation) or model
    return model


def _model_of(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and not get_args(annotation):
        return annotation if issubclass(annotation, BaseModel) else None
    return next((model for part in get_args(annotation) if (model := _model_of(part))), None)
