"""Docstrings → a description, and what is said of each parameter: Google, NumPy, Sphinx and Epydoc style."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field

# Types that people write into docstrings where a parameter has no annotation.
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
    """The parts of a docstring. `parameters` and `types` (of JSON Schema) are by the parameter's name."""

    description: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)


def parse_docstring(text: str | None) -> ParsedDocstring:
    """Return what a docstring says; of one that no style explains, the whole text is the description."""
    if not text or not text.strip():
        return ParsedDocstring()
    from docstring_parser import ParseError, parse  # here: a router over a snapshot reads no docstring

    text = inspect.cleandoc(text)
    try:
        parsed = parse(f"\n{text}")  # it takes margins away, beginning with the second line
    except ParseError:
        return ParsedDocstring(text.strip())
    parameters: dict[str, str] = {}
    types: dict[str, str] = {}
    for parameter in parsed.params:
        # NumPy's style describes several at once: "x, y : int".
        for name in parameter.arg_name.split(","):
            name = name.strip().lstrip("*")
            if parameter.description:
                parameters[name] = " ".join(parameter.description.split())
            if kind := _TYPES.get((parameter.type_name or "").partition("[")[0].strip().lower()):
                types[name] = kind
    # One that tells of the answer alone is a description all the same.
    description = parsed.description or ("" if parsed.params else text)
    return ParsedDocstring(description.strip(), parameters, types)
