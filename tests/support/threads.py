"""The threads of the routers that a test opens, apart from those that others in the same process keep."""

import threading


class Own:
    """Threads that started since it was made."""

    def __init__(self) -> None:
        self._before = set(threading.enumerate())

    def names(self, beginning: str) -> list[str]:
        """The names of those that run and begin so."""
        names = (thread.name for thread in threading.enumerate() if thread not in self._before)
        return [name for name in names if name.startswith(beginning)]
