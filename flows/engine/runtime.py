"""Prefect's settings: it reads them when it is imported, so they are set first."""

import os

from pipeline.errors import RunAborted

_SETTINGS = {
    # No telemetry leaves the machine.
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    # The first start on a new PREFECT_HOME creates a database, which takes longer than the default of 20 s.
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "180",
    "PREFECT_SERVER_LOGGING_LEVEL": "CRITICAL",
    # Prefect tries again after 429, 502 and 503. A server that fails otherwise for a moment must not fail a run.
    "PREFECT_CLIENT_RETRY_EXTRA_CODES": "500,504",
}


def configure_prefect(*, at_terminal: bool) -> None:
    """Set the variables that the user has not set. `at_terminal` keeps logs off it: the command line shows progress."""
    for variable, value in _SETTINGS.items():
        os.environ.setdefault(variable, value)
    if at_terminal and "PREFECT_LOGGING_LEVEL" not in os.environ:
        os.environ.setdefault("PREFECT_INTERNAL_LOGGING_LEVEL", "CRITICAL")
        from flows.engine.run_logs import silence_console

        silence_console()


def check_server() -> str | None:
    """Return the address of the configured server's API, None without one. Raises RunAborted if it does not answer."""
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
