"""Whether the packages that are found under our names are ours. A project may have a `router` of its own."""

import sys
from importlib.machinery import PathFinder
from pathlib import Path

_HOME = Path(__file__).absolute().parents[1]


def require_own_packages(*packages: str) -> None:
    """Raise ImportError where Python finds another module under the name of one of Quartermaster's packages."""
    for package in packages:
        found = _found(package)
        if found is not None and found.resolve() != (_HOME / package).resolve():
            raise ImportError(
                f"Quartermaster needs its own package {package!r} (in {_HOME}), but Python finds {found} under that "
                "name. If that stands in the working folder and is not needed here, start Python with -P, or set "
                "PYTHONSAFEPATH=1. If your program needs it, rename it, or run Quartermaster in an environment of its "
                "own and ask it over HTTP or MCP: `quartermaster serve http`, `quartermaster serve mcp`.",
                name=package,
                path=str(found),
            )


def _found(package: str) -> Path | None:
    """The folder or file that `import` has taken, or would take from the path; None where it cannot be told."""
    module = sys.modules.get(package)
    spec = module.__spec__ if module else PathFinder.find_spec(package)
    if spec is None:
        return None
    if spec.submodule_search_locations is not None:  # a folder, with an __init__.py or without
        return next(map(Path, spec.submodule_search_locations), None)
    return Path(spec.origin) if spec.origin else None
