"""`serve http --workers 2` as it is run: two processes that answer, are killed, replaced and told to end."""

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
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.support.command_line import started
from tests.support.places import ROOT

pytestmark = pytest.mark.skipif(not Path("/proc").is_dir(), reason="asks /proc which processes live")
_COMMAND = [sys.executable, "-c", "from quartermaster.cli.main import main; main()", "serve", "http", "--workers", "2"]
_PATIENCE_S = 150.0
_ROUTE = {"request": "undo a payment", "k": 1}
_REQUESTS = ("quartermaster_http_requests_total", "/v1/route", "200", "POST")


class Fleet:
    """A running server of two workers, whose temporary files are in a folder of its own."""

    def __init__(self, process: "subprocess.Popen[str]", log: Path, temporary: Path) -> None:
        self.process, self.temporary, self._log = process, temporary, log
        assert process.stdout
        self.said = process.stdout.readline()
        found = re.fullmatch(r"8 tools of \S+ at (http://127\.0\.0\.1:\d+) with 2 workers\n", self.said)
        assert found, self.said + self.log
        self.client = httpx2.Client(base_url=found[1], timeout=_PATIENCE_S, headers={"Connection": "close"})

    @property
    def log(self) -> str:
        return self._log.read_text(encoding="utf-8")

    @property
    def living(self) -> list[int]:
        """The process ids of the workers, in the order in which they started."""
        return [pid for pid in map(int, re.findall(r"Started server process \[(\d+)", self.log)) if is_alive(pid)]

    def route(self) -> Any:
        return self.client.post("/v1/route", json=_ROUTE).raise_for_status().json()

    def metrics(self) -> dict[tuple[str, ...], float]:
        families = text_string_to_metric_families(self.client.get("/metrics").text)
        return {(s.name, *sorted(s.labels.values())): s.value for family in families for s in family.samples}

    def wait_for_both(self) -> None:
        self.until(lambda: self.metrics()["quartermaster_workers",] == 2)

    def until(self, met: Callable[[], object]) -> None:
        end = time.monotonic() + _PATIENCE_S
        while not met():
            assert time.monotonic() < end, f"nothing came of it: {self.log}"
            time.sleep(0.1)


@contextmanager
def fleet(folder: Path, *options: object) -> Iterator[Fleet]:
    temporary, log = folder / "temporary", folder / "log"
    temporary.mkdir()
    line = [*_COMMAND, "--port", "0", "--requests-per-minute", "0", *map(str, options)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(temporary), "PYTHONUNBUFFERED": "1"}
    with (
        log.open("w", encoding="utf-8") as errors,
        subprocess.Popen(
            line, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment, cwd=folder
        ) as process,
    ):
        try:
            running = Fleet(process, log, temporary)
            with running.client:
                yield running
        finally:
            process.terminate()
            try:
                process.wait(_PATIENCE_S)
            finally:
                process.kill()


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits to be reaped does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def test_two_workers_count_together_a_killed_one_is_replaced_and_all_end_with_the_server(
    snapshot: Path, tmp_path: Path
) -> None:
    with fleet(tmp_path, "--snapshot", snapshot) as served:
        served.wait_for_both()
        for _ in range(6):
            served.route()
        served.until(lambda: served.metrics()[_REQUESTS] == 6)  # an answer is counted once it is sent
        first, other = served.living
        os.kill(first, signal.SIGKILL)
        served.until(lambda: f"Child process [{first}] died" in served.log)
        served.wait_for_both()
        assert served.metrics()[_REQUESTS] == 6
        served.process.send_signal(signal.SIGTERM)
        assert served.process.wait(_PATIENCE_S) == 0
        assert not is_alive(other)
        assert list(served.temporary.iterdir()) == []
        assert "Traceback" not in served.log


@pytest.mark.nightly
def test_sighup_replaces_the_workers_without_losing_a_request_unless_the_new_settings_are_wrong(
    snapshot: Path, tmp_path: Path
) -> None:
    selection, ended = tmp_path / "selection.toml", threading.Event()
    lost: list[str] = []
    selection.write_text('block = ["linear/*"]\n')

    def ask() -> None:  # over one connection, which it opens again when the server closes it
        with httpx2.Client(base_url=served.client.base_url, timeout=_PATIENCE_S) as client:
            while not ended.wait(0.02):  # a pause, so that new workers get to start
                try:
                    client.post("/v1/route", json=_ROUTE).raise_for_status()
                except httpx2.HTTPError as error:
                    lost.append(repr(error))

    with fleet(tmp_path, "--snapshot", snapshot, "--selection", selection) as served:
        served.wait_for_both()
        before, clients = served.living, [threading.Thread(target=ask) for _ in range(2)]
        for client in clients:
            client.start()
        served.process.send_signal(signal.SIGHUP)
        served.until(lambda: not any(map(is_alive, before)))
        served.wait_for_both()
        before = served.living
        selection.write_text("block = 7\n")
        served.process.send_signal(signal.SIGHUP)
        served.until(lambda: "aborting the restart" in served.log)
        ended.set()
        for client in clients:
            client.join()
        assert "this worker cannot start: " in served.log
        assert lost == []
        assert [pid for pid in before if is_alive(pid)] == before


@pytest.mark.nightly
def test_workers_end_where_their_supervisor_is_killed(snapshot: Path, tmp_path: Path) -> None:
    with fleet(tmp_path, "--snapshot", snapshot) as served:
        served.wait_for_both()
        workers = served.living
        served.process.kill()
        served.until(lambda: not any(map(is_alive, workers)))


@pytest.mark.nightly
def test_a_server_that_cannot_start_says_why_and_does_not_try_again(tmp_path: Path) -> None:
    done = started(tmp_path, "serve", "http", "--snapshot", tmp_path, "--port", "0", "--workers", "2")
    assert done.returncode == 4, done.stderr
    assert done.stderr.startswith("quartermaster: ") and done.stderr.count("\n") == 1
