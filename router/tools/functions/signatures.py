"""Python functions as tools: described by name, docstring and signature, and given a model's arguments."""

import functools
import inspect
import math
from collections.abc import Callable, Mapping
from inspect import Parameter
from typing import Annotated, Any, Unpack, get_args, get_origin

from router.errors import RecordRejected, RequestInvalid
from router.record import Origin
from router.tools.definitions.json_values import replace_unstorable
from router.tools.definitions.raw_tool import RawTool
from router.tools.definitions.rows import output_rows
from router.tools.functions.annotations import fields_of, hints_of
from router.tools.functions.schemas import ParsedDocstring, Schema, SchemaMaker, parse_docstring
from router.tools.functions.values import fit

Function = Callable[..., Any]

# Parameters that an agent framework fills in, by name or by the name of their type.
_CONTEXT_NAMES = frozenset({"ctx", "_ctx"})
_OWNERS = ("self", "cls")  # of a method that is not bound
_CONTEXT_TYPES = frozenset(
    {"Context", "InjectedToolArg", "RunContext", "RunContextWrapper", "RunnableConfig", "ToolContext", "ToolRuntime"}
)
_VARIADIC = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
_NOWHERE = Origin("tools", "")


def function_tool(function: Function, provider: str | None = None) -> RawTool:
    """Describe a function as a tool, by its signature, annotations and docstring.

    The notices name parameters that take any value, and functions with only `**kwargs`. Raises RecordRejected for a
    function without a name or with a signature that Python cannot read.
    """
    named, within = _within(function, "__name__"), _within(function)
    name = str(getattr(named, "__name__", None) or type(named).__name__)
    if name == "<lambda>":
        raise RecordRejected(_NOWHERE, "a lambda has no name: write it as a function, with `def`")
    docs = _docstring(function)
    hints = hints_of(_annotated_object(function))
    signature = _signature_of(function)
    maker = SchemaMaker()
    properties: dict[str, Schema] = {}
    notices: list[str] = []
    given = _given_by_model(function, signature, hints)
    for parameter in given:
        properties[parameter.name] = _schema(parameter, hints, docs, maker)
        notices += [f"{parameter.name}: JSON has no form for {name}, any value is taken" for name in maker.unknown]
        maker.unknown.clear()
    required = [parameter.name for parameter in given if _default_of(parameter) is Parameter.empty]
    if not given and (kinds := [p for p in signature.parameters.values() if p.kind in _VARIADIC]):
        listed = ", ".join(str(p.replace(annotation=Parameter.empty)) for p in kinds)
        notices.append(f"it takes {listed} and no named parameter, so a model can give it nothing")
    result = SchemaMaker()
    returned = result.of(hints.get("return"))
    return RawTool(
        name=replace_unstorable(name),
        origin=Origin(getattr(within, "__module__", None) or "", getattr(within, "__qualname__", name)),
        provider=provider and replace_unstorable(provider),
        description=replace_unstorable(docs.description),
        input_schema=replace_unstorable(
            {
                "type": "object",
                "properties": properties,
                **({"required": required} if required else {}),
                **({"$defs": maker.definitions} if maker.definitions else {}),
            }
        ),
        outputs=output_rows(replace_unstorable({**returned, "$defs": result.definitions})),
        notices=tuple(notices),
    )


def _given_by_model(function: Function, signature: inspect.Signature, hints: Mapping[str, Any]) -> list[Parameter]:
    """Return the parameters that a model gives.

    No `self`, contexts, `*args`, `**kwargs` and keywords of a partial; for `**kwargs: Unpack[…]` its fields.
    """
    bound = _bound_keywords(function)
    given = [
        parameter
        for place, parameter in enumerate(signature.parameters.values())
        if parameter.kind not in _VARIADIC
        and parameter.name not in bound
        and not (place == 0 and parameter.name in _OWNERS)
        and parameter.name not in _CONTEXT_NAMES
        and not _is_context(hints.get(parameter.name, parameter.annotation))
    ]
    for parameter in signature.parameters.values():
        if parameter.kind is Parameter.VAR_KEYWORD and get_origin(hint := hints.get(parameter.name)) is Unpack:
            fields, required = fields_of(get_args(hint)[0]) or ({}, [])
            default = {name: Parameter.empty if name in required else ... for name in fields}
            given += [Parameter(n, Parameter.KEYWORD_ONLY, default=default[n], annotation=h) for n, h in fields.items()]
    return given


def _hint_of(parameter: Parameter, hints: Mapping[str, Any]) -> Any:
    """Return a parameter's annotation, with a pydantic `Field(…)` that is its default."""
    hint = hints.get(parameter.name, parameter.annotation)
    is_field = type(parameter.default).__name__ == "FieldInfo" and not isinstance(hint, str)
    return Annotated[Any if hint is Parameter.empty else hint, parameter.default] if is_field else hint


def _bound_keywords(function: Function) -> set[str]:
    return {*function.keywords} if isinstance(function, functools.partial) else set()


def _signature_of(function: Function) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        raise RecordRejected(_NOWHERE, f"{function!r:.80} has no signature that Python can read") from None


def _within(function: Function, attribute: str = "") -> Any:
    """Return the function in a partial, or the partial where it has an attribute of its own; any other as it is."""
    while isinstance(function, functools.partial) and attribute not in vars(function):
        function = function.func
    return function


def _annotated_object(function: Function) -> Any:
    """Return the object with a function's annotations: the function in a partial, a class or its method, a callable."""
    target = _within(function)
    if inspect.isclass(target):
        # A class with fields has the annotations itself, any other in __init__.
        return target if "__annotations__" in vars(target) else target.__init__
    return inspect.unwrap(target if inspect.isroutine(target) else type(target).__call__)


def _docstring(function: Function) -> ParsedDocstring:
    target = _within(function, "__doc__")
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
    hint = _hint_of(parameter, hints)
    default = _default_of(parameter)
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
    text = schema.get("description") or docs.parameters.get(parameter.name, "")
    return {**schema, "description": text} if text else schema


def _default_of(parameter: Parameter, *, make: bool = False) -> Any:
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
    if not options:
        return schema
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    return {**(options[0] if len(options) == 1 else {"anyOf": options}), **rest}


def _is_context(hint: Any) -> bool:
    """Return whether a parameter's type, or a mark in an `Annotated`, is one that a framework fills in."""
    if isinstance(hint, str):
        return hint.split("[")[0] in _CONTEXT_TYPES
    marks = [mark if isinstance(mark, type) else type(mark) for mark in getattr(hint, "__metadata__", ())]
    kinds = [getattr(hint, "__origin__", hint), *(kind for mark in marks for kind in mark.__mro__)]
    return any(getattr(kind, "__name__", "") in _CONTEXT_TYPES for kind in kinds)


def _from_context(context: Any, hint: Any) -> Any:
    """Return what a parameter gets of a run's context: LangChain's ToolRuntime has the RunnableConfig in it."""
    name = hint if isinstance(hint, str) else getattr(hint, "__name__", "")
    return getattr(context, "config", context) if name == "RunnableConfig" else context


def bind(
    function: Function, tool_id: str, arguments: Mapping[str, Any], context: object = None
) -> tuple[list[Any], dict[str, Any]]:
    """Return positional and keyword arguments; those that a framework would fill in are the `context`.

    Raises RequestInvalid where they do not fit the function.
    """
    signature = _signature_of(function)
    parameters = signature.parameters.values()
    hints = hints_of(_annotated_object(function))
    expected = {parameter.name: parameter for parameter in _given_by_model(function, signature, hints)}
    # A model may not give what a framework or a partial fills in, even where `**kwargs` would take it.
    filled_in = ({p.name for p in parameters if p.kind not in _VARIADIC} | _bound_keywords(function)) - expected.keys()
    others = [hints.get(p.name, Any) for p in parameters if p.kind is Parameter.VAR_KEYWORD]
    takes_any = bool(others) and get_origin(others[0]) is not Unpack
    if unknown := [name for name in arguments if name not in expected and (name in filled_in or not takes_any)]:
        known = ", ".join(expected) or "none"
        raise RequestInvalid(f"{tool_id}: there is no parameter {unknown[0]!r}: there are {known}")
    contexts = [p for p in parameters if p.name in filled_in - _bound_keywords(function)]
    for parameter in contexts:
        if parameter.default is Parameter.empty and (context is None or parameter.name in _OWNERS):
            raise RequestInvalid(
                f"{tool_id}: its parameter {parameter.name!r} is not an argument of the model's: give it as `context`"
            )
    try:
        keywords = {
            name: fit(value, _hint_of(expected[name], hints) if name in expected else others[0], f"{tool_id}: {name}")
            for name, value in arguments.items()
        }
    except RecursionError:
        raise RequestInvalid(f"{tool_id}: its arguments are nested too deeply") from None
    for name, parameter in expected.items():
        if name in keywords:
            continue
        if (default := _default_of(parameter, make=True)) is Parameter.empty:
            raise RequestInvalid(f"{tool_id}: the argument {name!r} is missing")
        if default is not parameter.default:  # Python would pass the pydantic Field itself
            keywords[name] = default
    if context is not None:
        keywords |= {p.name: _from_context(context, hints.get(p.name, p.annotation)) for p in contexts}
    positional = [p for p in parameters if p.kind is Parameter.POSITIONAL_ONLY]
    while positional and positional[-1].name not in keywords:
        positional.pop()
    return [keywords.pop(p.name, p.default) for p in positional], keywords
