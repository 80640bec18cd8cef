"""The Python functions behind tools: looked up by tool id, and called with the arguments that a model gave."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from inspect import Parameter
from os import PathLike
from typing import Any

import msgspec

from router.errors import RecordRejected, RequestInvalid
from router.tools.functions.annotations import hints_of
from router.tools.functions.signatures import (
    VARIADIC,
    Function,
    annotated_object,
    bound_keywords,
    default_of,
    model_parameters,
    signature_of,
)

Serves = Callable[[str], bool]


class Functions(Mapping[str, Function]):
    """The functions of a router's tools, by tool id; of those tools alone that the router serves now."""

    def __init__(self, serves: Serves) -> None:
        self._serves = serves
        self._functions: dict[str, Function] = {}

    def put(self, tool_ids: Iterable[str], functions: Mapping[str, Function]) -> None:
        """Give each of these tools its function, or none: what was given last holds."""
        for tool_id in tool_ids:
            if (function := functions.get(tool_id)) is not None:
                self._functions[tool_id] = function
            else:
                self._functions.pop(tool_id, None)

    def __getitem__(self, tool_id: str) -> Function:
        function = self._functions[tool_id]
        if not self._serves(tool_id):
            raise KeyError(tool_id)
        return function

    def __iter__(self) -> Iterator[str]:
        return (tool_id for tool_id in list(self._functions) if self._serves(tool_id))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"Functions({', '.join(self)})"

    def call(self, tool_id: str, arguments: Mapping[str, Any]) -> Any:
        """Call a tool's function and return what it returns: of an async function, its coroutine.

        Arguments are as JSON has them. Each is made what its parameter's annotation says (an Enum, a dataclass, a date,
        a pydantic model), where msgspec or the model can. Raises RequestInvalid where no function is behind the tool,
        or the arguments do not fit it; what the function raises is its own.
        """
        try:
            function = self[tool_id]
        except KeyError:
            raise RequestInvalid(f"no function is behind {tool_id!r}: there are {', '.join(self) or 'none'}") from None
        values, named = _bound(function, tool_id, arguments)
        return function(*values, **named)


def _bound(function: Function, tool_id: str, arguments: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments, by place and by name. Raises RequestInvalid where they do not fit the function."""
    if not isinstance(arguments, Mapping):
        kind = "None" if arguments is None else type(arguments).__name__
        raise RequestInvalid(f"{tool_id}: the arguments are {kind}, not a dict: `json.loads` makes one of a text")
    try:
        parameters = signature_of(function).parameters.values()
    except RecordRejected as rejected:
        raise RequestInvalid(f"{tool_id}: {rejected.reason}") from None
    hints = hints_of(annotated_object(function))
    asked = {parameter.name: parameter for parameter in model_parameters(function, hints)}
    # What a framework or a partial fills in is not the model's to give, also where `**kwargs` would take it.
    filled = ({p.name for p in parameters if p.kind not in VARIADIC} | bound_keywords(function)) - asked.keys()
    takes_any = any(p.kind is Parameter.VAR_KEYWORD for p in parameters)
    if unknown := [name for name in arguments if name not in asked and (name in filled or not takes_any)]:
        raise RequestInvalid(f"{tool_id}: there is no parameter {unknown[0]!r}: there are {', '.join(asked) or 'none'}")
    for parameter in parameters:
        if parameter.name in filled and parameter.default is Parameter.empty:
            raise RequestInvalid(
                f"{tool_id}: its parameter {parameter.name!r} is not an argument of the model's: call "
                f"router.functions[{tool_id!r}] with it"
            )
    named = {
        name: _converted(value, hints.get(name), f"{tool_id}: {name}") if name in asked else value
        for name, value in arguments.items()
    }
    for name, parameter in asked.items():
        if name in named:
            continue
        if (default := default_of(parameter, make=True)) is Parameter.empty:
            raise RequestInvalid(f"{tool_id}: the argument {name!r} is missing")
        if default is not parameter.default:  # Python would give the function a pydantic Field
            named[name] = default
    by_place = [p for p in parameters if p.kind is Parameter.POSITIONAL_ONLY]
    while by_place and by_place[-1].name not in named:
        by_place.pop()
    return [named.pop(p.name, p.default) for p in by_place], named


def _converted(value: Any, hint: Any, where: str) -> Any:
    if hint is None:
        return value
    try:
        return msgspec.convert(value, hint, strict=False, dec_hook=_other_types)
    except msgspec.ValidationError as error:
        raise RequestInvalid(f"{where} is {value!r:.80}: {error}") from None
    except (TypeError, NotImplementedError):  # of a type that JSON has no form for: the function has what was given
        return value


def _other_types(kind: type, value: Any) -> Any:
    """Convert what msgspec does not know: pydantic's models, paths."""
    if hasattr(kind, "model_validate"):
        try:
            return kind.model_validate(value)
        except ValueError as error:
            raise ValueError(_said(error)) from None
    if isinstance(kind, type) and issubclass(kind, PathLike):
        return kind(value)  # type: ignore[call-arg]
    raise NotImplementedError


def _said(error: ValueError) -> str:
    """Return what is wrong, in one line: pydantic's own text has several, and links."""
    listed = getattr(error, "errors", None)
    if listed is None:
        return str(error)
    return "; ".join(": ".join(filter(None, (".".join(map(str, one["loc"])), one["msg"]))) for one in listed())
