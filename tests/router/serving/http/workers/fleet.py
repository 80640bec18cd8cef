"""A server of several workers as a process, and what to ask it."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from tests.support.places import ROOT

MAIN = "from flows.cli.main import main; main()"
PATIENCE_S = 50.0
IDLE_S = 2.0  # the server closes a connection after 5


class Fleet:
    """A running `quartermaster serve http --workers N`, whose temporary files are in a folder of its own."""

    def __init__(self, process: "subprocess.Popen[str]", log: Path, temporary: Path) -> None:
        self.process, self.temporary, self._log = process, temporary, log
        assert process.stdout
        self.said = process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)", self.said)
        assert found, self.said + self.log
        self.port = int(found[1])

    @property
    def log(self) -> str:
        """What the server has written to standard error."""
        return self._log.read_text(encoding="utf-8")

    @property
    def started(self) -> list[int]:
        """The process ids of all workers that have served, in their order."""
        return [int(pid) for pid in re.findall(r"worker (\d+) serves ", self.log)]

    @property
    def living(self) -> list[int]:
        """The process ids of those that live."""
        return [pid for pid in self.started if is_alive(pid)]

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        """Return status and content of an answer, over a connection of its own."""
        with connection(self.port) as opened:
            return answer(opened, method, path, body)

    def route(self) -> Any:
        """Return the answer to a request."""
        status, content = self.ask("POST", "/v1/route", {"request": "undo a payment", "k": 1})
        assert status == 200, content
        return json.loads(content)

    def metrics(self) -> dict[tuple[str, ...], float]:
        """Return the samples of /metrics by name and sorted values of labels."""
        families = text_string_to_metric_families(self.ask("GET", "/metrics")[1].decode())
        return {(s.name, *sorted(s.labels.values())): s.value for family in families for s in family.samples}

    def wait_for_workers(self, count: int) -> None:
        """Wait until so many workers serve, and all of them know of each other."""
        until(lambda: self.metrics()["quartermaster_workers",] == count, self)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the supervisor."""
        self.process.send_signal(number)


@contextmanager
def fleet(folder: Path, *options: object, program: Path | None = None) -> Iterator[Fleet]:
    """Start `serve http` with two workers, or a program of one's own, and end it and its workers."""
    temporary, log = folder / "temporary", folder / "log"
    temporary.mkdir()
    command = [program] if program else ["-c", MAIN, "serve", "http", "--port", "0", "--workers", "2"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(temporary), "PYTHONUNBUFFERED": "1"}
    with (
        log.open("w", encoding="utf-8") as errors,
        subprocess.Popen(
            [sys.executable, *map(str, (*command, *options))],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=environment,
            cwd=folder,
        ) as process,
    ):
        try:
            yield Fleet(process, log, temporary)
        finally:
            process.terminate()
            try:
                process.wait(PATIENCE_S)
            finally:
                process.kill()


@contextmanager
def connection(port: int) -> Iterator[http.client.HTTPConnection]:
    """Open a connection to a server of this machine."""
    opened = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    try:
        yield opened
    finally:
        opened.close()


def answer(opened: http.client.HTTPConnection, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
    """Return status and content of an answer over a connection."""
    headers = {"Content-Type": "application/json"}
    opened.request(method, path, None if body is None else json.dumps(body), headers)
    response = opened.getresponse()
    return response.status, response.read()


class Load:
    """Threads that ask again and again, each over one connection that it opens again when the server closes it."""

    def __init__(self, served: Fleet, threads: int = 2) -> None:
        self.answers: list[str] = []
        self.failures: list[str] = []
        self._served, self._ended = served, threading.Event()
        self._threads = [threading.Thread(target=self._ask) for _ in range(threads)]

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _ask(self) -> None:
        with connection(self._served.port) as opened:
            answered_at = time.monotonic()
            while not self._ended.wait(0.02):  # a pause, so that new workers get to start
                if time.monotonic() - answered_at > IDLE_S:  # the server may close it now: the machine is slow
                    opened.close()
                try:
                    status, content = answer(opened, "POST", "/v1/route", {"request": "undo a payment", "k": 1})
                except (OSError, http.client.HTTPException) as error:
                    self.failures.append(repr(error))
                    opened.close()
                    continue
                answered_at = time.monotonic()
                if status == 200:
                    self.answers.append(json.loads(content)["snapshot"])
                else:
                    self.failures.append(f"{status} {content!r}")


def until(met: Callable[[], bool], served: Fleet | None = None) -> None:
    """Wait until a condition is met."""
    end = time.monotonic() + PATIENCE_S
    while not met():
        assert time.monotonic() < end, "nothing came of it" + (served.log if served else "")
        time.sleep(0.05)


def is_alive(pid: int) -> bool:
    """Return whether a process runs; one that has ended and waits to be reaped does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
