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
class Docs:
    """The parts of a docstring. `parameters` and `types` (of JSON Schema) are by the parameter's name."""

    description: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)


def read_docstring(text: str | None) -> Docs:
    """Return what a docstring says; of one that no style explains, the whole text is the description."""
    if not text or not text.strip():
        return Docs()
    from docstring_parser import ParseError, parse  # here: a router over a snapshot reads no docstring

    text = inspect.cleandoc(text)
    try:
        parsed = parse(f"\n{text}")  # it takes margins away, beginning with the second line
    except ParseError:
        return Docs(text.strip())
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
    return Docs(description.strip(), parameters, types)
