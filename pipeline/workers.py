"""Stages mapped over batches on threads, or on the workers of a Dask cluster: one that ends with the build, or another.

Authentication and encryption (`tls://`) are Dask's own configuration: see docs/scheduling.md.
"""

import errno
import logging
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from socket import gethostname
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from pipeline.errors import RunAborted, SettingsInvalid, WorkersLost
from pipeline.execution import SharedStorage
from pipeline.settings import FlowSettings
from router.distribution import install_command, version
from router.process import cores

T = TypeVar("T")
Batch = TypeVar("Batch")

_IN_FLIGHT = 2  # for each worker: the batch that it does, and the one that it goes on with
_NO_WORKER_S = 120  # workers that are starting import what they need
_LOOK_S = 5.0
_LEFTOVER_S = 7 * 86_400.0  # no build lasts as long
_STORAGE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM)
_SCHEDULER_LOST = "lost the Dask scheduler: start it and build again; what was done is kept"


class Workers:
    """What the batches of a build's stages run on.

    Attributes:
        storage: The folders that workers share with the build; None for threads, which share everything.
    """

    storage: SharedStorage | None = None

    def __init__(self, executor: Executor, threads: int = 0) -> None:
        """Internal: use `start_workers`."""
        self._executor = executor
        self._threads = threads

    def map(
        self, stage_name: str, function: Callable[..., T], batches: Iterable[tuple[str, Batch]], shared: tuple[Any, ...]
    ) -> Iterator[tuple[Batch, T]]:
        """Yield each batch with its result, as `Execution.map`. Raises WorkersLost where the cluster loses a batch."""
        waiting, values = iter(batches), self._share(shared)
        in_flight: dict[Future[T], tuple[str, Batch]] = {}
        failure: Exception | None = None
        try:
            while failure is None:
                room = _IN_FLIGHT * self._width(stage_name) - len(in_flight)
                for label, batch in islice(waiting, max(room, 0)):
                    in_flight[self._executor.submit(partial(_call, function, batch), values)] = label, batch
                if not in_flight:
                    return
                wait(in_flight, _LOOK_S, FIRST_COMPLETED)
                for future in [future for future in in_flight if future.done()]:
                    label, batch = in_flight.pop(future)
                    try:
                        result = future.result()
                    except (Exception, CancelledError) as error:  # noqa: BLE001 - raised below, after what has ended
                        failure = failure or self._failure(error, f"{stage_name} {label}".strip())
                    else:
                        yield batch, result
        finally:
            for future in in_flight:
                future.cancel()
        raise failure

    def _width(self, stage_name: str) -> int:
        """Return how many batches run at once."""
        return self._threads

    def _share(self, values: tuple[Any, ...]) -> Any:
        """Return the values that all batches of a stage need, as the executor takes them."""
        return values

    def _failure(self, error: BaseException, batch: str) -> Exception:
        """Return what is raised for a batch that failed: its own error, or what it says of the workers."""
        return error if isinstance(error, Exception) else RunAborted(f"the stage {batch!r} was cancelled")


class _DaskWorkers(Workers):
    """Dask does a batch again whose worker is lost, `flow.retries` times at most.

    A cluster that runs already has its own number: `distributed.scheduler.allowed-failures`.
    """

    def __init__(self, client: Any, storage: SharedStorage) -> None:
        super().__init__(client.get_executor(pure=False))
        self.storage: SharedStorage = storage
        self._client = client

    def check(self) -> None:
        """Have every worker use a file of the storage and say its version, before anything is paid for."""
        path = self.storage.of_build / "probe"
        path.touch()
        self._width("start")
        for host, its_version in self._client.run(_probe, path).values():
            if its_version != version():
                raise WorkersLost(
                    f"the worker on {host} has version {its_version}, and {gethostname()} has {version()}: "
                    "install the same version everywhere"
                )

    def _width(self, stage_name: str) -> int:
        """Return the number of the workers' threads. Raises WorkersLost where there is none for two minutes."""
        try:
            self._client.wait_for_workers(1, timeout=_NO_WORKER_S)
            return sum(self._client.nthreads().values())
        except TimeoutError as error:
            raise WorkersLost(f"the stage {stage_name!r} waits, and the cluster has no worker: start one") from error
        except (OSError, RuntimeError) as error:
            raise WorkersLost(f"the stage {stage_name!r} {_SCHEDULER_LOST}") from error

    def _share(self, values: tuple[Any, ...]) -> Any:
        # As the result of a task: it crosses once to each worker, and Dask makes it again where a worker is lost.
        return self._client.submit(partial(_same, values), pure=False) if values else values

    def _failure(self, error: BaseException, batch: str) -> Exception:
        from distributed import KilledWorker
        from distributed.comm.core import CommClosedError

        reason: Exception
        if isinstance(error, KilledWorker):
            reason = WorkersLost(
                f"the stage {batch!r} ended {error.allowed_failures + 1} workers, one after the other, as when memory "
                "runs out: give each worker more memory, by fewer flow.workers or a higher flow.memory_limit"
            )
        elif isinstance(error, CancelledError | CommClosedError):
            reason = WorkersLost(f"the stage {batch!r} {_SCHEDULER_LOST}")
        elif isinstance(error, OSError) and error.errno in _STORAGE:
            reason = RunAborted(
                f"the stage {batch!r} could not use flow.storage, {self.storage.of_build.parent}: {error.strerror}. "
                "Give it room, or let every worker write there; then build again"
            )
        else:
            return super()._failure(error, batch)
        reason.__cause__ = error
        return reason


@contextmanager
def start_workers(settings: FlowSettings, workspace: Path) -> Iterator[Workers | None]:
    """Yield the workers that settings name, or None where every stage runs in the build's own process.

    Raises SettingsInvalid where Dask is not installed, or the storage cannot be written, or is not seen by a worker;
    WorkersLost where no worker answers, or one has another version.
    """
    if settings.runner == "none":
        yield None
    elif settings.runner == "threads":
        width = settings.workers or cores()
        with ThreadPoolExecutor(width, "stage") as pool:
            yield Workers(pool, width)
    else:
        root = (settings.storage or workspace / "workers").absolute()
        with _build_folder(root) as folder, _client(settings) as client:
            lasting = root if settings.dask_address else None
            workers = _DaskWorkers(client, SharedStorage(folder, lasting))
            workers.check()
            yield workers


@contextmanager
def _client(settings: FlowSettings) -> Iterator[Any]:
    """Yield a client of the scheduler that settings name, or of a cluster on this machine that ends with this block."""
    try:
        import dask.config
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise SettingsInvalid(f"flow.runner = 'dask' needs Dask: {install_command('dask')}") from error
    # What becomes of workers and connections is for the build to say, in one sentence each.
    for name in ("distributed", "distributed.client"):  # Dask gives the second its own level
        logging.getLogger(name).setLevel(logging.CRITICAL)
    # A batch of records may have some 20 MB, and is meant to cross.
    dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"})
    address: Any = settings.dask_address
    try:
        if address is None:
            # A worker holds one batch: otherwise the one behind it would be blamed, too, for a worker that is lost.
            of_scheduler = {"allowed-failures": settings.retries, "worker-saturation": 1.0}
            dask.config.set({f"distributed.scheduler.{name}": value for name, value in of_scheduler.items()})
            address = LocalCluster(  # type: ignore[no-untyped-call]
                n_workers=settings.workers or cores(),
                threads_per_worker=1,
                memory_limit=settings.memory_limit,
                dashboard_address="127.0.0.1:0",  # None is the port 8787
                silence_logs=logging.CRITICAL,
                preload=__name__,
            )
        client: Any = Client(address)  # type: ignore[no-untyped-call]
    except (OSError, RuntimeError, ValueError) as error:
        where = f"the Dask scheduler {address} does not answer" if settings.dask_address else "Dask did not start"
        raise WorkersLost(f"{where} ({type(error).__name__}: {' '.join(str(error).split())})") from error
    try:
        yield client
    finally:
        with suppress(OSError, RuntimeError):  # a scheduler that is lost
            client.close()
        if settings.dask_address is None:
            address.close()


def dask_setup(worker: object) -> None:
    """Let a worker on this machine, which Dask hands over when it starts, end at once at Ctrl-C, as its build does."""
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))


@contextmanager
def _build_folder(root: Path) -> Iterator[Path]:
    """Yield a folder for one build, which is removed at the end; what killed builds left goes after a week."""
    builds = root / "builds"
    try:
        builds.mkdir(parents=True, exist_ok=True)
        for folder in builds.iterdir():
            if time.time() - folder.stat().st_mtime > _LEFTOVER_S:
                shutil.rmtree(folder, ignore_errors=True)
        # A worker may be writing into it at the end.
        made = TemporaryDirectory(dir=builds, ignore_cleanup_errors=True)
    except OSError as error:
        raise SettingsInvalid(f"flow.storage: {root} cannot be written ({error.strerror}): choose another") from error
    with made as name:
        yield Path(name)


def _probe(path: Path) -> tuple[str, str]:
    """Return the worker's host and version. Raises SettingsInvalid where it does not see or use the storage."""
    host = gethostname()
    if not path.exists():
        raise SettingsInvalid(
            f"flow.storage: the worker on {host} cannot read {path}: name a folder that the build and all workers see "
            "under the same path"
        )
    try:
        with TemporaryDirectory(dir=path.parent):
            return host, version()
    except OSError as error:
        raise SettingsInvalid(
            f"flow.storage: the worker on {host} cannot write into {path.parent} ({error.strerror}): let it"
        ) from error


def _call(function: Callable[..., T], batch: Any, shared: tuple[Any, ...]) -> T:
    return function(batch, *shared)


def _same(values: T) -> T:
    return values
