"""The nightly schedule: serves the build as a deployment, on the configured Prefect server or a new one."""

import asyncio
import os
import warnings
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from socket import gethostname
from typing import Any

from flows.runtime import configure_prefect, server
from pipeline.errors import SettingsInvalid
from pipeline.settings import CatalogSettings


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
    tell: Callable[[str], None],
    **parameters: Any,
) -> None:
    """Build a catalog at each time of the schedule until the process is interrupted.

    `ready` is called with the address of the server once it answers, `tell` with a sentence about another process that
    serves this catalog there, or about runs that were missed. `parameters` are others of the flow. Each run is its own
    process, one at a time. Raises RunAborted if the server does not answer, or does not start.
    """
    configure_prefect(at_terminal=False)
    from prefect.schedules import Cron
    from prefect.types.entrypoint import EntrypointType

    from flows.build_catalog import build_catalog
    from flows.serving import look_around

    # Prefect's handler of SIGTERM leaves one behind, harmlessly.
    warnings.filterwarnings("ignore", "coroutine 'Runner.astop' was never awaited", RuntimeWarning)
    with server() as url:
        ready(url.removesuffix("/api"))
        look_around(f"{build_catalog.name}/{settings.name}", tell)
        try:
            build_catalog.serve(
                name=settings.name,
                schedule=Cron(cron, timezone=timezone),
                parameters={"path": str(path.resolve()), "workspace": str(workspace.resolve()), **parameters},
                description=f"{path.resolve()} into {workspace.resolve()}, process {os.getpid()} on {gethostname()}.",
                # Another process may serve it too; what is missed while none does is removed by the next.
                pause_on_shutdown=False,
                paused=False,  # as earlier versions left it
                # A slot on the server would outlive a killed process; concurrent builds wait for the ledger.
                limit=1,
                print_starting_message=False,
                entrypoint_type=EntrypointType.MODULE_PATH,
            )
        except SystemExit as end:  # Prefect's answer to SIGTERM, once its runs have ended
            if end.code:
                raise
