"""The stages of a build as Prefect tasks: in the build's own process, or on the workers that settings name."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, TypeVarTuple

from flows.engine.runners import runner_of
from flows.engine.stage import named, result_of
from flows.engine.workers import Workers
from pipeline.execution import SharedStorage
from pipeline.progress import Progress
from pipeline.settings import FlowSettings

T = TypeVar("T")
Batch = TypeVar("Batch")
Arguments = TypeVarTuple("Arguments")


class TaskExecution:
    """An execution that runs each stage as a task: retried where something did not answer, and with a time-out.

    With `workers` the batches of a mapped stage run there; all other stages run in this process.
    """

    def __init__(self, settings: FlowSettings, progress: Progress, workers: Workers | None = None) -> None:
        self.batch_size: int | None = settings.batch_size
        self.threads: int | None = None if workers is None else 1
        self.storage: SharedStorage | None = None if workers is None else workers.storage
        self._settings = settings
        self._progress = progress
        self._workers = workers

    @classmethod
    @contextmanager
    def started(cls, settings: FlowSettings, progress: Progress, workspace: Path) -> Iterator["TaskExecution"]:
        """Yield an execution whose workers have started. They end with the block, or are let go of.

        Raises SettingsInvalid where the runner or the storage cannot be used, WorkersLost where no worker can.
        """
        runner = runner_of(settings)
        if runner is None:
            yield cls(settings, progress)
            return
        with Workers.started(runner, settings, workspace) as workers:
            yield cls(settings, progress, workers)

    def run(self, stage_name: str, function: Callable[[*Arguments], T], *arguments: *Arguments, label: str = "") -> T:
        """Run a stage as a task of this process and return its result, or raise what it raised."""
        # Prefect looks for futures in all parameters: one callable spares it a walk over the catalog's records.
        work = partial(function, *arguments)
        task = named(stage_name, label, self._settings)
        state: Any = task(work, self._progress, return_state=True)
        returned: T = result_of(state, stage_name, label, self._settings)
        return returned

    def map(
        self,
        stage_name: str,
        function: Callable[[Batch, *Arguments], T],
        batches: Iterable[tuple[str, Batch]],
        *shared: *Arguments,
    ) -> Iterator[tuple[Batch, T]]:
        """Run each batch as a task and yield it with its result as soon as that is there."""
        if self._workers is not None:
            yield from self._workers.map(stage_name, function, batches, shared)
            return
        for label, batch in batches:
            yield batch, self.run(stage_name, function, batch, *shared, label=label)
