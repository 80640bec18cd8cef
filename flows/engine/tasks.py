"""The stages of a build as Prefect tasks, one task for each batch."""

from collections.abc import Callable
from traceback import clear_frames
from typing import Any, TypeVar

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, TaskRun
from prefect.states import Failed
from prefect.tasks import Task

from pipeline.errors import QuartermasterError, RunAborted, Unavailable
from pipeline.progress import Progress
from pipeline.settings import FlowSettings

_T = TypeVar("_T")


def _is_retryable(task: Task[Any, Any], run: TaskRun, state: State[Any]) -> bool:
    """Return whether to retry: only if something did not answer, since a wrong key or file stays wrong."""
    return isinstance(state.data, Unavailable)


# Prefect caches and stores nothing: the ledger has all that was paid for, keyed by content.
@task(cache_policy=NO_CACHE, persist_result=False, retry_condition_fn=_is_retryable, retry_jitter_factor=0.5)
def stage(work: Callable[[], Any], progress: Progress) -> Any:
    """Run one stage. A QuartermasterError becomes a failed state with its message, without a traceback in the log."""
    try:
        return work()
    except QuartermasterError as error:
        if isinstance(error, Unavailable):
            progress.note(str(error))
        return Failed(message=str(error), data=error)


def release_frames(error: BaseException) -> None:
    """Clear the frames of an error and its causes, which may hold the ledger's connection.

    Prefect keeps the error until the process ends; DuckDB would then report each open object on the terminal.
    """
    cause: BaseException | None = error
    while cause is not None:
        clear_frames(cause.__traceback__)
        cause = cause.__cause__ or cause.__context__


class TaskExecution:
    """Runs the stages of a build as tasks with retries and a time-out: an execution for `pipeline.build`."""

    def __init__(self, settings: FlowSettings, progress: Progress) -> None:
        self.batch_size: int | None = settings.batch_size
        self._settings = settings
        self._progress = progress

    def __call__(self, verb: str, work: Callable[[], _T], label: str = "") -> _T:
        """Run a stage as a task and return its result, or raise its error. Raises RunAborted if it times out."""
        settings = self._settings
        task_run = stage.with_options(
            name=verb,
            # Prefect formats this name with the parameters.
            task_run_name=f"{verb} {label}".strip().replace("{", "{{").replace("}", "}}"),
            retries=settings.retries,
            retry_delay_seconds=[settings.retry_delay_s * 2**attempt for attempt in range(settings.retries)] or 0.0,
            timeout_seconds=settings.timeout_s,
        )
        state: State[_T] = task_run(work, self._progress, return_state=True)
        if state.name == "TimedOut":
            smaller = ", or make its batches smaller with flow.batch_size" if verb == "enrich" else ""
            raise RunAborted(
                f"the stage {f'{verb} {label}'.strip()!r} did not finish within {settings.timeout_s:g} s: "
                f"raise flow.timeout_s{smaller}"
            )
        return state.result()
