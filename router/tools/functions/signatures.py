"""A Python function → a tool's definition: name, description, and the JSON Schema of its parameters."""

import functools
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import Parameter
from typing import Any

from router.errors import RecordRejected
from router.record import Origin
from router.tools.functions.annotations import description_of, hints_of
from router.tools.functions.docstrings import ParsedDocstring, parse_docstring
from router.tools.functions.schemas import Schema, SchemaMaker

Function = Callable[..., Any]

# Parameters that an agent framework fills in and no model does, by name or by the name of their type.
_CONTEXT_NAMES = frozenset({"ctx"})
_CONTEXT_TYPES = frozenset({"Context", "RunContext", "RunContextWrapper", "ToolContext", "ToolRuntime"})
VARIADIC = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
_NOWHERE = Origin("tools", "")


@dataclass(frozen=True, slots=True)
class FunctionTool:
    """A function as a tool. `notes` say which parameters take any value, and where there are none but `**kwargs`."""

    definition: Mapping[str, Any]
    notes: tuple[str, ...] = ()


def function_tool(function: Function) -> FunctionTool:
    """Return the tool that a function is, by its signature, annotations and docstring.

    Raises RecordRejected for a function without a name, or whose signature Python cannot read.
    """
    name = _name(function)
    docs = _docs(function)
    maker = SchemaMaker()
    properties: dict[str, Schema] = {}
    required: list[str] = []
    notes: list[str] = []
    hints = hints_of(annotated_object(function))
    for parameter in model_parameters(function, hints):
        schema = _schema(parameter, hints, docs, maker)
        notes += [f"{parameter.name}: JSON has no form for {unknown}, any value is taken" for unknown in maker.unknown]
        maker.unknown.clear()
        properties[parameter.name] = schema
        if default_of(parameter) is Parameter.empty:
            required.append(parameter.name)
    if not properties and (kinds := [p for p in signature_of(function).parameters.values() if p.kind in VARIADIC]):
        listed = ", ".join(map(str, (p.replace(annotation=Parameter.empty) for p in kinds)))
        notes.append(f"it takes {listed} and no named parameter, so a model can give it nothing")
    definition = {
        "name": name,
        "description": docs.description,
        "parameters": {
            "type": "object",
            "properties": properties,
            **({"required": required} if required else {}),
            **({"$defs": maker.definitions} if maker.definitions else {}),
        },
    }
    return FunctionTool(definition, tuple(notes))


def model_parameters(function: Function, hints: Mapping[str, Any] | None = None) -> list[Parameter]:
    """Return the parameters that a model gives: not `self`, a context, `*args`, `**kwargs`, or what a partial has."""
    if hints is None:
        hints = hints_of(annotated_object(function))
    bound = bound_keywords(function)
    return [
        parameter
        for place, parameter in enumerate(signature_of(function).parameters.values())
        if parameter.kind not in VARIADIC
        and parameter.name not in bound
        and not (place == 0 and parameter.name in ("self", "cls"))
        and not _is_context(parameter, hints.get(parameter.name, parameter.annotation))
    ]


def bound_keywords(function: Function) -> frozenset[str]:
    """Return the names of the keyword arguments that a partial has."""
    return frozenset(function.keywords) if isinstance(function, functools.partial) else frozenset()


def signature_of(function: Function) -> inspect.Signature:
    """Return a function's signature. Raises RecordRejected where Python cannot read it."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        raise RecordRejected(_NOWHERE, f"{function!r:.80} has no signature that Python can read") from None


def _name(function: Function) -> str:
    named: Any = function
    while isinstance(named, functools.partial) and not hasattr(named, "__name__"):
        named = named.func
    name = getattr(named, "__name__", None) or type(named).__name__
    if name == "<lambda>":
        raise RecordRejected(_NOWHERE, "a lambda has no name: write it as a function, with `def`")
    return str(name)


def annotated_object(function: Function) -> Any:
    """Return what carries a function's annotations: the function within a partial, a method, an object."""
    found: Any = function
    while isinstance(found, functools.partial):
        found = found.func
    if inspect.isclass(found):
        # A class with fields has its annotations itself, another in __init__.
        return found if "__annotations__" in vars(found) else found.__init__
    if not inspect.isroutine(found) and callable(found):
        found = type(found).__call__
    return inspect.unwrap(found)


def _docs(function: Function) -> ParsedDocstring:
    found: Any = function
    while isinstance(found, functools.partial) and "__doc__" not in vars(found):
        found = found.func
    if inspect.isclass(found) and (found.__doc__ or "").startswith(f"{found.__name__}("):
        return ParsedDocstring()  # made up by dataclass
    docs = parse_docstring(inspect.getdoc(found))
    if inspect.isroutine(found) or inspect.isclass(found):
        return docs
    called = parse_docstring(inspect.getdoc(type(found).__call__))  # an object: its class says what it is
    return ParsedDocstring(
        docs.description or called.description, {**docs.parameters, **called.parameters}, called.types
    )


def _schema(parameter: Parameter, hints: Mapping[str, Any], docs: ParsedDocstring, maker: SchemaMaker) -> Schema:
    hint = hints.get(parameter.name, parameter.annotation)
    default = default_of(parameter)
    if hint is not Parameter.empty:
        schema = maker.of(hint)
    elif kind := docs.types.get(parameter.name):
        schema = {"type": kind}
    else:
        schema = maker.of(type(default)) if type(default) in (str, bool, int, float) else {}
    if default is None:
        schema = _without_null(schema)
    elif type(default) in (str, bool, int) or (type(default) is float and math.isfinite(default)):
        schema = {**schema, "default": default}
    said = description_of([parameter.default]) if not isinstance(parameter.default, str) else ""
    text = schema.get("description") or said or docs.parameters.get(parameter.name, "")
    return {**schema, "description": text} if text else schema


def default_of(parameter: Parameter, *, make: bool = False) -> Any:
    """Return a parameter's default; of pydantic's `Field(…)` in its place, the default that it names.

    Where that names a `default_factory`, it is called if `make` says so: it may give another value each time.
    """
    default = parameter.default
    if type(default).__name__ != "FieldInfo":
        return default
    if default.is_required():
        return Parameter.empty
    if default.default_factory is not None:
        return default.get_default(call_default_factory=True) if make else default
    return default.default


def _without_null(schema: Schema) -> Schema:
    """Return a schema of what may be left out without its null: a model then leaves it out."""
    options = [option for option in schema.get("anyOf", ()) if option != {"type": "null"}]
    if not options or len(options) == len(schema["anyOf"]):
        return schema
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    return {**(options[0] if len(options) == 1 else {"anyOf": options}), **rest}


def _is_context(parameter: Parameter, hint: Any) -> bool:
    if parameter.name in _CONTEXT_NAMES:
        return True
    named = getattr(hint, "__origin__", hint)  # RunContextWrapper[…]
    return (named if isinstance(named, str) else getattr(named, "__name__", "")).split("[")[0] in _CONTEXT_TYPES
