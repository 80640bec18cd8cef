"""Checks that no other project's packages hide ours: a project may have a `router` of its own."""

import sys
from importlib.machinery import PathFinder
from pathlib import Path

_HOME = Path(__file__).absolute().parents[1]


def require_own_packages(*packages: str) -> None:
    """Raise ImportError where Python finds another module under the name of one of Quartermaster's packages."""
    for package in packages:
        location = _location(package)
        if location is not None and location.resolve() != (_HOME / package).resolve():
            raise ImportError(
                f"Quartermaster needs its own package {package!r} (in {_HOME}), but Python finds {location} under that "
                "name. If that stands in the working folder and is not needed here, start Python with -P, or set "
                "PYTHONSAFEPATH=1. If your program needs it, rename it, or run Quartermaster in an environment of its "
                "own and ask it over HTTP or MCP: `quartermaster serve http`, `quartermaster serve mcp`.",
                name=package,
                path=str(location),
            )


def _location(package: str) -> Path | None:
    """Return the folder or file that `import` loaded, or would load; None where it is unknown."""
    module = sys.modules.get(package)
    spec = module.__spec__ if module else PathFinder.find_spec(package)
    if spec is None:
        return None
    if spec.submodule_search_locations is not None:  # a folder, with or without an __init__.py
        return next(map(Path, spec.submodule_search_locations), None)
    return Path(spec.origin) if spec.origin else None
