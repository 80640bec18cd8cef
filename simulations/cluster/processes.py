"""A Dask cluster of real processes on loopback, and builds as processes beside it."""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simulations.cluster.faults import FOLDER
from tests.support.places import ROOT

_WORKERS = 2
_START_S = 90.0


@dataclass(frozen=True)
class Cluster:
    """A scheduler's address and process."""

    address: str
    scheduler: "subprocess.Popen[bytes]"


@contextmanager
def cluster(faults: Path) -> Iterator[Cluster]:
    """Yield a running cluster, whose workers preload the faults."""
    environment = {
        **os.environ,
        FOLDER: str(faults),
        "PYTHONPATH": str(ROOT),
        "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "2",
        "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL",
    }
    started: list[subprocess.Popen[bytes]] = []

    def start(*command: str, log: Any = subprocess.DEVNULL) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli." + command[0], *command[1:]],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=log,
        )
        started.append(process)
        return process

    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "scheduler.log"
        try:
            with log.open("wb") as stream:
                scheduler = start("dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", log=stream)
            address = _address(log)
            preload = ("--preload", "simulations.cluster.faults")
            quiet = ("--no-dashboard", "--local-directory", folder, "--death-timeout", "60")
            for _ in range(_WORKERS):
                start("dask_worker", address, "--nthreads", "1", "--memory-limit", "0", *quiet, *preload)
            yield Cluster(address, scheduler)
        finally:
            for process in reversed(started):
                process.terminate()
            for process in started:
                try:
                    process.wait(15)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


def _address(log: Path) -> str:
    """Return the scheduler's address, once its log has it."""
    until = time.monotonic() + _START_S
    while time.monotonic() < until:
        if found := re.search(r"tcp://127\.0\.0\.1:\d+", log.read_text(encoding="utf-8")):
            return found.group()
        time.sleep(0.1)
    raise AssertionError(log.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Build:
    """How a build ended: its exit code, its report and what it said last."""

    exit_code: int
    report: dict[str, Any]
    said: str

    @property
    def snapshot(self) -> Path:
        return Path(self.report["snapshot"])


def start_build(catalog: Path, workspace: Path, encoder: Path, address: str | None) -> "subprocess.Popen[str]":
    """Start a build: as a flow on the cluster at `address`, or a plain one."""
    options = ["--workspace", str(workspace), "--encoder", str(encoder), "--json", "--force"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    if address:
        options.append("--flow")
        environment |= {"QUARTERMASTER_FLOW__RUNNER": "dask", "QUARTERMASTER_FLOW__DASK_ADDRESS": address}
    return subprocess.Popen(
        [sys.executable, "-m", "quartermaster", "build", str(catalog), *options],
        env=environment,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def end_of(process: "subprocess.Popen[str]", timeout_s: float = 300.0) -> Build:
    """Wait for a build, and return how it ended."""
    output, said = process.communicate(timeout=timeout_s)
    report = json.loads(output) if output.startswith("{") else {}
    return Build(process.returncode, report, said.strip().rpartition("\n")[2])
