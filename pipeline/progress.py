"""How a build reports what it is doing: to its listener, and to the log. The command line draws it."""

import logging
import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Any, Protocol

_logger = logging.getLogger(__name__)


class Progress(Protocol):
    """Hears of a build's stages by name."""

    def start(self, stage: str, total: int | None = None) -> None:
        """Begin a stage, and end the one before. `total` is None where it is not known beforehand."""
        return

    def advance(self, count: int = 1) -> None:
        """Add `count` to what is done of the stage."""
        return

    def note(self, message: str) -> None:
        """Show a message that a person should read, such as which encoder was chosen and why."""
        return


class SilentProgress(Progress):
    """Ignores everything."""


class StageClock:
    """Passes progress on, logs it, and measures each stage.

    By stage: wall-clock `seconds`; `cpu_seconds` of all threads; `peak_mb`, the most memory that the process had held
    by the end of the stage.
    """

    def __init__(self, inner: Progress) -> None:
        self.seconds: dict[str, float] = {}
        self.cpu_seconds: dict[str, float] = {}
        self.peak_mb: dict[str, int] = {}
        self._inner = inner
        self._stage: str | None = None
        self._since = 0.0
        self._cpu_since = 0.0
        self._total: int | None = None
        self._done = 0

    def start(self, stage: str, total: int | None = None) -> None:
        """Begin a stage, and end the one before."""
        self.stop()
        self._stage, self._since, self._cpu_since = stage, time.perf_counter(), time.process_time()
        self._total, self._done = total, 0
        _logger.info("%s started", stage, extra={"event": "stage_started", "stage": stage} | self._counts())
        self._inner.start(stage, total)

    def advance(self, count: int = 1) -> None:
        """Pass on what is done of the stage."""
        self._done += count
        self._inner.advance(count)

    def note(self, message: str) -> None:
        """Pass on a message."""
        _logger.info("%s", message, extra={"event": "note", "stage": self._stage})
        self._inner.note(message)

    def stop(self) -> None:
        """End the last stage."""
        if (stage := self._stage) is not None:
            spent = time.perf_counter() - self._since
            fields = {"event": "stage_ended", "stage": stage, "seconds": round(spent, 3)} | self._counts()
            _logger.info("%s ended after %.1f s", stage, spent, extra=fields)
            self.seconds[stage] = self.seconds.get(stage, 0.0) + spent
            self.cpu_seconds[stage] = self.cpu_seconds.get(stage, 0.0) + time.process_time() - self._cpu_since
            # Kilobytes on Linux, where builds run; bytes on macOS.
            unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
            self.peak_mb[stage] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // unit
        self._stage = None

    def _counts(self) -> dict[str, Any]:
        """Return what is done of the stage, for a log record; nothing where its extent is not known."""
        return {} if self._total is None else {"counts": {"done": self._done, "total": self._total}}


_ADVANCE: ContextVar[Callable[[int], None] | None] = ContextVar("advance", default=None)


def advance_stage(count: int) -> None:
    """Report `count` from inside a stage function; in another process, nothing happens."""
    if (advance := _ADVANCE.get()) is not None:
        advance(count)


@contextmanager
def forward_advance(progress: Progress, total: int) -> Iterator[Callable[[int], None]]:
    """Pass to `progress` what stage functions report inside, and at a normal end the rest of `total`.

    Call what it yields with the size of each batch that has ended: those in other processes report nothing themselves.
    """
    lock = Lock()
    reported = ended = 0

    def advance(count: int) -> None:
        nonlocal reported
        with lock:  # batches may run on threads
            reported += count
            progress.advance(count)

    def end(count: int) -> None:
        nonlocal ended
        ended += count
        if (silent := ended - reported) > 0:
            advance(silent)

    token = _ADVANCE.set(advance)
    try:
        yield end
    finally:
        _ADVANCE.reset(token)
    if (silent := total - reported) > 0:
        advance(silent)
