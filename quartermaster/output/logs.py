"""The log of the command line, configured in this one place: plain lines or JSON on standard error.

Library code only asks for a logger by its module's name. Nothing is configured while modules are imported. Neither
form shows a secret of the build that runs.
"""

import json
import logging
import sys
from collections.abc import Iterator, Set
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from pipeline.current_run import current_run
from quartermaster.output.terminal import err, plain_text, say
from router.distribution import PACKAGES

# What a record of ours may hold beside its message.
_FIELDS = ("event", "stage", "outcome", "snapshot", "seconds", "wait_s", "counts", "exit_code")


class JsonLines(logging.Formatter):
    """Writes a record as one JSON object in one line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the object: time, level, logger, message, the run, and what else the record holds."""
        run = current_run()
        fields: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _message(record),
            "catalog": run.catalog if run else None,
            "run": run.run if run else None,
        }
        fields |= {name: value for name in _FIELDS if (value := getattr(record, name, None)) is not None}
        if record.exc_info:
            fields["traceback"] = _redacted(self.formatException(record.exc_info))
        return json.dumps(fields, ensure_ascii=False, default=str)


class PlainLines(logging.Formatter):
    """Writes a record as one line of text, with the time in front where the line goes to a file."""

    def __init__(self, *, timed: bool) -> None:
        super().__init__()
        self._timed = timed

    def format(self, record: logging.LogRecord) -> str:
        """Return the line. A message may quote a catalog or a server: it is data, and stays in its line."""
        line = plain_text(" ".join(_message(record).split())).plain
        if not self._timed:
            return line
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="seconds")
        return f"{moment} {record.levelname} {line}"


def _message(record: logging.LogRecord) -> str:
    return _redacted(record.getMessage())


def _redacted(text: str) -> str:
    run = current_run()
    return run.redact(text) if run else text


FORMAT_VARIABLE, LEVEL_VARIABLE = "QUARTERMASTER_LOG_FORMAT", "QUARTERMASTER_LOG_LEVEL"
# Progress bars show these on a terminal.
_OF_BARS = frozenset(("stage_started", "stage_ended", "note", "published", "finished", "retry", "rate_limited"))
# The summary shows these, and the sentence at the end of a build that failed.
_OF_SUMMARY = frozenset(("degraded", "stale", "held", "failed"))


class LogFormat(StrEnum):
    """How the log is written."""

    TEXT = "text"
    JSON = "json"


class LogLevel(StrEnum):
    """The least level that is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class _Lines(logging.Handler):
    """Writes records to standard error, above progress bars. A lost reader is no error."""

    def emit(self, record: logging.LogRecord) -> None:
        line = self.format(record)
        if isinstance(self.formatter, JsonLines):
            try:
                print(line, file=sys.stderr, flush=True)
            except (OSError, ValueError):
                return
        else:
            say(line)


class _NoRepeats(logging.Filter):
    """Leaves out a note that was just logged: a build logs its notes, and passes them on to whoever shows them."""

    def __init__(self) -> None:
        super().__init__()
        self._last = ""

    def filter(self, record: logging.LogRecord) -> bool:
        if getattr(record, "event", None) != "note":
            return True
        last, self._last = self._last, record.getMessage()
        return last != self._last


class _Without(logging.Filter):
    """Leaves out the records of some events, which are shown otherwise."""

    def __init__(self, events: Set[str]) -> None:
        super().__init__()
        self._events = events

    def filter(self, record: logging.LogRecord) -> bool:
        return getattr(record, "event", None) not in self._events


class LoggedProgress:
    """The progress of a build where no bars are shown. The build itself logs its stages."""

    def start(self, stage: str, total: int | None = None) -> None:
        """Ignore that a stage begins."""

    def advance(self, count: int = 1) -> None:
        """Ignore what is done."""

    def note(self, message: str) -> None:
        """Log a message, unless the build has."""
        logging.getLogger(__name__).info("%s", message, extra={"event": "note"})


class _LogStream:
    """A stream whose lines are log records: what else is printed on standard error."""

    encoding = "utf-8"

    def write(self, text: str) -> int:
        for line in text.splitlines():
            if line.strip():
                logging.getLogger(__name__).info("%s", line.rstrip(), extra={"event": "output"})
        return len(text)

    def flush(self) -> None:
        return None

    def isatty(self) -> bool:
        return False


@contextmanager
def logging_to_stderr(form: LogFormat, level: LogLevel, *, summary: bool) -> Iterator[None]:
    """Log our own records from `level` on, and the warnings of libraries, to standard error inside the `with` block.

    `summary` says that a summary for people follows, which shows what held a snapshot back. As JSON nothing else is
    written to standard error. Libraries are never logged below WARNING: they would quote addresses and headers.
    """
    as_json = form is LogFormat.JSON
    handler, of_libraries = _Lines(), _Lines()
    for each in (handler, of_libraries):
        each.setFormatter(JsonLines() if as_json else PlainLines(timed=not err.is_terminal))
    handler.addFilter(_NoRepeats())
    handler.addFilter(_Without(frozenset() if as_json else _shown_otherwise(summary)))
    of_libraries.setLevel(logging.WARNING)  # a library may have given its own loggers another
    own, root = [logging.getLogger(name) for name in PACKAGES], logging.getLogger()
    before = [(logger, logger.level, logger.propagate) for logger in own]
    for logger in own:
        logger.addHandler(handler)
        logger.setLevel(level.upper())
        logger.propagate = False  # whatever a library does to the root logger, our records are written once
    root.addHandler(of_libraries)
    if as_json:
        logging.captureWarnings(True)
        err.file = _LogStream()  # type: ignore[assignment]  # it has what a console uses
    try:
        yield
    finally:
        if as_json:
            logging.captureWarnings(False)
            err.file = None  # type: ignore[assignment]  # standard error again
        root.removeHandler(of_libraries)
        for logger, old_level, propagates in before:
            logger.removeHandler(handler)
            logger.setLevel(old_level)
            logger.propagate = propagates


def log_failure(message: str, exit_code: int, traced: BaseException | None = None) -> None:
    """Write the failure of a command as a JSON line, where `logging_to_stderr` has ended.

    `traced` is the error whose traceback the line has.
    """
    trace = (type(traced), traced, traced.__traceback__) if traced is not None else None
    record = logging.LogRecord(__name__, logging.ERROR, __file__, 0, "%s", (message,), trace)
    record.event, record.exit_code = "exit", exit_code
    print(JsonLines().format(record), file=sys.stderr, flush=True)


def _shown_otherwise(summary: bool) -> frozenset[str]:
    shown = _OF_BARS if err.is_terminal else frozenset[str]()
    return shown | (_OF_SUMMARY if summary else frozenset(("failed",)))
