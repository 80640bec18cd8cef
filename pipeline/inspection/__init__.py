"""`catalog.duckdb`: what people look into. `write` makes it at publish time; `Inspection` answers questions from it.

`Inspection` needs duckdb and `router` alone, so that a host that only routes can look too; `write`, which needs all of
the build, is imported when it is asked for.
"""

from typing import TYPE_CHECKING, Any

from pipeline.inspection.reading import Inspection

if TYPE_CHECKING:
    from pipeline.inspection.writing import write

__all__ = ["Inspection", "write"]


def __getattr__(name: str) -> Any:
    if name == "write":
        from pipeline.inspection.writing import write

        return write
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
