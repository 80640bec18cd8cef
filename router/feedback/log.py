"""The feedback log: routes queue events, and a thread of the log writes them."""

import atexit
import logging
import os
import threading
import time
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import Annotated, Any

from msgspec import Meta, MsgspecError

from router.errors import SettingsInvalid
from router.feedback.events import Event, Offered, Outcome, Reported, encode_events
from router.feedback.files import EventFiles
from router.typed import converted

_LEAST_BYTES = 65_536
_BATCH = 1_000  # events of one write
_WARN_EVERY_S = 60.0
_CLOSE_S = 10.0  # how long closing waits for the disk
_IDLE_S = 60.0

_logger = logging.getLogger("router.feedback")


@dataclass(frozen=True, slots=True)
class FeedbackStatistics:
    """What a log has done in this process.

    Attributes:
        written: Events in the log's files.
        dropped: Events that were lost: the queue was full, or the files could not be written.
        problem: Why the last write failed; empty where it did not.
    """

    written: int
    dropped: int
    problem: str


class FeedbackLog:
    """Keeps what answers offered and what became of it, in a folder of small files.

    An event takes microseconds and never waits or fails: it is queued, and a thread writes it. Where events come faster
    than the disk takes them, or it is full, they are dropped, counted and warned of. Several threads, processes and
    routers may use one folder.
    """

    _writer: "_Writer | None" = None

    def __init__(
        self, folder: str | Path, *, texts: bool = False, max_bytes: int = 67_108_864, max_queued: int = 10_000
    ) -> None:
        """Open a log; the folder is made if it is missing.

        Args:
            folder: The folder of the files, which only this user may read.
            texts: Keep the requests' texts. Without them a build can count, and cannot learn.
            max_bytes: The greatest size of all files; the oldest are removed first.
            max_queued: The most events that wait for the disk.

        Raises:
            SettingsInvalid: A value is out of its range, or the folder cannot be made.
        """
        converted(texts, bool, whole="texts")
        _check_number("max_bytes", max_bytes, _LEAST_BYTES)
        _check_number("max_queued", max_queued, 1)
        self.folder, self.texts = Path(folder), texts
        self._max_bytes, self._max_queued = max_bytes, max_queued
        try:
            self.folder.mkdir(0o700, parents=True, exist_ok=True)  # only its user may enter
        except OSError as error:
            raise SettingsInvalid(f"the feedback folder {folder} cannot be made: {error.strerror}") from error
        self._begin()
        _logs.add(self)

    def offered(
        self,
        snapshot: str,
        tools: Sequence[str],
        *,
        always: Sequence[str] = (),
        request: str | None = None,
        needs: Sequence[str] = (),
        caller: str | None = None,
        named: bool = False,
    ) -> str:
        """Record an answer, and return the id to report its outcomes with: 32 random hexadecimal digits.

        Args:
            snapshot: The id of the snapshot that answered.
            tools: The ids of its ranked tools, best first.
            always: The ids of those that the selection adds to every answer.
            request: What was asked for; kept where the log keeps texts.
            needs: What the caller expected to call; kept with the request.
            caller: Who asked, where callers are told apart.
            named: Nothing was offered: a report names the right tool of the request.
        """
        answer = token_hex(16)
        text = request if self.texts else None
        stated = () if text is None else tuple(needs)
        self._put(Offered(time.time(), answer, snapshot, tuple(tools), tuple(always), caller, text, named, stated))
        return answer

    def report(self, answer: str, tool_id: str, outcome: Outcome | str, *, caller: str | None = None) -> None:
        """Record what became of a tool of an answer. The last report on a tool counts.

        Raises SettingsInvalid for an unknown outcome.
        """
        self._put(Reported(time.time(), answer, tool_id, parse_outcome(outcome), caller))

    @property
    def statistics(self) -> FeedbackStatistics:
        """Return what this process has written and lost."""
        return FeedbackStatistics(self._written, self._dropped, self._problem)

    def flush(self, timeout_s: float = 10.0) -> bool:
        """Wait until what was recorded before is in the files; return False where that takes longer."""
        with self._changed:
            if (writer := self._writer) is None:
                return True
            recorded = writer.recorded
            return self._changed.wait_for(lambda: writer.done >= recorded, timeout_s)

    def close(self) -> None:
        """Write what is queued, and end the thread; ten seconds at most. The next event opens the log again."""
        with self._changed:
            # Whoever records meanwhile starts another thread, which has a queue and a file of its own.
            writer, self._writer = self._writer, None
            if writer is None:
                return
            writer.is_closing = True
            self._changed.notify_all()
        atexit.unregister(self.close)
        writer.thread.join(_CLOSE_S)
        if writer.thread.is_alive():
            with self._changed:
                lost, writer.queue = len(writer.queue), []
            self._lose(lost, f"the disk has not taken them within {_CLOSE_S:.0f} s")

    def _begin(self) -> None:
        """Start with nothing, as at first and in a forked child: what was queued is the parent's to write."""
        if self._writer is not None:
            self._writer.files.close()  # the parent's, which the child would hold locked
        self._changed = threading.Condition()
        self._writer = None
        self._written = self._dropped = 0
        self._problem, self._warns_at = "", 0.0

    def _put(self, event: Event) -> None:
        with self._changed:
            if (writer := self._writer) is None:
                writer = self._writer = _Writer(EventFiles(self.folder, self._max_bytes))
                writer.thread = threading.Thread(target=self._run, args=(writer,), name="feedback-log", daemon=True)
                writer.thread.start()
                atexit.register(self.close)
            if not (is_full := len(writer.queue) >= self._max_queued):
                writer.queue.append(event)
                writer.recorded += 1
                self._changed.notify_all()
        if is_full:
            self._lose(1, f"{self._max_queued:,} events wait for the disk already")

    def _run(self, writer: "_Writer") -> None:
        """Write what is queued until the writer is closed."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: writer.queue or writer.is_closing, _IDLE_S)
                batch, writer.queue = writer.queue[:_BATCH], writer.queue[_BATCH:]
            if batch:
                self._write(writer.files, batch)
                with self._changed:
                    writer.done += len(batch)
                    self._changed.notify_all()
            elif writer.is_closing:
                writer.files.close()
                return
            else:
                writer.files.close_old()

    def _write(self, files: EventFiles, batch: list[Event]) -> None:
        try:
            files.append(encode_events(batch))
        except OSError as error:
            self._lose(len(batch), error.strerror or str(error))
        except (TypeError, ValueError, OverflowError, RecursionError, MsgspecError) as error:
            # An event has no JSON form. Only that event is lost, and the thread goes on.
            if len(batch) == 1:
                self._lose(1, f"an event cannot be written: {type(error).__name__}")
            else:
                for event in batch:
                    self._write(files, [event])
        else:
            self._written += len(batch)
            self._problem = ""

    def _lose(self, events: int, problem: str) -> None:
        """Count events that are lost, and warn, once a minute."""
        now = time.monotonic()
        with self._changed:
            self._dropped += events
            self._problem = problem
            if warns := now >= self._warns_at:
                self._warns_at = now + _WARN_EVERY_S
        if warns:
            _logger.warning("the feedback log %s loses events (%d so far): %s", self.folder, self._dropped, problem)


@dataclass
class _Writer:
    """A thread that writes, its file and its queue. `recorded` counts events queued, `done` those written or lost."""

    files: EventFiles
    queue: list[Event] = field(default_factory=list)
    recorded: int = 0
    done: int = 0
    is_closing: bool = False
    thread: threading.Thread = field(init=False)


_logs: "weakref.WeakSet[FeedbackLog]" = weakref.WeakSet()


def _begin_in_child() -> None:
    for log in list(_logs):
        log._begin()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_in_child)


def parse_outcome(value: Outcome | str) -> Outcome:
    """Return the outcome of a name. Raises SettingsInvalid for an unknown one."""
    return converted(value, Outcome, whole="outcome")


def _check_number(name: str, value: object, least: int) -> None:
    kind: Any = Annotated[int, Meta(ge=least)]
    converted(value, kind, whole=name)
