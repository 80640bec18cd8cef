"""Records of our own loggers in the log of a flow run, on the Prefect server."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Context, copy_context
from threading import Lock

from prefect.context import FlowRunContext, TaskRunContext
from prefect.logging.handlers import APILogHandler, PrefectConsoleHandler

from router.distribution import PACKAGES

_OF_PREFECT = ("prefect", "EventsWorker", "APILogWorker")


class _RunLogHandler(APILogHandler):
    """Sends records to the log of the task run or flow run that they arise in; those of threads to the flow run's."""

    def __init__(self) -> None:
        super().__init__()
        self._runs: list[Context] = []
        self._without_level: list[logging.Logger] = []

    def emit(self, record: logging.LogRecord) -> None:
        if FlowRunContext.get() or TaskRunContext.get():
            super().emit(record)
        elif self._runs:
            self._runs[-1].copy().run(super().emit, record)

    def begin(self, run: Context) -> None:
        """Send the records of one more run."""
        if not self._runs:
            loggers = [logging.getLogger(name) for name in PACKAGES]
            self._without_level = [logger for logger in loggers if logger.level == logging.NOTSET]
            for logger in loggers:
                logger.addHandler(self)
            for logger in self._without_level:
                logger.setLevel(logging.INFO)
        self._runs.append(run)

    def end(self, run: Context) -> None:
        """Send the records of one run less; after the last, leave the loggers as they were."""
        self._runs.remove(run)
        if not self._runs:
            for name in PACKAGES:
                logging.getLogger(name).removeHandler(self)
            for logger in self._without_level:
                logger.setLevel(logging.NOTSET)


_handler = _RunLogHandler()
_lock = Lock()


@contextmanager
def logs_on_server() -> Iterator[None]:
    """Send what our loggers say in this block, from INFO on, to the log of the flow run that it is called in."""
    run = copy_context()
    with _lock:
        _handler.begin(run)
    try:
        yield
    finally:
        with _lock:
            _handler.end(run)


def silence_console() -> None:
    """Keep off the terminal what Prefect logs, and what we log below WARNING; the server gets it all the same."""
    import prefect.main  # noqa: F401 - it sets up the console, once

    for handler in logging.getLogger().handlers:
        if isinstance(handler, PrefectConsoleHandler):
            handler.addFilter(_is_for_terminal)
    logging.raiseExceptions = False  # a log that the server cannot take is not told on the terminal either


def _is_for_terminal(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.WARNING and record.name.partition(".")[0] not in _OF_PREFECT
