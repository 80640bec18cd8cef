"""How a build tells what it is doing. The command line draws it; a flow may log it; a library call hears nothing."""

import resource
import sys
import time
from typing import Protocol


class Progress(Protocol):
    """Stages by name. `total` is None where it is not known beforehand."""

    def start(self, stage: str, total: int | None = None) -> None:
        """A stage begins, and the one before it has ended."""
        ...

    def advance(self, count: int = 1) -> None:
        """Part of the stage is done."""
        ...

    def note(self, message: str) -> None:
        """Something that the person at the terminal should read, such as which encoder was chosen and why."""
        ...


class Silent:
    """Hears everything and says nothing."""

    def start(self, stage: str, total: int | None = None) -> None:
        """A stage begins."""

    def advance(self, count: int = 1) -> None:
        """Part of the stage is done."""

    def note(self, message: str) -> None:
        """Something to read."""


class Clock:
    """Passes progress on, and adds up by stage the `seconds` and `cpu_seconds`, of all threads, that it took;
    `peak_mb` is the most memory that the process had held by the end of the stage."""

    def __init__(self, inner: Progress) -> None:
        self.seconds: dict[str, float] = {}
        self.cpu_seconds: dict[str, float] = {}
        self.peak_mb: dict[str, int] = {}
        self._inner = inner
        self._stage: str | None = None
        self._since = 0.0
        self._cpu_since = 0.0

    def start(self, stage: str, total: int | None = None) -> None:
        """A stage begins, and the one before it has ended."""
        self.stop()
        self._stage, self._since, self._cpu_since = stage, time.perf_counter(), time.process_time()
        self._inner.start(stage, total)

    def advance(self, count: int = 1) -> None:
        """Part of the stage is done."""
        self._inner.advance(count)

    def note(self, message: str) -> None:
        """Something to read."""
        self._inner.note(message)

    def stop(self) -> None:
        """The last stage has ended."""
        if (stage := self._stage) is not None:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - self._since
            self.cpu_seconds[stage] = self.cpu_seconds.get(stage, 0.0) + time.process_time() - self._cpu_since
            # Kilobytes on Linux, where builds run; bytes on macOS.
            unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
            self.peak_mb[stage] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // unit
        self._stage = None
