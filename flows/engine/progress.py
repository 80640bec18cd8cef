"""The progress of a flow: on the terminal that started it, and as an artifact. The build itself logs its stages."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from prefect.artifacts import create_progress_artifact, update_progress_artifact

from flows.artifacts import slug
from flows.engine.reporting import ServerReports
from pipeline.progress import Progress

_TERMINAL: ContextVar[Progress | None] = ContextVar("terminal", default=None)
_REPORT_EVERY_S = 2.0  # an update is a call to Prefect's server


@contextmanager
def shown_on(terminal: Progress) -> Iterator[None]:
    """Show the progress of flows called in this block. It is not a flow's parameter: those must be JSON."""
    token = _TERMINAL.set(terminal)
    try:
        yield
    finally:
        _TERMINAL.reset(token)


class FlowProgress:
    """The progress of a build inside a flow run."""

    def __init__(self, catalog: str, server: ServerReports | None = None) -> None:
        """Report the build of a catalog, whose name is a suffix of the artifacts' keys."""
        self.server = server or ServerReports()
        self._key = slug(catalog)
        self._terminal = _TERMINAL.get()
        self._artifact: Any = None
        self._done = self._total = 0
        self._reported = 0.0

    def start(self, stage: str, total: int | None = None) -> None:
        """Finish the previous stage and begin the next, of `total` units if known."""
        self._finish()
        if self._terminal:
            self._terminal.start(stage, total)
        if total:
            self._done, self._total = 0, total
        if total and self.server.possible:
            key = f"{stage}-{self._key}"
            with self.server.attempt("its progress"):
                self._artifact = create_progress_artifact(0.0, key=key, description=f"{stage}: {total:,}")

    def advance(self, count: int = 1) -> None:
        """Advance the stage by `count` units."""
        self._done += count
        if self._terminal:
            self._terminal.advance(count)
        if self._done >= self._total:
            self._finish()
        elif time.monotonic() - self._reported > _REPORT_EVERY_S:
            self._reported = time.monotonic()
            self._update(100.0 * self._done / self._total)

    def note(self, message: str) -> None:
        """Show a message. The build has logged it."""
        if self._terminal:
            self._terminal.note(message)

    def _finish(self) -> None:
        self._update(100.0)
        self._artifact = None

    def _update(self, percent: float) -> None:
        if self._artifact and self.server.possible:
            with self.server.attempt("its progress"):
                update_progress_artifact(self._artifact, progress=percent)
