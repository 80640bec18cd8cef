"""The feedback log: routes queue events, and a thread of the log writes them."""

import atexit
import logging
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Full, Queue
from secrets import token_hex

from msgspec import MsgspecError

from router.errors import SettingsInvalid, quoted
from router.feedback.events import Event, Offered, Outcome, Reported, encode_events
from router.feedback.files import EventFiles, make_folder
from router.process import renew_in_child

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

    def __init__(
        self,
        folder: str | Path,
        *,
        texts: bool = False,
        max_bytes: int = 67_108_864,
        max_queued: int = 10_000,
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
        if not isinstance(texts, bool):
            raise SettingsInvalid(f"texts is {quoted(texts)}, it must be True or False")
        _check_number("max_bytes", max_bytes, _LEAST_BYTES)
        _check_number("max_queued", max_queued, 1)
        self.folder, self.texts = Path(folder), texts
        try:
            make_folder(self.folder)
        except OSError as error:
            raise SettingsInvalid(f"the feedback folder {folder} cannot be made: {error.strerror}") from error
        self._max_bytes, self._max_queued = max_bytes, max_queued
        self._changing = threading.Lock()
        renew_in_child(self, "_changing")
        self._thread: threading.Thread | None = None
        self._queue: Queue[Event | threading.Event | None] = Queue(max_queued)
        self._files = EventFiles(self.folder, max_bytes)
        self._begin()

    def offered(
        self,
        snapshot: str,
        tools: Sequence[str],
        *,
        always: Sequence[str] = (),
        request: str | None = None,
        caller: str | None = None,
        named: bool = False,
    ) -> str:
        """Record an answer, and return the id to report its outcomes with: 32 random hexadecimal digits.

        Args:
            snapshot: The id of the snapshot that answered.
            tools: The ids of its ranked tools, best first.
            always: The ids of those that the selection adds to every answer.
            request: What was asked for; kept where the log keeps texts.
            caller: Who asked, where callers are told apart.
            named: Nothing was offered: a report names the right tool of the request.
        """
        answer = token_hex(16)
        text = request if self.texts else None
        self._put(Offered(time.time(), answer, snapshot, tuple(tools), tuple(always), caller, text, named))
        return answer

    def report(self, answer: str, tool_id: str, outcome: Outcome | str, *, caller: str | None = None) -> None:
        """Record what became of a tool of an answer. The last report on a tool counts.

        Raises:
            SettingsInvalid: The outcome is unknown.
        """
        self._put(Reported(time.time(), answer, tool_id, parse_outcome(outcome), caller))

    @property
    def statistics(self) -> FeedbackStatistics:
        """Return what this process has written and lost."""
        return FeedbackStatistics(self._written, self._dropped, self._problem)

    def flush(self, timeout_s: float = 10.0) -> bool:
        """Wait until what was recorded before is in the files; return False where that takes longer."""
        with self._changing:
            queue = self._queue
            if self._process != os.getpid() or self._thread is None:
                return True
        done = threading.Event()
        try:
            queue.put(done, timeout=timeout_s)
        except Full:
            return False
        return done.wait(timeout_s)

    def close(self) -> None:
        """Write what is queued, and end the thread; ten seconds at most. The next event opens the log again."""
        with self._changing:
            thread, queue = self._thread, self._queue
            if thread is None or self._process != os.getpid():
                return
            self._thread = None
            # Whoever records meanwhile starts another thread, which has a queue and a file of its own.
            self._queue, self._files = Queue(self._max_queued), EventFiles(self.folder, self._max_bytes)
            atexit.unregister(self.close)
        try:
            queue.put(None, timeout=_CLOSE_S)
        except Full:
            pass
        else:
            thread.join(_CLOSE_S)
        if thread.is_alive():
            self._lose(queue.qsize(), f"the disk has not taken them within {_CLOSE_S:.0f} s")

    def _begin(self) -> None:
        """Start with nothing, as at first and in a forked child: what was queued is the parent's to write."""
        self._process = os.getpid()
        self._files.close()  # in a child the parent's file, which the child would hold locked
        self._queue = Queue(self._max_queued)
        self._files = EventFiles(self.folder, self._max_bytes)
        self._thread = None
        self._written = self._dropped = 0
        self._problem, self._warned = "", 0.0

    def _put(self, event: Event) -> None:
        with self._changing:
            if self._thread is None or self._process != os.getpid():
                self._start()
            try:
                self._queue.put_nowait(event)
                full = False
            except Full:
                full = True
        if full:
            self._lose(1, f"{self._max_queued:,} events wait for the disk already")

    def _start(self) -> None:
        if self._process != os.getpid():
            self._begin()
        arguments = (self._queue, self._files)
        self._thread = threading.Thread(target=self._run, args=arguments, name="feedback-log", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def _run(self, queue: "Queue[Event | threading.Event | None]", files: EventFiles) -> None:
        """Write what is queued until it says None."""
        ended = False
        while not ended:
            batch: list[Event] = []
            flushed: list[threading.Event] = []
            try:
                item = queue.get(timeout=_IDLE_S)
            except Empty:
                files.close_old()
                continue
            while True:
                if item is None:
                    ended = True
                elif isinstance(item, threading.Event):
                    flushed.append(item)
                else:
                    batch.append(item)
                if ended or len(batch) >= _BATCH:
                    break
                try:
                    item = queue.get_nowait()
                except Empty:
                    break
            self._write(files, batch)
            for done in flushed:
                done.set()
        files.close()

    def _write(self, files: EventFiles, batch: list[Event]) -> None:
        if not batch:
            return
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
        with self._changing:
            self._dropped += events
            self._problem = problem
            warns = now - self._warned > _WARN_EVERY_S or not self._warned
            if warns:
                self._warned = now
        if warns:
            _logger.warning("the feedback log %s loses events (%d so far): %s", self.folder, self._dropped, problem)


def parse_outcome(value: Outcome | str) -> Outcome:
    """Return the outcome of a name. Raises SettingsInvalid for an unknown one."""
    try:
        return Outcome(value)
    except ValueError:
        raise SettingsInvalid(f"outcome is {quoted(value)}, it must be one of {', '.join(Outcome)}") from None


def _check_number(name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise SettingsInvalid(f"{name} is {quoted(value)}, it must be a whole number, at least {least:,}")
