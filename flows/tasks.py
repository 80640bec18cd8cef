"""The stages of a build as Prefect tasks: each of them, or each batch of one, with retries and a time-out."""

import logging
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, TypeVar, TypeVarTuple

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, TaskRun
from prefect.states import Failed
from prefect.tasks import Task

from pipeline.errors import QuartermasterError, RunAborted, Unavailable
from pipeline.execution import SharedStorage
from pipeline.progress import Progress
from pipeline.settings import FlowSettings
from pipeline.workers import Workers

T = TypeVar("T")
Batch = TypeVar("Batch")
Arguments = TypeVarTuple("Arguments")
_logger = logging.getLogger(__name__)


def _may_pass(task: Task[Any, Any], run: TaskRun, state: State[Any]) -> bool:
    """Return whether another try may succeed: what did not answer may; a wrong key or a broken file stays wrong."""
    return isinstance(state.data, Unavailable)


# Prefect caches and stores nothing: the ledger has all that was paid for, keyed by content.
@task(cache_policy=NO_CACHE, persist_result=False, retry_condition_fn=_may_pass, retry_jitter_factor=0.5)
def stage(work: Callable[[], Any], progress: Progress) -> Any:
    """Run one stage. A QuartermasterError becomes a failed state with its message, without a traceback in the log.

    `progress` hears of what did not answer.
    """
    try:
        return work()
    except QuartermasterError as error:
        if isinstance(error, Unavailable):
            _logger.warning("%s", error)
            progress.note(str(error))
        return Failed(message=str(error), data=error)


class TaskExecution:
    """An `Execution` that runs each stage as a task, and again where something did not answer.

    With `workers` the batches of a mapped stage run there; all other stages run in this process.
    """

    def __init__(self, settings: FlowSettings, progress: Progress, workers: Workers | None = None) -> None:
        self.batch_size: int | None = settings.batch_size
        self.threads: int | None = None if workers is None else 1
        self.storage: SharedStorage | None = None if workers is None else workers.storage
        self._settings = settings
        self._progress = progress
        self._workers = workers

    def run(self, stage_name: str, function: Callable[[*Arguments], T], *arguments: *Arguments, label: str = "") -> T:
        """Run a stage as a task and return its result, or raise what it raised."""
        settings, name = self._settings, f"{stage_name} {label}".strip()
        configured = stage.with_options(
            name=stage_name,
            # Prefect formats this name with the parameters.
            task_run_name=name.replace("{", "{{").replace("}", "}}"),
            retries=settings.retries,
            retry_delay_seconds=[settings.retry_delay_s * 2**attempt for attempt in range(settings.retries)] or 0.0,
            timeout_seconds=settings.timeout_s,
        )
        # Prefect looks for futures in all parameters: one callable spares it a walk over the catalog's records.
        state: Any = configured(partial(function, *arguments), self._progress, return_state=True)
        if state.name == "TimedOut":
            smaller = ", or make its batches smaller with flow.batch_size" if stage_name == "enrich" else ""
            raise RunAborted(
                f"the stage {name!r} did not finish within {settings.timeout_s:g} s: raise flow.timeout_s{smaller}"
            )
        result: T = state.result()
        return result

    def map(
        self,
        stage_name: str,
        function: Callable[[Batch, *Arguments], T],
        batches: Iterable[tuple[str, Batch]],
        *shared: *Arguments,
    ) -> Iterator[tuple[Batch, T]]:
        """Yield each batch with its result as soon as that is there: from the workers, or by a task for each."""
        if self._workers is not None:
            yield from self._workers.map(stage_name, function, batches, shared)
            return
        for label, batch in batches:
            yield batch, self.run(stage_name, function, batch, *shared, label=label)
