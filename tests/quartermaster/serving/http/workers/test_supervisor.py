"""What a supervisor does at odd moments: signals at the start, a stop of its own, a worker that closes its socket."""

import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from quartermaster.serving.http import HttpSettings
from quartermaster.serving.http.serving_state import ServingState
from quartermaster.serving.http.workers import supervisor as module
from quartermaster.serving.http.workers.restarts import Cause
from quartermaster.serving.http.workers.run_folder import RunFolder
from quartermaster.serving.http.workers.supervisor import Supervisor
from quartermaster.serving.http.workers.wake_up import Signals
from quartermaster.serving.http.workers.worker_process import WorkerProcess, how_it_ended

_TIMES = {"created": None, "read_at": None, "current_at": None}
STATE = ServingState(
    problem="", snapshot="s", catalog="c", tools=1, refusal="", watched=False, cached_requests=0, **_TIMES
)


class Process:
    """A process that ends when it is told to, and whose end can be waited for."""

    def __init__(self) -> None:
        self.ends, self._end = socket.socketpair()
        self.exitcode: int | None = None

    @property
    def sentinel(self) -> int:
        return self.ends.fileno()

    def is_alive(self) -> bool:
        return self.exitcode is None

    def kill(self) -> None:
        self.exitcode = -int(signal.SIGKILL)
        self._end.close()

    def terminate(self) -> None:
        self.exitcode = 0
        self._end.close()

    def join(self) -> None:
        assert self.exitcode is not None

    def close(self) -> None:
        self.ends.close()


class Worker(WorkerProcess):
    """A worker without a process: the test holds the other end of its socket."""

    made: ClassVar[list["Worker"]] = []
    pid: int

    def __init__(self, *arguments: object) -> None:
        self._prepare(HttpSettings(), int(str(arguments[-1])))
        self.connection, self.theirs = socket.socketpair()
        self.connection.setblocking(False)
        self.process = Process()  # type: ignore[assignment]
        self.made.append(self)
        self.pid = len(self.made)

    def drain(self) -> None:
        super().drain()
        self.process.terminate()


@pytest.fixture
def signals() -> Iterator[tuple[Signals, socket.socket]]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with ours, theirs:
        yield Signals(ours), theirs


@pytest.fixture
def watching(
    signals: tuple[Signals, socket.socket], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Supervisor]:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(module, "WorkerProcess", Worker)
    monkeypatch.setattr(Worker, "made", [])
    run = RunFolder.make()
    listening = socket.socket()
    made = Supervisor(lambda: None, HttpSettings(workers=2), listening, run, signals[0], 30.0)  # type: ignore[arg-type, return-value]
    yield made
    made.kill_all()
    listening.close()
    run.leave()
    assert list(tmp_path.iterdir()) == []
    for worker in Worker.made:
        worker.theirs.close()


@pytest.fixture
def two(watching: Supervisor) -> list[Worker]:
    """Two workers that serve."""
    for _ in range(3):
        watching.look(lambda _: None)
        for worker in Worker.made:
            worker.state = STATE
    assert len(Worker.made) == 2
    return list(Worker.made)


def test_a_sighup_before_the_first_worker_serves_is_not_forgotten(
    watching: Supervisor, signals: tuple[Signals, socket.socket]
) -> None:
    announced: list[ServingState] = []
    watching.look(announced.append)
    (first,) = Worker.made
    signals[1].send(bytes([signal.SIGHUP]))  # it may have read the settings already
    watching.look(announced.append)
    assert Worker.made == [first] and not announced
    first.state = STATE
    watching.look(announced.append)
    for worker in Worker.made[1:]:
        worker.state = STATE
    watching.look(announced.append)
    assert announced == [STATE]
    assert first.cause is Cause.RELOADED
    watching.look(announced.append)
    assert [worker.cause for worker in Worker.made] == [Cause.RELOADED, None, None]


def test_a_worker_is_replaced_once_its_successor_serves_and_one_that_cannot_leaves_those_from_before(
    watching: Supervisor, two: list[Worker], signals: tuple[Signals, socket.socket], caplog: pytest.LogCaptureFixture
) -> None:
    signals[1].send(bytes([signal.SIGHUP]))
    for _ in range(3):  # however often it looks, one successor at a time
        watching.look(lambda _: None)
    (successor,) = Worker.made[2:]
    assert [worker.cause for worker in two] == [None, None]
    successor.state = STATE
    watching.look(lambda _: None)
    assert [worker.cause for worker in two] == [Cause.RELOADED, None]
    Worker.made[3].kill(None)  # the next one dies before it serves
    watching.look(lambda _: None)
    assert [worker.cause for worker in two] == [Cause.RELOADED, None]
    assert "the new worker cannot serve, so the ones from before go on: was killed by SIGKILL" in caplog.text
    watching.look(lambda _: None)
    assert len(Worker.made) == 4


def test_a_worker_that_was_killed_is_replaced_at_once(
    watching: Supervisor, two: list[Worker], caplog: pytest.LogCaptureFixture
) -> None:
    two[0].served_since = time.monotonic() - 60
    two[0].kill(None)
    watching.look(lambda _: None)
    assert [worker.place for worker in Worker.made] == [0, 1, 0]
    assert "worker 1 was killed by SIGKILL; another starts now" in caplog.text


def test_workers_are_not_killed_for_a_silence_in_which_the_supervisor_stood_still_too(
    watching: Supervisor, two: list[Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, now = two[0], time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: now() + 3_600)  # a terminal stopped all of them for an hour
    watching.look(lambda _: None)
    assert first.cause is None
    for silent_s in range(1, 40):
        monkeypatch.setattr(time, "monotonic", lambda silent_s=silent_s: now() + 3_600 + silent_s)
        watching.look(lambda _: None)
    assert first.cause is Cause.HUNG


def test_a_worker_that_has_closed_its_socket_is_not_read_again_and_again(watching: Supervisor) -> None:
    watching.look(lambda _: None)
    (first,) = Worker.made
    first.theirs.close()
    watching.look(lambda _: None)
    assert first.connection not in watching.awaited()
    assert first.process.sentinel in watching.awaited()


def test_a_server_that_stops_accepts_no_connection_that_nobody_would_answer(
    watching: Supervisor, signals: tuple[Signals, socket.socket]
) -> None:
    watching.look(lambda _: None)
    signals[1].send(bytes([signal.SIGTERM]))
    watching.run(lambda _: None)
    assert watching.listening.fileno() == -1


@pytest.mark.parametrize(
    ("code", "words"),
    [(0, "ended with exit code 0"), (-9, "was killed by SIGKILL"), (-40, "was killed by signal 40")],
)
def test_each_exit_code_has_words_also_that_of_a_signal_without_a_name(code: int, words: str) -> None:
    assert how_it_ended(code) == words
