"""The nightly schedule: serves the build as a deployment, on the configured Prefect server or a new one."""

import asyncio
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from flows.engine.runtime import check_server, configure_prefect
from pipeline.errors import RunAborted, SettingsInvalid
from pipeline.settings import CatalogSettings

_PREFECT_PORT = 4200
_START_TIMEOUT_S = 180.0  # a first start also creates the database


def next_runs(cron: str, timezone: str, count: int = 3, start: datetime | None = None) -> list[str]:
    """Return the next `count` times of a schedule as texts, from now or from `start` on.

    Raises SettingsInvalid for a wrong cron or time zone.
    """
    configure_prefect(at_terminal=False)
    from prefect.server.schemas.schedules import CronSchedule
    from pydantic import ValidationError

    try:
        schedule = CronSchedule(cron=cron, timezone=timezone)
    except ValidationError as error:
        reason = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise SettingsInvalid(
            f"--cron {cron!r} with --timezone {timezone!r} is not a schedule: {reason}. At two every night: '0 2 * * *'"
        ) from None
    return [f"{date:%a %Y-%m-%d %H:%M %Z}" for date in asyncio.run(schedule.get_dates(count, start))]


def serve_nightly(
    path: Path,
    settings: CatalogSettings,
    workspace: Path,
    *,
    cron: str,
    timezone: str,
    ready: Callable[[str], None],
    **parameters: Any,
) -> None:
    """Build a catalog at each time of the schedule until the process is interrupted.

    `ready` is called with the address of the server once it answers. `parameters` are others of the flow. Each run is
    its own process, one at a time; the schedule is paused when this process ends, so that no backlog builds up. Raises
    RunAborted if the server does not answer, or does not start.
    """
    configure_prefect(at_terminal=False)
    from prefect.schedules import Cron
    from prefect.settings import PREFECT_API_URL, temporary_settings
    from prefect.types.entrypoint import EntrypointType

    from flows.build_catalog import build_catalog
    from flows.engine.dead_runs import close_dead_runs

    # Prefect's handler of SIGTERM leaves one behind, harmlessly.
    warnings.filterwarnings("ignore", "coroutine 'Runner.astop' was never awaited", RuntimeWarning)
    with server(check_server()) as url, temporary_settings({PREFECT_API_URL: url}):
        close_dead_runs(workspace)
        ready(url.removesuffix("/api"))
        build_catalog.serve(
            name=settings.name,
            schedule=Cron(cron, timezone=timezone),
            parameters={"path": str(path.resolve()), "workspace": str(workspace.resolve()), **parameters},
            description=f"Builds {settings.name} and publishes its snapshot.",
            # A concurrency slot on the server would outlive a killed process; concurrent builds wait for the ledger.
            limit=1,
            print_starting_message=False,
            entrypoint_type=EntrypointType.MODULE_PATH,
        )


@contextmanager
def server(configured: str | None) -> Iterator[str]:
    """Yield the API's address of the configured server, or of a new one on loopback that ends with this block."""
    if configured:
        yield configured
        return
    port = _free_port()
    address = f"http://127.0.0.1:{port}"
    environment = {**os.environ, "PREFECT_SERVER_UI_API_URL": f"{address}/api"}
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(  # noqa: S603 - our own arguments, no shell
        command,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # Otherwise Ctrl-C would also end the server, to which the runs still report their end.
        start_new_session=True,
    )
    try:
        _wait_until_healthy(process, f"{address}/api/health")
        yield f"{address}/api"
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _free_port() -> int:
    """Return Prefect's usual port if it is free, so that people find the pages; else any free one."""
    for port in (_PREFECT_PORT, 0):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise RunAborted("no free port for a Prefect server on this machine")


def _wait_until_healthy(process: "subprocess.Popen[bytes]", health: str) -> None:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RunAborted(
                f"the Prefect server ended with exit code {process.returncode}: run `prefect server start` to see why"
            )
        try:
            with urllib.request.urlopen(health, timeout=5) as response:  # noqa: S310 - our own server on loopback
                if response.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise RunAborted(f"the Prefect server did not answer within {_START_TIMEOUT_S:g} s at {health}")
