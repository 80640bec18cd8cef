"""Two schedulers of one catalog on one Prefect server, as a rolling restart has them: the first ends, one goes on."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

from tests.support.places import ROOT
from tests.support.waiting import until

_START_S, _END_S = 150, 60
_SERVER = ("-m", "uvicorn", "--factory", "prefect.server.api.server:create_app", "--log-level=critical")


def rolling_restart(catalog: Path, workspace: Path) -> Iterator[str]:
    """Start two schedulers, end the first, and yield a sentence for each promise that is broken."""
    with TemporaryDirectory() as folder, ExitStack() as stack:
        home = Path(folder)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        api = f"http://127.0.0.1:{port}/api"
        variables = {"PREFECT_HOME": folder, "PREFECT_API_URL": api, "XDG_STATE_HOME": str(home / "state")}
        stack.enter_context(_started(home / "server", variables, *_SERVER, f"--port={port}"))
        assert until(lambda: _deployments(api) is not None, _START_S), "the Prefect server did not start"
        schedule = ("-m", "quartermaster", "schedule", str(catalog), "--workspace", str(workspace), "--allow-commands")
        first = stack.enter_context(_started(home / "first", variables, *schedule))
        assert until(lambda: _is_scheduled(api), _START_S), (home / "first").read_text()
        registered = _updated(api)
        second = stack.enter_context(_started(home / "second", variables, *schedule))
        assert until(lambda: _updated(api) != registered or second.poll() is not None, _START_S)
        first.send_signal(signal.SIGTERM)
        first.wait(_END_S)
        if not _is_scheduled(api):
            yield "no build is scheduled any more after one of two schedulers ended"


def _is_scheduled(api: str) -> bool:
    return any(
        not deployment["paused"] and any(schedule["active"] for schedule in deployment["schedules"])
        for deployment in _deployments(api) or ()
    )


def _updated(api: str) -> list[str]:
    return [schedule["id"] + schedule["updated"] for one in _deployments(api) or () for schedule in one["schedules"]]


def _deployments(api: str) -> list[dict[str, Any]] | None:
    """Return the deployments that a server has, after a moment; None where it does not answer."""
    time.sleep(0.2)
    request = Request(f"{api}/deployments/filter", b"{}", {"content-type": "application/json"})
    with suppress(URLError, OSError), urlopen(request, timeout=10) as response:
        return list(json.load(response))
    return None


@contextmanager
def _started(output: Path, variables: dict[str, str], *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run Python as a process of its own that writes to a file; end it with the block."""
    with output.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "120", **variables},
            stdout=stream,
            stderr=stream,
            cwd=output.parent,
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()
