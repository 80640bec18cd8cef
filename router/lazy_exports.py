"""Exports of a package that are imported when they are first used (PEP 562), so that its modules load separately."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_exports(package: str, modules: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the functions `__getattr__` and `__dir__` of a package.

    Args:
        package: The package's `__name__`.
        modules: By the full name of a module, the names that the package exports of it, with spaces between them.
    """
    module_of = {name: module for module, names in modules.items() for name in names.split()}

    def get(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(module_of[name]), name)
        setattr(sys.modules[package], name, value)  # so that the next use finds it without this function
        return value

    return get, lambda: sorted({*vars(sys.modules[package]), *module_of})
