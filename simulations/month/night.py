"""Runs the command line of one night at a given time, in this process; or in another, to be killed in the middle."""

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import time_machine

from tests.support.command_line import Done, called
from tests.support.places import ROOT

_COUNTED = ("open", "os.rename", "os.remove", "os.mkdir", "os.link", "socket.connect", "import")


def at_night(folder: Path, at: datetime, *arguments: object, **variables: str) -> Done:
    """Run `quartermaster` in a folder, with the clock at a time."""
    with time_machine.travel(at, tick=True):
        return called(folder, *arguments, **variables)


def interrupted_night(
    folder: Path,
    at: datetime,
    *arguments: object,
    kill_at: int = 0,
    max_file_bytes: int = 0,
    variables: Mapping[str, str],
) -> Done:
    """Run `quartermaster` in a process of its own.

    With `kill_at` the process kills itself at that operation on files and sockets, counted from the command's start.
    `max_file_bytes` bounds every file that it writes, as a full disk would.
    """
    given = json.dumps([at.isoformat(), kill_at, max_file_bytes, *map(str, arguments)])
    return subprocess.run(
        [sys.executable, "-m", "simulations.month.night", given],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "120", **variables},
    )


def harm_ledger(ledger: Path, host: str) -> None:
    """Do to a ledger what befalls it on a host in some nights."""
    if host == "ledger lost":
        ledger.unlink(missing_ok=True)
        Path(f"{ledger}.wal").unlink(missing_ok=True)
    elif host == "ledger cut" and ledger.is_file():
        ledger.write_bytes(ledger.read_bytes()[: ledger.stat().st_size // 2])


def _kill_at(operation: int) -> None:
    """Kill this process at its so many-th operation."""
    counted = 0

    def count(event: str, _: object) -> None:
        nonlocal counted
        counted += event in _COUNTED
        if counted == operation:
            counted += 1  # the kill is an event too
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)


def _main() -> None:
    at, kill_at, max_file_bytes, *arguments = json.loads(sys.argv[1])
    from pipeline.build import build  # noqa: F401 - before the count: imports differ from machine to machine
    from quartermaster.cli.main import main

    if max_file_bytes:
        resource.setrlimit(resource.RLIMIT_FSIZE, (max_file_bytes, max_file_bytes))
    if kill_at:
        _kill_at(kill_at)
    sys.argv = ["quartermaster", *arguments]
    with time_machine.travel(datetime.fromisoformat(at), tick=True):
        main()


if __name__ == "__main__":
    _main()
