"""Describes a Python function as a tool's definition: name, description, and the JSON Schema of its parameters."""

import functools
import inspect
import math
from collections.abc import Callable, Mapping
from inspect import Parameter
from typing import Any

from router import record
from router.errors import RecordRejected
from router.record import Origin
from router.tools.definitions.json_values import replace_unstorable
from router.tools.definitions.raw_tool import RawTool
from router.tools.definitions.rows import output_rows
from router.tools.functions.schemas import (
    ParsedDocstring,
    Schema,
    SchemaMaker,
    description_of,
    hints_of,
    parse_docstring,
)

Function = Callable[..., Any]

# Parameters that an agent framework fills in, by name or by the name of their type.
_CONTEXT_NAMES = frozenset({"ctx"})
_CONTEXT_TYPES = frozenset({"Context", "RunContext", "RunContextWrapper", "ToolContext", "ToolRuntime"})
VARIADIC = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
_NOWHERE = Origin("tools", "")


def function_tool(function: Function) -> tuple[RawTool, tuple[str, ...]]:
    """Describe a function as a tool, by its signature, annotations and docstring, with notes for the user.

    The notes name parameters that take any value, and functions with only `**kwargs`.

    Raises RecordRejected for a function without a name or with a signature that Python cannot read.
    """
    name = _name(function)
    docs = _docstring(function)
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
    schema = {
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
        **({"$defs": maker.definitions} if maker.definitions else {}),
    }
    within = _within(function)
    described = RawTool(
        name=replace_unstorable(name),
        origin=Origin(getattr(within, "__module__", None) or "", getattr(within, "__qualname__", name)),
        description=replace_unstorable(docs.description),
        input_schema=replace_unstorable(schema),
        outputs=_outputs(hints.get("return")),
    )
    return described, tuple(notes)


def _outputs(hint: Any) -> tuple[record.Parameter, ...]:
    """Return the rows of what the function returns; empty unless that has named fields."""
    if hint is None:
        return ()
    maker = SchemaMaker()
    schema = maker.of(hint)
    return output_rows(replace_unstorable({**schema, "$defs": maker.definitions} if maker.definitions else schema))


def model_parameters(function: Function, hints: Mapping[str, Any] | None = None) -> list[Parameter]:
    """Return the parameters that a model gives: without `self`, contexts, `*args`, `**kwargs` and a partial's keywords.

    `hints` are the function's annotations, resolved here where they are None.
    """
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
    """Return the names of a partial's keyword arguments; empty for another function."""
    return frozenset(function.keywords) if isinstance(function, functools.partial) else frozenset()


def signature_of(function: Function) -> inspect.Signature:
    """Return a function's signature. Raises RecordRejected where Python cannot read it."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        raise RecordRejected(_NOWHERE, f"{function!r:.80} has no signature that Python can read") from None


def _within(function: Function) -> Any:
    """Return the function in a partial; any other function itself."""
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _name(function: Function) -> str:
    named: Any = function
    while isinstance(named, functools.partial) and not hasattr(named, "__name__"):
        named = named.func
    name = getattr(named, "__name__", None) or type(named).__name__
    if name == "<lambda>":
        raise RecordRejected(_NOWHERE, "a lambda has no name: write it as a function, with `def`")
    return str(name)


def annotated_object(function: Function) -> Any:
    """Return the object with a function's annotations: the function in a partial, a class or its method, a callable."""
    target = _within(function)
    if inspect.isclass(target):
        # A class with fields has the annotations itself, any other in __init__.
        return target if "__annotations__" in vars(target) else target.__init__
    if not inspect.isroutine(target) and callable(target):
        target = type(target).__call__
    return inspect.unwrap(target)


def _docstring(function: Function) -> ParsedDocstring:
    target: Any = function
    while isinstance(target, functools.partial) and "__doc__" not in vars(target):
        target = target.func
    if inspect.isclass(target) and (target.__doc__ or "").startswith(f"{target.__name__}("):
        return ParsedDocstring()  # generated by dataclass
    docs = parse_docstring(inspect.getdoc(target))
    if inspect.isroutine(target) or inspect.isclass(target):
        return docs
    called = parse_docstring(inspect.getdoc(type(target).__call__))  # a callable object: `docs` are its class's
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
    field_text = description_of([parameter.default]) if not isinstance(parameter.default, str) else ""
    text = schema.get("description") or field_text or docs.parameters.get(parameter.name, "")
    return {**schema, "description": text} if text else schema


def default_of(parameter: Parameter, *, make: bool = False) -> Any:
    """Return a parameter's default; for a pydantic `Field(…)` as the default, the field's default.

    A field's `default_factory` is called only with `make`, as it may give another value each time; without, the field
    itself is returned.
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
    """Return an optional parameter's schema without null: a model then omits the parameter."""
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
