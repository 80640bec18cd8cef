"""Write and read `catalog.duckdb`, the part of a snapshot that people inspect.

`writing` makes it at publish time: a copy of `template`, filled from the build and by `accounts.sql`. `reading` answers
questions from it, with `results`; `comparison_sql` compares two snapshots, `served_tools` is what a build compares
itself with. `Inspection` needs only duckdb and `router`, so that a host that only routes can use it; `write` needs the
whole build, and is imported late.
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
