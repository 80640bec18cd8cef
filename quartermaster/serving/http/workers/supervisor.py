"""The supervisor: keeps as many workers as there should be, replaces them one by one at SIGHUP, ends them at SIGTERM.

It opens no snapshot and answers no request, so nothing of a catalog or a client can end it.
"""

import logging
import signal
import socket
import time
from collections.abc import Callable
from multiprocessing import connection

from quartermaster.serving.http.serving_state import ServingState
from quartermaster.serving.http.settings import HttpSettings
from quartermaster.serving.http.workers.restarts import Cause, Restarts
from quartermaster.serving.http.workers.run_folder import Fleet, RunFolder
from quartermaster.serving.http.workers.wake_up import Signals, signals_of
from quartermaster.serving.http.workers.worker import OpenServed
from quartermaster.serving.http.workers.worker_process import WorkerProcess
from router.errors import QuartermasterError

_LONGEST_WAIT_S = 1.0
_STANDS_STILL_S = 2.0  # between two looks: this process itself did not run
_logger = logging.getLogger("router.http")


def serve_workers(
    open_served: OpenServed,
    settings: HttpSettings,
    listening: socket.socket,
    announce: Callable[[ServingState], None] = lambda _: None,
    *,
    hung_after_s: float = 30.0,
) -> None:
    """Answer requests with `settings.workers` processes until SIGTERM or SIGINT. Call it from the main thread.

    Each process calls `open_served`, which must be picklable, and closes the router. `announce` is called once the
    first one is ready. SIGHUP replaces all workers, one after the other: none of the requests is lost. One whose event
    loop is silent for `hung_after_s` seconds is killed and replaced.

    The socket is closed once a signal ends the server.

    Raises what `open_served` raises in the first worker, and QuartermasterError where that dies before it serves.
    """
    with signals_of(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
        run = RunFolder.make()
        supervisor = Supervisor(open_served, settings, listening, run, signals, hung_after_s)
        try:
            supervisor.run(announce)
        finally:
            supervisor.kill_all()
            run.leave()


class Supervisor:
    """The workers of one server."""

    def __init__(
        self,
        open_served: OpenServed,
        settings: HttpSettings,
        listening: socket.socket,
        run: RunFolder,
        signals: Signals,
        hung_after_s: float,
    ) -> None:
        """Watch over workers, of which there is none yet. One that is silent for `hung_after_s` is killed."""
        self._open_served, self._settings, self.listening = open_served, settings, listening
        self._run, self._signals, self._hung_after_s = run, signals, hung_after_s
        self._workers: list[WorkerProcess] = []
        self._restarts = Restarts()
        self._outdated: list[WorkerProcess] = []
        self._successor: WorkerProcess | None = None
        self._stops = self._began = False
        self._told: Fleet | None = None
        self._silent = False
        self._looked_at = time.monotonic()

    def run(self, announce: Callable[[ServingState], None]) -> None:
        """Keep the workers running until a signal ends them all."""
        while not self._stops or self._workers:
            self.look(announce)
            if self._workers or not self._stops:
                connection.wait(self.awaited(), _LONGEST_WAIT_S)  # type: ignore[arg-type]

    def look(self, announce: Callable[[ServingState], None]) -> None:
        """Obey signals, hear the workers, and end or start those that should end or start now."""
        self._obey()
        for worker in list(self._workers):
            if worker.receive():
                _logger.info("worker %d serves %s", worker.pid, worker.state.snapshot if worker.state else "")
            if not worker.process.is_alive():
                self._bury(worker)
        self._kill_overdue()
        if not self._stops:
            self._begin(announce)
            if self._began:
                self._replace_outdated()
                self._start_missing()
        self._tell()

    def kill_all(self) -> None:
        """End all workers at once, where an error ended `run`."""
        for worker in self._workers:
            worker.kill(Cause.STOPPED)
            worker.reap()
        self._workers.clear()

    def awaited(self) -> list[object]:
        """Return what tells of a signal, of a word and of the end of a worker."""
        awaited: list[object] = [self._signals.connection]
        for worker in self._workers:
            awaited.append(worker.process.sentinel)
            if worker.listens:  # else there is always its end to read
                awaited.append(worker.connection)
        return awaited

    def _obey(self) -> None:
        for number in self._signals.take():
            if number == signal.SIGHUP and not self._stops:
                if self._successor is not None:  # it may hang, or know the settings from before
                    self._successor.kill(Cause.SUPERSEDED)
                    self._successor = None
                self._outdated = [worker for worker in self._workers if worker.cause is None]
                _logger.info("SIGHUP: %d workers are replaced, one after the other", len(self._outdated))
            elif number in (signal.SIGTERM, signal.SIGINT):
                for worker in self._workers:
                    if self._stops:
                        worker.kill(Cause.STOPPED)
                    else:
                        worker.terminate()
                self._stops = True
                self.listening.close()  # whoever comes now is refused, and does not wait for nobody

    def _begin(self, announce: Callable[[ServingState], None]) -> None:
        """Start the first worker, and the others once it serves: so what they open was fetched, and does open."""
        if self._began:
            return
        if not self._workers:
            self._start()
        elif (state := self._workers[0].state) is not None:
            self._began = True
            announce(state)

    def _start(self) -> WorkerProcess:
        taken = {worker.place for worker in self._workers}
        place = next(place for place in range(len(taken) + 1) if place not in taken)
        worker = WorkerProcess(self._open_served, self._settings, self.listening, self._run.folder, place)
        self._workers.append(worker)
        return worker

    @property
    def _active(self) -> int:
        """Return how many workers go on, or are about to: a successor among them."""
        return sum(worker.cause is None for worker in self._workers)

    def _start_missing(self) -> None:
        there = self._active - (self._successor is not None)
        if time.monotonic() >= self._restarts.next_at:
            try:
                for _ in range(self._settings.workers - there):
                    self._start()
            except OSError as error:  # of memory, of processes: those that live go on
                pause = self._restarts.ended(Cause.CRASHED, 0.0)
                _logger.error("a worker cannot be started, it is tried again in %g s: %s", pause, error)

    def _replace_outdated(self) -> None:
        """Start one successor at a time, and retire the worker that it replaces once it is ready."""
        self._outdated = [worker for worker in self._outdated if worker in self._workers and worker.cause is None]
        successor = self._successor
        if successor is not None:
            if successor.state is None:
                return
            self._successor = None
            if problem := successor.state.problem:
                successor.kill(Cause.SUPERSEDED)
                self._give_up_replacing(problem)
            elif self._active > self._settings.workers:  # else it has taken the place of one that died meanwhile
                (self._outdated.pop(0) if self._outdated else successor).drain()
        if self._outdated:
            try:
                self._successor = self._start()
            except OSError as error:
                self._give_up_replacing(str(error))

    def _give_up_replacing(self, reason: str) -> None:
        self._successor, self._outdated = None, []
        _logger.error("the new worker cannot serve, so the ones from before go on: %s", reason)

    def _kill_overdue(self) -> None:
        now = time.monotonic()
        stood_still = now - self._looked_at - _STANDS_STILL_S
        self._looked_at = now
        for worker in self._workers:
            if stood_still > 0:  # a terminal or a container stopped all of them, and goes on
                worker.excuse(stood_still)
            if now >= worker.kill_at:
                _logger.warning("worker %d did not end in time and is killed", worker.pid)
                worker.kill(Cause.STOPPED)
            elif worker.cause is None and worker.state is not None and now - worker.heard > self._hung_after_s:
                _logger.error("worker %d is silent for %.0f s and is killed", worker.pid, now - worker.heard)
                worker.kill(Cause.HUNG)

    def _bury(self, worker: WorkerProcess) -> None:
        """Forget a worker that has ended, and say when the next may start."""
        self._workers.remove(worker)
        how = worker.reap()
        if self._stops:
            return
        if not self._began:
            if worker.failed is not None:
                raise worker.failed.error()
            raise QuartermasterError(
                f"the first worker {how} before it served: its log, or the system's, has the reason"
            )
        reason = how if worker.failed is None else f"cannot start: {worker.failed.message}"
        if worker is self._successor:
            self._give_up_replacing(reason)
            return
        pause = self._restarts.ended(worker.cause or Cause.CRASHED, worker.lived_s)
        if worker.cause in (None, Cause.HUNG):
            when = f"in {pause:g} s" if pause else "now"
            _logger.error("worker %d %s; another starts %s", worker.pid, reason, when)

    def _tell(self) -> None:
        """Write what is known of the workers, for whichever of them Prometheus asks."""
        serving = [worker for worker in self._workers if worker.cause is None]
        states = {worker.place: worker.state for worker in serving if worker.state is not None}
        fleet = Fleet(wanted=self._settings.workers, restarts=self._restarts.counts(), states=states)
        if fleet == self._told:
            return
        try:
            self._run.tell(fleet)
        except OSError as error:  # a full disk: metrics are late, answers are not
            if not self._silent:
                _logger.warning("metrics show the workers as they were: %s", error)
            self._silent = True
        else:
            self._told, self._silent = fleet, False
