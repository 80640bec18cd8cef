"""Parses docstrings (Google, NumPy, Sphinx and Epydoc style) into a description and texts of parameters."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field

# Types in docstrings, for parameters without an annotation.
_TYPES = {
    "str": "string",
    "string": "string",
    "int": "integer",
    "integer": "integer",
    "float": "number",
    "number": "number",
    "bool": "boolean",
    "boolean": "boolean",
    "list": "array",
    "dict": "object",
}


@dataclass(frozen=True, slots=True)
class ParsedDocstring:
    """The parts of a docstring: the description, and by parameter name the descriptions and JSON Schema types."""

    description: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)


def parse_docstring(text: str | None) -> ParsedDocstring:
    """Return the parts of a docstring; if it follows no style, the whole text is the description."""
    if not text or not text.strip():
        return ParsedDocstring()
    from docstring_parser import ParseError, parse  # here: a router over a snapshot does not need it

    text = inspect.cleandoc(text)
    try:
        parsed = parse(f"\n{text}")  # it dedents from the second line on
    except ParseError:
        return ParsedDocstring(text.strip())
    parameters: dict[str, str] = {}
    types: dict[str, str] = {}
    for parameter in parsed.params:
        # NumPy's style describes several parameters at once: "x, y : int".
        for name in parameter.arg_name.split(","):
            name = name.strip().lstrip("*")
            if parameter.description:
                parameters[name] = " ".join(parameter.description.split())
            if kind := _TYPES.get((parameter.type_name or "").partition("[")[0].strip().lower()):
                types[name] = kind
    # A docstring that describes only the return value serves as the description.
    description = parsed.description or ("" if parsed.params else text)
    return ParsedDocstring(description.strip(), parameters, types)
