"""The parts of a docstring."""

import inspect
import re


def attributes(kind: type) -> dict[str, str]:
    """Return what the section `Attributes:` of a class's docstring says of each field."""
    _, _, section = inspect.cleandoc(kind.__doc__ or "").partition("Attributes:\n")
    found = re.findall(r"^ {4}(\w+): (.+(?:\n {8}.+)*)", section, re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in found}


def prose(kind: type) -> str:
    """Return a class's docstring without its sections."""
    return inspect.cleandoc(kind.__doc__ or "").partition("\n\nAttributes:")[0]
