"""How a build tells what it is doing. The command line draws it; a flow may log it; a library call hears nothing."""

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
