"""The log of the command line, configured in this one place: plain lines or JSON on standard error.

Library code only asks for a logger by its module's name, and nothing is configured while modules are imported. Neither
form shows a secret of the build that runs.
"""

import logging
import sys
from collections.abc import Iterator, Set
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from pipeline.current_run import current_run
from pipeline.progress import SilentProgress
from quartermaster.output.terminal import err, json_text, plain_text, print_err
from router.distribution import PACKAGES

FORMAT_VARIABLE, LEVEL_VARIABLE = "QUARTERMASTER_LOG_FORMAT", "QUARTERMASTER_LOG_LEVEL"
# What a record of ours may hold beside its message.
_FIELDS = ("event", "stage", "outcome", "snapshot", "seconds", "wait_s", "counts", "exit_code")
# Progress bars show these on a terminal.
_OF_BARS = frozenset(("stage_started", "stage_ended", "note", "published", "finished", "retry", "rate_limited"))
# The summary shows these, and the sentence at the end of a build that failed.
_OF_SUMMARY = frozenset(("degraded", "stale", "held", "failed"))
_logger = logging.getLogger(__name__)
LogFormat = StrEnum("LogFormat", ["TEXT", "JSON"])
LogLevel = StrEnum("LogLevel", ["DEBUG", "INFO", "WARNING", "ERROR"])  # the least level that is logged


class LoggedProgress(SilentProgress):
    """The progress of a build where no bars are shown. The build itself logs its stages."""

    def note(self, message: str) -> None:
        """Log a message, unless the build has."""
        _logger.info("%s", message, extra={"event": "note"})


class _Lines(logging.Handler):
    """Writes records to standard error, text above progress bars. A lost reader is no error."""

    def __init__(self, form: LogFormat, hidden: Set[str] = frozenset()) -> None:
        super().__init__()
        self._form, self._hidden, self._last_note = form, hidden, ""

    def emit(self, record: logging.LogRecord) -> None:
        event = getattr(record, "event", None)
        if event == "note":  # a build logs its notes, and passes them on to the progress
            last, self._last_note = self._last_note, record.getMessage()
            if last == self._last_note:
                return
        if event in self._hidden:
            return
        if self._form is LogFormat.JSON:
            with suppress(OSError, ValueError):
                print(_json_line(record), file=sys.stderr, flush=True)
            return
        # A message may quote a catalog or a server: it stays in its line.
        line = plain_text(" ".join(_redacted(record.getMessage()).split())).plain
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="seconds")
        print_err(line if err.is_terminal else f"{moment} {record.levelname} {line}")


def _json_line(record: logging.LogRecord) -> str:
    """Return a record as an object: time, level, logger, message, the run, and what else the record holds."""
    run = current_run()
    fields: dict[str, Any] = {
        "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
        "level": record.levelname.lower(),
        "logger": record.name,
        "message": _redacted(record.getMessage()),
        "catalog": run.catalog if run else None,
        "run": run.run if run else None,
    }
    fields |= {name: value for name in _FIELDS if (value := getattr(record, name, None)) is not None}
    if record.exc_info:
        fields["traceback"] = _redacted(logging.Formatter().formatException(record.exc_info))
    return json_text(fields)


def _redacted(text: str) -> str:
    run = current_run()
    return run.redact(text) if run else text


class _LogStream:
    """A stream whose lines are log records: what else is printed on standard error."""

    encoding = "utf-8"

    def write(self, text: str) -> int:
        for line in filter(str.strip, text.splitlines()):
            _logger.info("%s", line.rstrip(), extra={"event": "output"})
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
    shown_otherwise = (_OF_BARS if err.is_terminal else frozenset()) | (_OF_SUMMARY if summary else {"failed"})
    handler, of_libraries = _Lines(form, frozenset() if as_json else shown_otherwise), _Lines(form)
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
    """Write the failure of a command as a JSON line, with the traceback of `traced`. `logging_to_stderr` has ended."""
    trace = (type(traced), traced, traced.__traceback__) if traced is not None else None
    record = logging.LogRecord(__name__, logging.ERROR, __file__, 0, "%s", (message,), trace)
    record.event, record.exit_code = "exit", exit_code
    print(_json_line(record), file=sys.stderr, flush=True)
