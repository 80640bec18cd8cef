"""Tasks on threads of the build's own process."""

from prefect.task_runners import ThreadPoolTaskRunner

from flows.engine.runners.runner import Runner
from pipeline.settings import FlowSettings
from router.process import cores


class ThreadsRunner(Runner):
    """Runs tasks on threads: they share what they are given, and nothing is pickled."""

    in_processes = False

    def __init__(self, settings: FlowSettings) -> None:
        self._width = settings.workers or cores()
        self.tasks = ThreadPoolTaskRunner(max_workers=self._width)

    def start(self) -> None:
        """Do nothing: a thread starts with its first task."""

    def width(self) -> int:
        """Return the number of threads."""
        return self._width

    def loss(self, error: Exception) -> str | None:
        """Return None: a thread is not lost without its process."""
        return None
