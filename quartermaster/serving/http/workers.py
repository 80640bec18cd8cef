"""Several processes behind one socket, under uvicorn's supervisor: each opens the snapshot, whose pages they share.

Workers share the socket and the counts of /metrics, nothing else: limits of rate hold for each of them, so a limit for
all is the task of a proxy.
"""

import multiprocessing
import os
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from starlette.types import ASGIApp
from uvicorn.config import STARTUP_FAILURE, Config
from uvicorn.supervisors import Multiprocess

from quartermaster.serving.http.application import Served, app, logger
from quartermaster.serving.http.server import configure_logs, server_config
from quartermaster.serving.http.settings import HttpSettings
from router.errors import QuartermasterError

CLOSING_S = 5.0  # for the router and the feedback log to close, once the last request is answered
_METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # where prometheus_client looks for it
_READY_WITHIN_S = 60  # also how long a frozen worker may be silent
_PAUSE_S = 3.0  # before a worker that cannot start ends, and another is tried

OpenServed = Callable[[], Served]
"""Opens what a worker serves, in the worker. It can be pickled: a function of a module, or an object of its class."""


def serve_workers(
    open_served: OpenServed,
    settings: HttpSettings,
    listening: socket.socket,
    announce: Callable[[str], None] = lambda _: None,
) -> None:
    """Answer requests with `settings.workers` processes until SIGTERM or SIGINT. Call it from the main thread.

    Each process calls `open_served`, which must be picklable, and closes the router. `announce` is called with what
    is served: from then on requests are taken, though they wait for the first worker. A worker that dies is replaced;
    SIGHUP replaces all, one after the other: no request is lost. The socket is closed once a signal ends the server.

    Raises what `open_served` raises, and QuartermasterError where no worker gets to answer.
    """
    with open_served().router as router:  # what it fetches and verifies, the workers find
        announce(f"{len(router):,} tools of {router.manifest.snapshot}")
    share = settings.of_one_worker()
    config = server_config(
        _WorkerApp(open_served, share),
        share,
        factory=True,
        workers=settings.workers,
        timeout_worker_healthcheck=_READY_WITHIN_S,
        # One connection at a time: each worker that is free takes one, and none of them sixteen.
        backlog=1,
    )
    with tempfile.TemporaryDirectory(prefix="quartermaster-workers-") as metrics:
        os.environ[_METRICS_FOLDER] = metrics
        try:
            _Supervisor(config, listening, settings.stop_timeout_s).run()
        finally:
            del os.environ[_METRICS_FOLDER]


class _Supervisor(Multiprocess):
    """uvicorn's supervisor. SIGTERM ends a replacement that is under way, too; workers that do not end are killed."""

    def __init__(self, config: Config, listening: socket.socket, stop_timeout_s: float) -> None:
        super().__init__(config, [listening])
        self._stop_within_s = stop_timeout_s + CLOSING_S
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)

    def run(self) -> None:
        """Keep the workers running until a signal ends them all."""
        super().run()
        if any(process.exitcode == STARTUP_FAILURE for process in self.processes):
            raise QuartermasterError("a worker cannot start: the log has the reason")

    def terminate_all(self) -> None:
        """Let the workers answer what is under way: new connections are refused, not queued."""
        self.sockets[0].close()
        super().terminate_all()

    def join_all(self) -> None:
        """Wait for the workers, and kill those that do not end in time."""
        end = time.monotonic() + self._stop_within_s
        for process in self.processes:
            process.process.join(max(end - time.monotonic(), 0))
            if process.exitcode is None:
                logger.warning("worker %d did not end in time and is killed", process.pid)
                process.process.kill()
                process.join()

    def _stop(self, *_: object) -> None:
        if self.should_exit.is_set():  # whoever asks twice does not want to wait
            for process in self.processes:
                process.process.kill()
        self.should_exit.set()


@dataclass(frozen=True, slots=True)
class _WorkerApp:
    """Makes the app in a worker, which a supervisor that is gone leaves no reason to live."""

    open_served: OpenServed
    settings: HttpSettings

    def __call__(self) -> ASGIApp:
        """Return the app over a router that it opens, and closes at the end."""
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # of a terminal that hangs up: the supervisor obeys it
        threading.Thread(target=_end_with_supervisor, args=(self.settings.stop_timeout_s,), daemon=True).start()
        configure_logs(workers=True)
        try:
            served = self.open_served()
            return app(served.router, self.settings, inspect=served.inspect, closes=True)
        except QuartermasterError as error:
            logger.error("this worker cannot start: %s", error)
            time.sleep(_PAUSE_S)
            raise SystemExit(1) from None


def _end_with_supervisor(stop_timeout_s: float) -> None:
    supervisor = multiprocessing.parent_process()
    assert supervisor
    supervisor.join()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(stop_timeout_s + CLOSING_S)
    os._exit(1)
