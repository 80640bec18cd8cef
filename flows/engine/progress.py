"""Who watches a flow: the bars of a terminal that started it, else Prefect's log and a progress artifact."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

import httpx
from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.exceptions import PrefectException
from prefect.logging import get_run_logger

from flows.output.artifacts import slug
from pipeline.progress import Progress

_SCREEN: ContextVar[Progress | None] = ContextVar("screen", default=None)
_REPORT_EVERY_S = 2.0  # an update is a call to Prefect's server


@contextmanager
def watched_by(screen: Progress) -> Iterator[None]:
    """Flows called inside show their progress here. A flow's own parameters must be JSON, so it is no parameter."""
    token = _SCREEN.set(screen)
    try:
        yield
    finally:
        _SCREEN.reset(token)


class FlowProgress:
    """A build's progress inside a flow run."""

    def __init__(self, catalog: str) -> None:
        """`catalog` ends the keys of the artifacts."""
        self._key = slug(catalog)
        self._log = get_run_logger()
        self._screen = _SCREEN.get()
        self._artifact: Any = None
        self._done = self._total = 0
        self._reported = 0.0

    def start(self, stage: str, total: int | None = None) -> None:
        """A stage begins, and the one before it has ended."""
        self._finish()
        if self._screen:
            self._screen.start(stage, total)
        self._log.info("%s%s", stage, f": {total:,}" if total else "")
        if total:
            self._done, self._total = 0, total
            key = f"{stage}-{self._key}"
            with _spared():
                self._artifact = create_progress_artifact(0.0, key=key, description=f"{stage}: {total:,}")

    def advance(self, count: int = 1) -> None:
        """Part of the stage is done."""
        self._done += count
        if self._screen:
            self._screen.advance(count)
        if self._done >= self._total:
            self._finish()
        elif self._artifact and time.monotonic() - self._reported > _REPORT_EVERY_S:
            self._reported = time.monotonic()
            with _spared():
                update_progress_artifact(self._artifact, progress=100.0 * self._done / self._total)

    def note(self, message: str) -> None:
        """Something to read."""
        if self._screen:
            self._screen.note(message)
        self._log.info("%s", message)

    def _finish(self) -> None:
        if self._artifact:
            with _spared():
                update_progress_artifact(self._artifact, progress=100.0)
        self._artifact = None


def _spared() -> suppress:
    """Around what only reports: a build that was paid for goes on though Prefect's server does not answer."""
    return suppress(httpx.HTTPError, PrefectException, OSError)
