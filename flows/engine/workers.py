"""A stage mapped over batches on a task runner: a bounded number in flight, each result as soon as it is there."""

import errno
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from queue import Empty, SimpleQueue
from socket import gethostname
from typing import Any, Generic, TypeVar
from uuid import uuid4

from prefect.client.schemas.objects import State
from prefect.context import FlowRunContext
from prefect.futures import PrefectFuture
from prefect.settings import PREFECT_API_URL, PREFECT_CLIENT_MAX_RETRIES, temporary_settings

from flows.engine.runners import Runner
from flows.engine.stage import full_name, named, result_of
from flows.engine.storage import SharedValues, build_folder, probe, share
from pipeline.errors import RunAborted, WorkersLost
from pipeline.execution import SharedStorage
from pipeline.settings import FlowSettings
from router.distribution import version

T = TypeVar("T")
Batch = TypeVar("Batch")

_IN_FLIGHT = 2  # for each worker: the batch that it does, and the one that it goes on with
_NO_WORKER_S = 120.0  # workers that are starting import what they need
_LOOK_S = 1.0
_STORAGE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM)


@dataclass(frozen=True)
class Work(Generic[Batch, T]):
    """One batch of a stage. Neither Prefect nor Dask looks for futures in it, as they do in lists."""

    function: Callable[..., T]
    batch: Batch
    shared: SharedValues | tuple[Any, ...]

    def __call__(self) -> T:
        """Return what the function returns for the batch and the shared values."""
        shared = self.shared.open() if isinstance(self.shared, SharedValues) else self.shared
        return self.function(self.batch, *shared)

    def __dask_tokenize__(self) -> str:
        """Return a name for Dask, which would otherwise derive one from the content."""
        return uuid4().hex


class Workers:
    """The workers of a build, ready for its stages.

    Attributes:
        storage: The folders that they share with the build; None for threads, which share everything.
    """

    def __init__(self, runner: Runner, settings: FlowSettings, storage: SharedStorage | None) -> None:
        """Internal: use `started`."""
        self.storage = storage
        self._runner = runner
        self._settings = settings
        context = FlowRunContext.get()
        self._server = str(context.client.api_url) if context and context.client else None

    @classmethod
    @contextmanager
    def started(cls, runner: Runner, settings: FlowSettings, workspace: Path) -> Iterator["Workers"]:
        """Yield the workers of a runner, after a first task has shown that one of them is ready.

        Raises SettingsInvalid where the storage cannot be written, or is not seen by the worker; WorkersLost where no
        worker answers, or has another version.
        """
        root = (settings.storage or workspace / "workers").absolute()
        with ExitStack() as stack:
            storage = None
            if runner.in_processes:
                storage = SharedStorage(
                    stack.enter_context(build_folder(root)), None if settings.on_this_machine else root
                )
            stack.enter_context(runner.tasks)
            runner.start()
            workers = cls(runner, settings, storage)
            if storage is not None:
                workers._check(storage)
            yield workers

    def map(
        self, stage_name: str, function: Callable[..., T], batches: Iterable[tuple[str, Batch]], shared: tuple[Any, ...]
    ) -> Iterator[tuple[Batch, T]]:
        """Yield each batch with its result, as `Execution.map`. Raises WorkersLost where the cluster loses a batch."""
        values = share(self.storage.of_build, shared) if self.storage else shared
        waiting, ended = iter(batches), SimpleQueue[PrefectFuture[Any]]()
        in_flight: dict[PrefectFuture[Any], tuple[str, Batch]] = {}
        failure: Exception | None = None
        try:
            while True:
                room = 0 if failure else _IN_FLIGHT * max(self._runner.width(), 1) - len(in_flight)
                for label, batch in islice(waiting, max(room, 0)):
                    submitted = self._submit(stage_name, label, Work(function, batch, values))
                    in_flight[submitted] = label, batch
                    submitted.add_done_callback(ended.put)
                future = self._next(ended, stage_name, wait=failure is None) if in_flight else None
                if future is None:
                    break
                label, batch = in_flight.pop(future)
                try:
                    result: T = self._result(future, stage_name, label)
                except Exception as error:  # noqa: BLE001 - it is raised below, after what has ended by now
                    failure = failure or error
                    self._cancel(in_flight)
                else:
                    yield batch, result
        finally:
            self._cancel(in_flight)
        if failure is not None:
            raise failure

    def _submit(self, stage_name: str, label: str, work: Work[Any, Any]) -> PrefectFuture[Any]:
        """Hand a batch to the runner. Its task reports to this flow's server, and does without one that is lost."""
        task = named(stage_name, label, self._settings)
        server = {PREFECT_API_URL: self._server} if self._server else {}
        with temporary_settings({**server, PREFECT_CLIENT_MAX_RETRIES: 0}):
            future: PrefectFuture[Any] = self._runner.tasks.submit(task, {"work": work, "progress": None})
        return future

    def _next(
        self, ended: "SimpleQueue[PrefectFuture[Any]]", stage_name: str, *, wait: bool
    ) -> PrefectFuture[Any] | None:
        """Return a task that has ended; where not to `wait`, None if there is none by now.

        Raises WorkersLost where the cluster has had no worker for two minutes, or no task ends in its time.
        """
        settings = self._settings
        tries = settings.retries + 1
        # A task may wait for the one before it on its worker, and is tried again.
        allowed_s = _IN_FLIGHT * tries * (settings.timeout_s + settings.retry_delay_s * 2**settings.retries)
        began = seen = time.monotonic()
        while True:
            try:
                return ended.get(timeout=_LOOK_S)
            except Empty:
                if not wait:
                    return None
            now = time.monotonic()
            seen = now if self._runner.width() else seen
            if now - seen > _NO_WORKER_S:
                raise WorkersLost(f"the stage {stage_name!r} waits, and the cluster has no worker: start one")
            if now - began > allowed_s:
                raise WorkersLost(f"the stage {stage_name!r} waits, and no worker ended a batch in {allowed_s:.0f} s")

    def _result(self, future: PrefectFuture[T], stage_name: str, label: str) -> T:
        try:
            state: State[T] = self._runner.final_state(future)
        except Exception as error:
            if (loss := self._runner.loss(error)) is None:
                raise
            raise WorkersLost(f"the stage {full_name(stage_name, label)!r} {loss}") from error
        try:
            return result_of(state, stage_name, label, self._settings)
        except OSError as error:
            if self.storage is None or error.errno not in _STORAGE:
                raise
            storage = self.storage.of_build.parent
            raise RunAborted(
                f"the stage {full_name(stage_name, label)!r} could not use flow.storage, {storage}: "
                f"{error.strerror}. Give it room, or let every worker write there; then build again"
            ) from error

    def _cancel(self, futures: Iterable[PrefectFuture[Any]]) -> None:
        for future in futures:
            self._runner.cancel(future)

    def _check(self, storage: SharedStorage) -> None:
        """Have a worker read a file of the storage and say its version, before anything is paid for."""
        path = storage.of_build / "probe"
        path.write_text(version(), encoding="utf-8")
        for _, (host, its_version) in self.map("start", probe, [("workers", path)], ()):
            if its_version != version():
                raise WorkersLost(
                    f"the worker on {host} has version {its_version}, and {gethostname()} has {version()}: "
                    "install the same version everywhere"
                )
