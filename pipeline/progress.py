"""How a build tells what it is doing. The command line draws it; a flow may log it; a library call hears nothing."""

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
    """Passes progress on, and adds up the seconds of each stage."""

    def __init__(self, inner: Progress) -> None:
        self.seconds: dict[str, float] = {}
        self._inner = inner
        self._stage: str | None = None
        self._since = 0.0

    def start(self, stage: str, total: int | None = None) -> None:
        """A stage begins, and the one before it has ended."""
        self.stop()
        self._stage, self._since = stage, time.perf_counter()
        self._inner.start(stage, total)

    def advance(self, count: int = 1) -> None:
        """Part of the stage is done."""
        self._inner.advance(count)

    def note(self, message: str) -> None:
        """Something to read."""
        self._inner.note(message)

    def stop(self) -> None:
        """The last stage has ended."""
        if self._stage is not None:
            self.seconds[self._stage] = self.seconds.get(self._stage, 0.0) + time.perf_counter() - self._since
        self._stage = None
