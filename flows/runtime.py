"""Prefect around a flow: its settings, a server, and our progress and logs in a flow run.

Prefect reads its settings when it is imported, so they are set first.
"""

import logging
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from pipeline.errors import RunAborted
from pipeline.progress import Progress, SilentProgress
from router.distribution import PACKAGES

_PREFECT_PORT = 4200
_START_TIMEOUT_S = 180.0  # a first start also creates the database
_PROGRESS: ContextVar[Progress | None] = ContextVar("progress", default=None)

_SETTINGS = {
    # No telemetry leaves the machine.
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_LOGGING_LEVEL": "CRITICAL",
    # Prefect tries again after 429, 502 and 503. A server that fails otherwise for a moment must not fail a run.
    "PREFECT_CLIENT_RETRY_EXTRA_CODES": "500,504",
}


def configure_prefect(*, at_terminal: bool) -> None:
    """Set the variables that the user has not set. `at_terminal` keeps logs off it: the command line shows progress."""
    for variable, value in _SETTINGS.items():
        os.environ.setdefault(variable, value)
    if at_terminal and "PREFECT_LOGGING_LEVEL" not in os.environ:
        for variable in ("PREFECT_INTERNAL_LOGGING_LEVEL", "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL"):
            os.environ.setdefault(variable, "CRITICAL")


@contextmanager
def server() -> Iterator[str]:
    """Yield the API's address of the configured server, or of a new one on loopback that ends with this block.

    Raises RunAborted where it does not answer, or does not start.
    """
    from prefect.client.orchestration import get_client
    from prefect.events.worker import EventsWorker
    from prefect.logging.handlers import APILogWorker
    from prefect.settings import PREFECT_API_URL, temporary_settings

    if url := PREFECT_API_URL.value():
        with get_client(sync_client=True) as client:
            error = client.api_healthcheck()
        if error is not None:
            raise RunAborted(
                f"the Prefect server {url} does not answer ({type(error).__name__}): start it, or unset PREFECT_API_URL"
            )
        yield url
        return
    address = f"http://127.0.0.1:{_free_port()}"
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", address[17:]]
    process = subprocess.Popen(  # noqa: S603 - our own arguments, no shell
        command,
        env={**os.environ, "PREFECT_SERVER_UI_API_URL": f"{address}/api"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # Otherwise Ctrl-C would also end the server, to which the runs still report their end.
        start_new_session=True,
    )
    try:
        _wait_until_healthy(process, f"{address}/api/health")
        with temporary_settings({PREFECT_API_URL: f"{address}/api"}):
            yield f"{address}/api"
    finally:
        for worker in (EventsWorker, APILogWorker):  # they send what they still have
            worker.drain_all(timeout=20)
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


@contextmanager
def shown_on(progress: Progress) -> Iterator[None]:
    """Show on `progress` what flows do that this block calls. It is not their parameter: those must be JSON."""
    token = _PROGRESS.set(progress)
    try:
        yield
    finally:
        _PROGRESS.reset(token)


def current_progress() -> Progress:
    """Return what shows the progress of this flow."""
    return _PROGRESS.get() or SilentProgress()


@contextmanager
def logs_on_server() -> Iterator[None]:
    """Send what our loggers say in this block, from INFO on, to the log of the flow or task run that says it."""
    from prefect.context import FlowRunContext, TaskRunContext
    from prefect.logging.handlers import APILogHandler

    handler = APILogHandler(logging.INFO)
    handler.addFilter(lambda _: bool(FlowRunContext.get() or TaskRunContext.get()))
    loggers = [logging.getLogger(name) for name in PACKAGES]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(logger.level or logging.INFO)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.removeHandler(handler)
            logger.setLevel(level)
