"""The stages of a build as Prefect tasks, one task for each batch."""

import logging
from collections.abc import Callable
from functools import partial
from traceback import clear_frames
from typing import Any, TypeVar, TypeVarTuple

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, TaskRun
from prefect.states import Failed
from prefect.tasks import Task

from pipeline.errors import QuartermasterError, RunAborted, Unavailable
from pipeline.progress import Progress
from pipeline.settings import FlowSettings

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")
_logger = logging.getLogger(__name__)


def _is_retryable(task: Task[Any, Any], run: TaskRun, state: State[Any]) -> bool:
    """Return whether another try may succeed: what did not answer may; a wrong key or a broken file stays wrong."""
    return isinstance(state.data, Unavailable)


# Prefect caches and stores nothing: the ledger has all that was paid for, keyed by content.
@task(cache_policy=NO_CACHE, persist_result=False, retry_condition_fn=_is_retryable, retry_jitter_factor=0.5)
def stage(work: Callable[[], Any], progress: Progress) -> Any:
    """Run one stage. A QuartermasterError becomes a failed state with its message, without a traceback in the log."""
    try:
        return work()
    except QuartermasterError as error:
        if isinstance(error, Unavailable):
            _logger.warning("%s", error)
            progress.note(str(error))
        return Failed(message=str(error), data=error)


def release_frames(error: BaseException) -> None:
    """Let go of what the frames of an error hold, such as a ledger's connection.

    Prefect keeps the error until the process ends, and DuckDB then reports each open object on the terminal.
    """
    link: BaseException | None = error
    while link is not None:
        clear_frames(link.__traceback__)
        link = link.__cause__ or link.__context__


class TaskExecution:
    """An execution that runs each stage as a task: retried where something did not answer, and with a time-out."""

    def __init__(self, settings: FlowSettings, progress: Progress) -> None:
        self.batch_size: int | None = settings.batch_size
        self._settings = settings
        self._progress = progress

    def run(self, stage_name: str, function: Callable[[*Arguments], T], *arguments: *Arguments, label: str = "") -> T:
        """Run a stage as a task and return its result, or raise what it raised."""
        settings = self._settings
        named = stage.with_options(
            name=stage_name,
            # Prefect formats this name with the parameters.
            task_run_name=f"{stage_name} {label}".strip().replace("{", "{{").replace("}", "}}"),
            retries=settings.retries,
            retry_delay_seconds=[settings.retry_delay_s * 2**attempt for attempt in range(settings.retries)] or 0.0,
            timeout_seconds=settings.timeout_s,
        )
        # Prefect looks for futures in all parameters: one callable spares it a walk over the catalog's records.
        work = partial(function, *arguments)
        state: State[T] = named(work, self._progress, return_state=True)
        if state.name == "TimedOut":
            smaller = ", or make its batches smaller with flow.batch_size" if stage_name == "enrich" else ""
            raise RunAborted(
                f"the stage {f'{stage_name} {label}'.strip()!r} did not finish within {settings.timeout_s:g} s: "
                f"raise flow.timeout_s{smaller}"
            )
        return state.result()
