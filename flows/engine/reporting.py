"""What a build tells the Prefect server: never in the way of a build that was paid for."""

import logging
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from queue import Empty
from typing import Any, NoReturn

import httpx
from prefect.client.orchestration import get_client
from prefect.context import SettingsContext, get_settings_context
from prefect.events.worker import EventsWorker
from prefect.exceptions import PrefectException
from prefect.logging.handlers import APILogWorker
from prefect.settings import PREFECT_CLIENT_MAX_RETRIES, temporary_settings

_logger = logging.getLogger("flows")
_PAUSE_S = 300.0  # a server that hangs holds each call for a minute

# What a call to the server raises if it is gone, restarts, or answers with an error.
SERVER_ERRORS = (httpx.HTTPError, PrefectException, OSError)


class ServerReports:
    """Calls to the Prefect server that a build can do without.

    After a call that fails, the next five minutes go without: a server that is gone does not slow the build down.

    Attributes:
        wait_s: Seconds that `wait` waits.
    """

    def __init__(self) -> None:
        self.wait_s = 0.0
        self._silent_until = 0.0

    @property
    def possible(self) -> bool:
        """Return whether a call is worth a try."""
        return time.monotonic() >= self._silent_until

    @contextmanager
    def attempt(self, what: str) -> Iterator[None]:
        """Run one call, or several, without retries, and log what the server lacks if it fails. `what` names it."""
        try:
            with temporary_settings({PREFECT_CLIENT_MAX_RETRIES: 0}):
                yield
        except SERVER_ERRORS as error:
            self._silent_until = time.monotonic() + _PAUSE_S
            _logger.warning("the Prefect server was not told of %s (%s)", what, describe(error))

    def wait(self) -> bool:
        """Wait once for a server that is restarting. Returns whether it answers."""
        answers = _answers(self.wait_s)
        self._silent_until = 0.0 if answers else time.monotonic() + _PAUSE_S
        if not answers:
            self.wait_s = 0.0
        return answers


def describe(error: BaseException) -> str:
    """Return an error of the server in a few words: its kind, and the first line of its text."""
    text = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _answers(wait_s: float) -> bool:
    """Return whether the Prefect server answers within so many seconds."""
    until = time.monotonic() + wait_s
    with temporary_settings({PREFECT_CLIENT_MAX_RETRIES: 0}):
        while True:
            with get_client(sync_client=True) as client:
                if client.api_healthcheck() is None:
                    return True
            if time.monotonic() >= until:
                return False
            time.sleep(1.0)


def give_up_server() -> None:
    """Let this flow run end without its server: its engine asks only once, and the events that wait are dropped.

    Otherwise the engine tries for two minutes, and then the process for seven seconds with each event: hours, for a
    large catalog.
    """
    context = get_settings_context()
    settings = context.settings.copy_with_update(updates={PREFECT_CLIENT_MAX_RETRIES: 0})
    SettingsContext(profile=context.profile, settings=settings).__enter__()  # until the flow's context ends
    drop_events()


def drop_events() -> None:
    """Drop the events and logs that wait to be sent. Prefect has no public way to end without them."""
    services: tuple[Any, ...] = (EventsWorker, APILogWorker)
    for worker in (worker for service in services for worker in tuple(service._instances.values())):
        with suppress(Empty):
            while True:
                worker._queue.get_nowait()
        if isinstance(worker, EventsWorker):
            worker._context_cache.clear()  # each holds what its task held


def end_now(exit_code: int) -> NoReturn:
    """End this process without waiting for the threads of Prefect, which may try to reach a server for minutes."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(exit_code)
