"""A progress that keeps what a build says."""

from pipeline.progress import SilentProgress


class Notes(SilentProgress):
    """Keeps what a build notes, in `said`."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def note(self, message: str) -> None:
        """Keep it."""
        self.said.append(message)
