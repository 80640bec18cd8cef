"""Describes the functions of a Python module for a build, in a process of its own, as `from_tools` would."""

import importlib
import inspect
import json
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from router.errors import SettingsInvalid
from router.tools.functions.reading import raw_tools

# What `python -c` runs: its arguments are the folder of this package, then those of `main`.
PROGRAM = "import sys; sys.path.append(sys.argv[1]); from pipeline.module_tools import main; main()"


def module_files(name: str, path: Sequence[str]) -> tuple[str, ...]:
    """Return the files that an import of a module runs, those of its packages first; it imports nothing.

    `path` lists the folders to look in. Empty where there is no such module.
    """
    files: list[str] = []
    package = ""
    for part in name.split("."):
        found = PathFinder.find_spec(package + part, path)
        if found is None:
            return ()
        files += [found.origin] if found.origin else []
        package, path = f"{package}{part}.", [*(found.submodule_search_locations or ())]
    return tuple(files)


def tools_in(module: ModuleType, name: str = "") -> Any:
    """Return the tools of a module: the list or function `name`, else those in its `__all__`, else its own functions.

    Raises SettingsInvalid where there are none.
    """
    names = [name] if name else getattr(module, "__all__", None)
    known = {key: value for key, value in vars(module).items() if not (key.startswith("_") or inspect.ismodule(value))}
    if missing := [one for one in names or () if not hasattr(module, one)]:
        raise SettingsInvalid(f"it has no {missing[0]!r}: it has {', '.join(known) or 'no public name'}")
    if name and isinstance(listed := getattr(module, name), list | tuple | Mapping):
        return listed
    if names is None:
        own = [one for one in known.values() if inspect.isroutine(one) and one.__module__ == module.__name__]
    else:  # beside functions, objects of a framework; a class or constant in `__all__` is no tool
        values = [getattr(module, one) for one in names]
        own = [one for one in values if name or inspect.isroutine(one) or isinstance(getattr(one, "name", None), str)]
    if not own:
        raise SettingsInvalid(f"it defines no public function: name a list of tools, '{module.__name__}:TOOLS'")
    return list({id(one): one for one in own}.values())


def main() -> None:
    """Print the tools of the module that the arguments name, as JSON; end with code 1 and the reason where it fails.

    Further arguments are the files that may be run for it. What the module prints goes to standard error.
    """
    where, *allowed = sys.argv[2:]
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.path.insert(0, os.getcwd())
    name, _, attribute = where.partition(":")
    try:
        if (files := module_files(name, sys.path)) != tuple(allowed):
            raise SettingsInvalid(f"its files are {', '.join(files) or 'nowhere'}, allowed were {', '.join(allowed)}")
        found = list(raw_tools(tools_in(importlib.import_module(name), attribute)))
        rows = [
            msgspec.to_builtins(one) | {"origin": [where, one.origin.pointer]}
            for one in found
            if not isinstance(one, tuple)
        ]
        rejected = [[[where, one[0]], one[1], []] for one in found if isinstance(one, tuple)]
        output.write(json.dumps({"tools": rows, "rejected": rejected}))
        output.flush()
    except BaseException as error:  # noqa: BLE001 - whatever the module raises, SystemExit too
        print(" ".join(_reason(error).split()), file=sys.stderr, flush=True)
        os._exit(1)
    os._exit(0)  # its threads are not waited for


def _reason(error: BaseException) -> str:
    """Return what failed, at which line of the catalog's folder where it is of that, and the way out."""
    if isinstance(error, SettingsInvalid):
        return str(error)
    places = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    places += [(error.filename or "<", error.lineno)] if isinstance(error, SyntaxError) else []
    own = [place for place in places if Path(place[0]).is_relative_to(Path.cwd())] or places
    way_out = "it is imported with little of the environment: env of the source hands a variable on"
    if isinstance(error, ModuleNotFoundError):
        way_out = "install it beside quartermaster, or put its folder into PYTHONPATH in the source's env"
    why = f"{type(error).__name__}: {error.msg if isinstance(error, SyntaxError) else f'{error}; {way_out}'}"
    return f"{os.path.relpath(own[-1][0])}, line {own[-1][1]}: {why}"
