"""Tells of an upload as it goes on."""

import threading
from types import TracebackType
from typing import Protocol, Self

_STAGE = "upload"
_MEGABYTE = 1_000_000


class UploadProgress(Protocol):
    """Hears of an upload, in megabytes. A build's progress is one."""

    def start(self, stage: str, total: int | None = None) -> None:
        """Begin a stage of `total` megabytes."""
        ...

    def advance(self, count: int = 1) -> None:
        """Add `count` megabytes to what is done of the stage."""
        ...


class ToldBytes:
    """Counts bytes from any thread, and tells whole megabytes, one thread at a time. `total` is in bytes."""

    def __init__(self, progress: UploadProgress | None, total: int) -> None:
        self._progress = progress
        self._total = -(-total // _MEGABYTE)
        self._bytes = self._told = 0
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        if self._progress is not None:
            self._progress.start(_STAGE, self._total)
        return self

    def add(self, count: int) -> None:
        """Count bytes; what is sent twice does not count beyond the total."""
        with self._lock:
            self._bytes += count
            self._tell(min(self._bytes // _MEGABYTE, self._total))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._tell(self._total)

    def _tell(self, megabytes: int) -> None:
        if self._progress is not None and megabytes > self._told:
            self._progress.advance(megabytes - self._told)
        self._told = max(self._told, megabytes)
