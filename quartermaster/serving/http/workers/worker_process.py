"""A worker as its supervisor sees it: a process, what it has told, and by when it must have ended."""

import multiprocessing
import signal
import socket
import time
from contextlib import suppress
from multiprocessing import resource_tracker
from pathlib import Path

import msgspec

from quartermaster.serving.http.serving_state import ServingState
from quartermaster.serving.http.settings import HttpSettings
from quartermaster.serving.http.workers.messages import DRAIN, Failed, MessageReader
from quartermaster.serving.http.workers.restarts import Cause
from quartermaster.serving.http.workers.worker import CLOSING_S, OpenServed, WorkerTask, run_worker

# Threads of ONNX Runtime, Tantivy and DuckDB do not live in a forked child.
_SPAWN = multiprocessing.get_context("spawn")
_BLOCKED = (signal.SIGHUP, signal.SIGINT)
_MOST = 65_536


class WorkerProcess:
    """One worker, from its start until it was reaped."""

    def __init__(
        self, open_served: OpenServed, settings: HttpSettings, listening: socket.socket, folder: Path, place: int
    ) -> None:
        """Start a worker in a place that no living one has. Raises OSError where the system starts no process."""
        self._prepare(settings, place)
        self.connection, theirs = socket.socketpair()
        self.connection.setblocking(False)
        task = WorkerTask(open_served, settings, listening, theirs, folder, place)
        self.process = _SPAWN.Process(target=run_worker, args=(task,), name=f"quartermaster-worker-{place}")
        resource_tracker.ensure_running()  # its start would unblock the signals
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _BLOCKED)
        try:
            self.process.start()
        except OSError:
            self.connection.close()
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            theirs.close()
        assert self.process.pid is not None
        self.pid = self.process.pid

    def _prepare(self, settings: HttpSettings, place: int) -> None:
        self.place = place
        self.state: ServingState | None = None
        self.failed: Failed | None = None
        self.cause: Cause | None = None
        """Why it ends; None while it goes on."""
        self.kill_at = float("inf")
        self.began = self.heard = time.monotonic()
        self.served_since: float | None = None
        self._stops_within_s = settings.stop_timeout_s + CLOSING_S
        self._drains_within_s = self._stops_within_s + settings.keep_alive_s + 1
        self.listens = True
        """Whether it can still tell anything: its end of the socket is open."""
        self._reader = MessageReader()

    @property
    def lived_s(self) -> float:
        """Return for how many seconds it has served."""
        return 0.0 if self.served_since is None else time.monotonic() - self.served_since

    def receive(self) -> bool:
        """Take what the worker has told since, and return whether it serves since then."""
        before = self.state
        with suppress(BlockingIOError, ConnectionError):
            while self.listens:
                received = self.connection.recv(_MOST)
                if not received:
                    self.listens = False
                    break
                self.heard = time.monotonic()
                try:
                    messages = self._reader.read(received)
                except msgspec.DecodeError:  # its memory has gone wrong
                    self.kill(None)
                    break
                for message in messages:
                    if isinstance(message, ServingState):
                        self.state = message
                        self.served_since = self.served_since or self.heard
                    elif isinstance(message, Failed):
                        self.failed = message
                    else:
                        self._ends(Cause.SIGNALLED, self._stops_within_s)
        return before is None and self.state is not None

    def drain(self) -> None:
        """Have it take no new connection, answer those that it has, and end: another has taken its place."""
        self._ends(Cause.RELOADED, self._drains_within_s)
        with suppress(OSError):
            self.connection.send(DRAIN)

    def terminate(self) -> None:
        """Have it answer what is under way, and end."""
        self._ends(Cause.STOPPED, self._stops_within_s)
        self.process.terminate()

    def excuse(self, seconds: float) -> None:
        """Give it so many seconds more to be heard of, and to end: the supervisor itself stood still."""
        self.heard = min(self.heard + seconds, time.monotonic())
        self.kill_at += seconds

    def kill(self, cause: Cause | None) -> None:
        """End it at once."""
        self.cause = self.cause or cause
        self.kill_at = float("inf")
        self.process.kill()

    def reap(self) -> str:
        """Wait for a process that ends, and return how it has ended."""
        self.receive()
        self.process.join()
        code = self.process.exitcode or 0
        self.connection.close()
        self.process.close()
        return how_it_ended(code)

    def _ends(self, cause: Cause, within_s: float) -> None:
        self.cause = self.cause or cause
        self.kill_at = min(self.kill_at, time.monotonic() + within_s)


def how_it_ended(code: int) -> str:
    """Return an exit code in words; one below 0 is a signal. Not every signal has a name: a real-time one has none."""
    if code >= 0:
        return f"ended with exit code {code}"
    named = -code in set(signal.Signals)
    return f"was killed by {signal.Signals(-code).name if named else f'signal {-code}'}"
