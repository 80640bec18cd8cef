"""The arguments of a model, as a Python function takes them."""

from collections.abc import Mapping
from inspect import Parameter
from os import PathLike
from typing import Any

import msgspec

from router.errors import RecordRejected, RequestInvalid
from router.tools.functions.schemas import hints_of
from router.tools.functions.signatures import (
    VARIADIC,
    Function,
    annotated_object,
    bound_keywords,
    default_of,
    model_parameters,
    signature_of,
)


def bind(function: Function, tool_id: str, arguments: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return positional and keyword arguments. Raises RequestInvalid where they do not fit the function."""
    if not isinstance(arguments, Mapping):
        kind = "None" if arguments is None else type(arguments).__name__
        raise RequestInvalid(f"{tool_id}: the arguments are {kind}, not a dict: `json.loads` makes one of a text")
    try:
        parameters = signature_of(function).parameters.values()
    except RecordRejected as rejected:
        raise RequestInvalid(f"{tool_id}: {rejected.reason}") from None
    hints = hints_of(annotated_object(function))
    expected = {parameter.name: parameter for parameter in model_parameters(function, hints)}
    # A model may not give what a framework or a partial fills in, even where `**kwargs` would take it.
    filled_in = ({p.name for p in parameters if p.kind not in VARIADIC} | bound_keywords(function)) - expected.keys()
    takes_any = any(p.kind is Parameter.VAR_KEYWORD for p in parameters)
    if unknown := [name for name in arguments if name not in expected and (name in filled_in or not takes_any)]:
        known = ", ".join(expected) or "none"
        raise RequestInvalid(f"{tool_id}: there is no parameter {unknown[0]!r}: there are {known}")
    for parameter in parameters:
        if parameter.name in filled_in and parameter.default is Parameter.empty:
            raise RequestInvalid(
                f"{tool_id}: its parameter {parameter.name!r} is not an argument of the model's: call "
                f"router.functions[{tool_id!r}] with it"
            )
    keywords = {
        name: _convert(value, hints.get(name), f"{tool_id}: {name}") if name in expected else value
        for name, value in arguments.items()
    }
    for name, parameter in expected.items():
        if name in keywords:
            continue
        if (default := default_of(parameter, make=True)) is Parameter.empty:
            raise RequestInvalid(f"{tool_id}: the argument {name!r} is missing")
        if default is not parameter.default:  # Python would pass the pydantic Field itself
            keywords[name] = default
    positional = [p for p in parameters if p.kind is Parameter.POSITIONAL_ONLY]
    while positional and positional[-1].name not in keywords:
        positional.pop()
    return [keywords.pop(p.name, p.default) for p in positional], keywords


def _convert(value: Any, hint: Any, where: str) -> Any:
    if hint is None:
        return value
    try:
        return msgspec.convert(value, hint, strict=False, dec_hook=_other_types)
    except msgspec.ValidationError as error:
        raise RequestInvalid(f"{where} is {value!r:.80}: {error}") from None
    except (TypeError, NotImplementedError):  # a type without a JSON form: pass the value unchanged
        return value


def _other_types(kind: type, value: Any) -> Any:
    """Convert a value to a type that msgspec does not know: a pydantic model or a path."""
    if hasattr(kind, "model_validate"):
        try:
            return kind.model_validate(value)
        except ValueError as error:
            raise ValueError(_one_line(error)) from None
    if isinstance(kind, type) and issubclass(kind, PathLike):
        return kind(value)  # type: ignore[call-arg]
    raise NotImplementedError


def _one_line(error: ValueError) -> str:
    """Return an error's message in one line: pydantic's own has several, and links."""
    errors = getattr(error, "errors", None)
    if errors is None:
        return str(error)
    return "; ".join(": ".join(filter(None, (".".join(map(str, each["loc"])), each["msg"]))) for each in errors())
