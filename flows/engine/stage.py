"""One stage of a build, or one batch of it, as a Prefect task: its name, its time-out, and what its end means."""

import logging
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

T = TypeVar("T")
_logger = logging.getLogger(__name__)


def _is_retryable(task: Task[Any, Any], run: TaskRun, state: State[Any]) -> bool:
    """Return whether another try may succeed: what did not answer may; a wrong key or a broken file stays wrong."""
    return isinstance(state.data, Unavailable)


# Prefect caches and stores nothing: the ledger has all that was paid for, keyed by content.
@task(cache_policy=NO_CACHE, persist_result=False, retry_condition_fn=_is_retryable, retry_jitter_factor=0.5)
def stage(work: Callable[[], Any], progress: Progress | None) -> Any:
    """Run one stage. A QuartermasterError becomes a failed state with its message, without a traceback in the log.

    `progress` hears of what did not answer; it is None on a worker.
    """
    try:
        return work()
    except QuartermasterError as error:
        if isinstance(error, Unavailable):
            _logger.warning("%s", error)
            if progress is not None:
                progress.note(str(error))
        return Failed(message=str(error), data=error)


def full_name(stage_name: str, label: str) -> str:
    """Return the name of a stage, or of one batch of it."""
    return f"{stage_name} {label}".strip()


def named(stage_name: str, label: str, settings: FlowSettings) -> Task[..., Any]:
    """Return the task of a stage, or of one batch of it."""
    return stage.with_options(
        name=stage_name,
        # Prefect formats this name with the parameters.
        task_run_name=full_name(stage_name, label).replace("{", "{{").replace("}", "}}"),
        retries=settings.retries,
        retry_delay_seconds=[settings.retry_delay_s * 2**attempt for attempt in range(settings.retries)] or 0.0,
        timeout_seconds=settings.timeout_s,
    )


def result_of(state: State[T], stage_name: str, label: str, settings: FlowSettings) -> T:
    """Return what a stage returned, given the final state of its task, or raise what it raised."""
    if state.name == "TimedOut":
        smaller = ", or make its batches smaller with flow.batch_size" if stage_name == "enrich" else ""
        raise RunAborted(
            f"the stage {full_name(stage_name, label)!r} did not finish within {settings.timeout_s:g} s: "
            f"raise flow.timeout_s{smaller}"
        )
    return state.result()


def release_frames(error: BaseException) -> None:
    """Let go of what the frames of an error hold, such as a ledger's connection.

    Prefect keeps the error until the process ends, and DuckDB then reports each open object on the terminal.
    """
    link: BaseException | None = error
    while link is not None:
        clear_frames(link.__traceback__)
        link = link.__cause__ or link.__context__
