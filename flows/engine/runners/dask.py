"""Tasks on the workers of a Dask cluster: one on this machine that ends with the build, or one that runs already.

Authentication and encryption (`tls://`) are Dask's own configuration: see docs/scheduling.md.
"""

import logging
from contextlib import suppress
from typing import Any

from flows.engine.runners.runner import Runner
from pipeline.errors import SettingsInvalid, WorkersLost
from pipeline.settings import FlowSettings
from router.distribution import install_command
from router.process import cores

try:
    import dask.config
    from distributed import CancelledError, KilledWorker
    from distributed.comm.core import CommClosedError
    from prefect_dask.task_runners import DaskTaskRunner
except ImportError as error:
    raise SettingsInvalid(f"flow.runner = 'dask' needs Dask: {install_command('dask')}") from error

# What tasks say goes to Prefect's server; the terminal is the build's.
_QUIET = {"PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL"}


class DaskRunner(Runner):
    """Runs tasks on Dask's workers. Dask does a task again whose worker is lost, `flow.retries` times at most.

    A cluster that runs already has a number of its own: `distributed.scheduler.allowed-failures`.
    """

    def __init__(self, settings: FlowSettings) -> None:
        self._address = settings.dask_address
        self._width = 0
        # Workers that are lost and connections that close are told by the build, in one sentence each.
        for name in ("distributed", "distributed.client"):  # Dask gives the second a level of its own
            logging.getLogger(name).setLevel(logging.CRITICAL)
        # A batch of records may have some 20 MB, and is meant to cross.
        dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"})
        self.tasks: DaskTaskRunner = self._connected() if self._address else self._local(settings)

    def start(self) -> None:
        """Start the cluster's processes, or connect to its scheduler."""
        try:
            _ = self.tasks.client
        except (OSError, RuntimeError, ValueError) as error:
            where = f"the Dask scheduler {self._address} does not answer" if self._address else "Dask did not start"
            raise WorkersLost(f"{where} ({type(error).__name__}: {' '.join(str(error).split())})") from error

    def width(self) -> int:
        """Return the number of the workers' threads, as of now; the last number while the scheduler does not answer."""
        with suppress(OSError, RuntimeError, CommClosedError):
            client: Any = self.tasks.client
            self._width = sum(client.nthreads().values())
        return self._width

    def loss(self, error: Exception) -> str | None:
        """Return what became of a task whose workers or scheduler are lost."""
        if isinstance(error, KilledWorker):
            return (
                f"ended {error.allowed_failures + 1} workers, one after the other, as when memory runs out: give each "
                "worker more memory, by fewer flow.workers or a higher flow.memory_limit"
            )
        if isinstance(error, CancelledError | CommClosedError | OSError):
            return "lost the Dask scheduler: start it and build again; what was done is kept"
        return None

    def _connected(self) -> DaskTaskRunner:
        return DaskTaskRunner(address=self._address)

    def _local(self, settings: FlowSettings) -> DaskTaskRunner:
        dask.config.set({"distributed.scheduler.allowed-failures": settings.retries})
        cluster: dict[str, Any] = {
            "n_workers": settings.workers or cores(),
            "threads_per_worker": 1,
            "memory_limit": settings.memory_limit,
            "dashboard_address": "127.0.0.1:0",  # None is the port 8787
            "silence_logs": logging.CRITICAL,
            "env": _QUIET,
            "preload": "flows.engine.runners.interrupts",
        }
        return DaskTaskRunner(cluster_kwargs=cluster)
