"""The audit log: a JSON line for each request of a caller, with the tools that it was offered, shown and called.

Lines are appended and never rewritten. A file that was moved away, as logrotate does, is opened anew.
"""

import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from router.errors import QuartermasterError


class AuditFailed(QuartermasterError):
    """Raised when a line of the audit log cannot be written. If the audit line fails, no response is sent."""


@dataclass(slots=True)
class Actions:
    """What one request did: the ids of the tools that it was offered, shown in full, called and changed; its texts."""

    offered: list[str] = field(default_factory=list)
    described: list[str] = field(default_factory=list)
    called: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    routed: bool = False

    def offer(self, tool_ids: Iterable[str], texts: Iterable[str] = ()) -> None:
        """Add tools that an answer names, which may be none, and the texts that they were asked for with."""
        self.routed = True
        self.offered += tool_ids
        self.texts += texts

    def __bool__(self) -> bool:
        """Return whether there is anything to record."""
        return bool(self.routed or self.described or self.called or self.changed)

    def row(self, *, texts: bool) -> dict[str, list[str]]:
        """Return the actions for a line of the audit log, with the texts of requests only where that is asked for."""
        names = ("offered", "described", "called", "changed")
        row: dict[str, list[str]] = {name: getattr(self, name) for name in names}
        return row | ({"texts": [text.encode("utf-8", "replace").decode() for text in self.texts]} if texts else {})


class AuditLog:
    """Appends lines to a file that only its user may read. Several threads and processes may write to one file.

    `text` says that lines have the texts of requests; `fsync` waits until each line is on disk.
    """

    def __init__(self, path: Path, *, text: bool = False, fsync: bool = False) -> None:
        self.path, self.text, self.fsync = path, text, fsync
        self._writing = threading.Lock()
        self._file: int | None = None
        self._torn = False

    def append(self, row: dict[str, Any]) -> None:
        """Append a row. Raises AuditFailed."""
        line = msgspec.json.encode(row) + b"\n"
        with self._writing:
            try:
                file = self.open()
                written = os.write(file, b"\n" + line if self._torn else line)
                self._torn = written < len(line)
                if self.fsync:
                    os.fsync(file)
            except OSError as error:
                raise AuditFailed(f"the audit log {self.path} cannot be written: {error.strerror}") from error
            if self._torn:
                raise AuditFailed(f"the audit log {self.path} cannot be written: the line was cut off")

    def open(self) -> int:
        """Return the descriptor of the file at the path, opened unless it is. Raises OSError."""
        if self._file is not None:
            try:
                if os.path.samestat(os.fstat(self._file), self.path.stat()):
                    return self._file
            except FileNotFoundError:
                pass
            os.close(self._file)
            self._file = None
        self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        return self._file
