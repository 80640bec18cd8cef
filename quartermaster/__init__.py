"""Quartermaster: selects the few tools that fit an agent's request, out of thousands.

    >>> from quartermaster import Router

This package exports the names of `router`, and `python -m quartermaster` is the command line; `help(router)` is the
manual. The code is in the packages `router`, `pipeline` and `flows`.
"""

import importlib
from typing import TYPE_CHECKING, Any

from quartermaster.package_check import require_own_packages

if TYPE_CHECKING:
    import router as _router
    from router import *  # noqa: F403

    __version__: str
    __all__ = ["__version__"]
    __all__ += _router.__all__
else:
    # Lazily: the command line must be importable to report that another project's `router` hides ours.
    def __getattr__(name: str) -> Any:
        if name.startswith("__") and name not in ("__all__", "__version__"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        require_own_packages("router")
        if name == "__version__":
            return importlib.import_module("router.distribution").version()
        router = importlib.import_module("router")
        if name == "__all__":
            return [*router.__all__, "__version__"]
        if name not in router.__all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(router, name)

    def __dir__() -> list[str]:
        return [*globals(), *__getattr__("__all__")]
