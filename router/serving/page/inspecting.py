"""All that is known of a tool, as the page takes it. `pipeline.inspection` has it; the router knows nothing of that."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from router.record import ToolRecord


class Rows(Protocol):
    """Rows under columns."""

    @property
    def rows(self) -> tuple[tuple[Any, ...], ...]: ...  # noqa: D102

    def only(self, *names: str) -> "Rows": ...  # noqa: D102


class Inspected(Protocol):
    """What `catalog.duckdb` says of a tool: `pipeline.inspection.results.ToolInspection`."""

    @property
    def record(self) -> ToolRecord: ...  # noqa: D102
    @property
    def expansion(self) -> Mapping[str, Any] | None: ...  # noqa: D102
    @property
    def phrases(self) -> Rows: ...  # noqa: D102
    @property
    def verdicts(self) -> Rows: ...  # noqa: D102
    @property
    def siblings(self) -> Rows: ...  # noqa: D102
    @property
    def neighbours(self) -> Rows: ...  # noqa: D102
    @property
    def notices(self) -> Rows: ...  # noqa: D102


# A snapshot's folder and a tool's id. Raises QuartermasterError where there is nothing to be had.
Inspect = Callable[[Path, str], Inspected]
