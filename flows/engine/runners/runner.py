"""What a build asks of a task runner beside what Prefect's `TaskRunner` has: its width, and what a loss means."""

from abc import ABC, abstractmethod
from typing import Any

from prefect.client.schemas.objects import State
from prefect.futures import PrefectFuture
from prefect.task_runners import TaskRunner


class Runner(ABC):
    """A task runner of Prefect, and how its tasks end.

    Attributes:
        tasks: Prefect's task runner. It starts when it is entered.
        in_processes: Whether tasks run in other processes, so that their arguments are pickled.
    """

    tasks: TaskRunner[Any]
    in_processes: bool = True

    @abstractmethod
    def start(self) -> None:
        """Start the cluster, or connect to it, once `tasks` is entered. Raises WorkersLost where it cannot be had."""

    @abstractmethod
    def width(self) -> int:
        """Return how many tasks run at once."""

    def final_state(self, future: PrefectFuture[Any]) -> State[Any]:
        """Return the final state of a task that has ended. Raises what the cluster says of one that was lost."""
        state: State[Any] = future.wrapped_future.result()  # type: ignore[attr-defined]
        return state

    def cancel(self, future: PrefectFuture[Any]) -> None:
        """Let go of a task. One that has begun may end; nobody hears of it."""
        if not future.wrapped_future.done():  # type: ignore[attr-defined]
            future.wrapped_future.cancel()  # type: ignore[attr-defined]

    @abstractmethod
    def loss(self, error: Exception) -> str | None:
        """Return in words, after the name of a task, what an error of `final_state` says of the cluster.

        None where it is the task's own error.
        """
