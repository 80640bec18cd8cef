"""A server of several workers as a process, and what to ask it."""

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

import httpx2
from prometheus_client.parser import text_string_to_metric_families

from tests.support.places import ROOT

MAIN = "from quartermaster.cli.main import main; main()"
PATIENCE_S = 50.0
ROUTE = {"request": "undo a payment", "k": 1}


class Fleet:
    """A running `quartermaster serve http --workers N`, whose temporary files are in a folder of its own."""

    def __init__(self, process: "subprocess.Popen[str]", log: Path, temporary: Path) -> None:
        self.process, self.temporary, self._log = process, temporary, log
        assert process.stdout
        self.said = process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+", self.said)
        assert found, self.said + self.log
        self.address = found[0]
        self.asking = self.client(headers={"Connection": "close"})  # whichever worker answers

    @property
    def log(self) -> str:
        """What the server has written to standard error."""
        return self._log.read_text(encoding="utf-8")

    @property
    def living(self) -> list[int]:
        """The process ids of the workers that have served, and live, in their order."""
        return [pid for pid in map(int, re.findall(r"worker (\d+) serves ", self.log)) if is_alive(pid)]

    def client(self, **settings: Any) -> httpx2.Client:
        """A client that keeps a connection for the next request, but not for as long as the server does."""
        limits = httpx2.Limits(keepalive_expiry=2.0)
        return httpx2.Client(base_url=self.address, timeout=PATIENCE_S, limits=limits, **settings)

    def route(self) -> Any:
        """Return the answer to a request, over a connection of its own."""
        return self.asking.post("/v1/route", json=ROUTE).raise_for_status().json()

    def metrics(self) -> dict[tuple[str, ...], float]:
        """Return the samples of /metrics by name and sorted values of labels."""
        families = text_string_to_metric_families(self.asking.get("/metrics").text)
        return {(s.name, *sorted(s.labels.values())): s.value for family in families for s in family.samples}

    def restarts(self, cause: str) -> float:
        """Return how many workers were replaced for a cause."""
        return self.metrics()["quartermaster_worker_restarts_total", cause]

    def wait_for_workers(self, count: int) -> None:
        """Wait until so many workers serve, and all of them know of each other."""
        self.until(lambda: self.metrics()["quartermaster_workers",] == count)

    def until(self, met: Callable[[], object]) -> None:
        """Wait until a condition is met."""
        end = time.monotonic() + PATIENCE_S
        while not met():
            assert time.monotonic() < end, f"nothing came of it: {self.log}"
            time.sleep(0.1)


@contextmanager
def fleet(folder: Path, *options: object, program: Path | None = None) -> Iterator[Fleet]:
    """Start `serve http` with two workers, or a program of one's own, and end it and its workers."""
    temporary, log = folder / "temporary", folder / "log"
    temporary.mkdir()
    command = [program] if program else ["-c", MAIN, "serve", "http", "--port", "0", "--workers", "2"]
    line = [sys.executable, *map(str, (*command, *options))]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(temporary), "PYTHONUNBUFFERED": "1"}
    with (
        log.open("w", encoding="utf-8") as errors,
        subprocess.Popen(
            line, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment, cwd=folder
        ) as process,
    ):
        try:
            running = Fleet(process, log, temporary)
            with running.asking:
                yield running
        finally:
            process.terminate()
            try:
                process.wait(PATIENCE_S)
            finally:
                process.kill()


class Load:
    """Two threads that ask again and again, each over one connection that it opens again when the server closes it."""

    def __init__(self, served: Fleet) -> None:
        self.answers: list[str] = []
        self.failures: list[str] = []
        self._served, self._ended = served, threading.Event()
        self._threads = [threading.Thread(target=self._ask) for _ in range(2)]

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _ask(self) -> None:
        with self._served.client() as client:
            while not self._ended.wait(0.02):  # a pause, so that new workers get to start
                try:
                    answer = client.post("/v1/route", json=ROUTE).raise_for_status()
                    self.answers.append(answer.json()["snapshot"])
                except httpx2.HTTPError as error:
                    self.failures.append(repr(error))


def is_alive(pid: int) -> bool:
    """Return whether a process runs; one that has ended and waits to be reaped does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def killed(pid: int) -> bool:
    """Kill a process, and return whether it has ended within the patience of tests."""
    os.kill(pid, signal.SIGKILL)
    end = time.monotonic() + PATIENCE_S
    while is_alive(pid) and time.monotonic() < end:
        time.sleep(0.02)
    return not is_alive(pid)
