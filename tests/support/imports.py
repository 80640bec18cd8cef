"""The imports between the project's own modules, read from the files."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.support.places import ROOT

PACKAGES = ("quartermaster", "router", "pipeline", "flows")


@cache
def modules() -> dict[str, Path]:
    """Files of the packages by the full names of their modules."""
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
    }


@cache
def imported(path: Path) -> frozenset[str]:
    """Full names of what a file imports, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return frozenset(names)


def imports() -> Iterator[tuple[str, str]]:
    """Pairs of modules of the project, the first of which imports the second."""
    for module, path in modules().items():
        for name in imported(path):
            other = name if name in modules() else name.rpartition(".")[0]
            if other in modules() and other != module:
                yield module, other


def room(module: str) -> str:
    """The room of a module: its package and the second part of its name, `__init__` for a package's own file."""
    return ".".join([*module.split("."), "__init__"][:2])
