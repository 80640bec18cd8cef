"""Log records as lines: JSON, or plain text. Neither shows a secret of the build that runs."""

import json
import logging
from datetime import UTC, datetime
from typing import Any

from pipeline.current_run import current_run
from quartermaster.output.terminal import plain_text

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
