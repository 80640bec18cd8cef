"""Prefect, started quietly: it reads its settings when it is imported, so they are set first."""

import os

from pipeline.errors import RunAborted

_QUIET = {
    # No telemetry leaves the machine.
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    # On a new PREFECT_HOME the first start makes a database: 26 s measured, and the default gives up after 20.
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "180",
    "PREFECT_SERVER_LOGGING_LEVEL": "CRITICAL",
}


def quiet(*, at_terminal: bool) -> None:
    """Set what the user has not. `at_terminal`: the command line draws progress and errors, so logs are left out."""
    for variable, value in _QUIET.items():
        os.environ.setdefault(variable, value)
    if at_terminal:
        os.environ.setdefault("PREFECT_LOGGING_LEVEL", "CRITICAL")


def check_server() -> str | None:
    """The address of the configured server's API, None where none is. Raises RunAborted where it does not answer."""
    from prefect.client.orchestration import get_client
    from prefect.settings import PREFECT_API_URL

    url: str | None = PREFECT_API_URL.value()
    if url:
        with get_client(sync_client=True) as client:
            error = client.api_healthcheck()
        if error is not None:
            raise RunAborted(
                f"the Prefect server {url} does not answer ({type(error).__name__}): start it, or unset PREFECT_API_URL"
            )
    return url
