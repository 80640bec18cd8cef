"""Keep the events of a feedback log in one Parquet file of a bounded size, in place of many small files of JSON.

    FOLDER/*.jsonl           what routers write: see router/feedback/files.py
    FOLDER/events.parquet    what `compact_events` has read of them, the oldest event first

A build that is killed loses nothing: the files of JSON go after the Parquet file is in place, and events that both have
count once.
"""

import os
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import pyarrow as pa
from pyarrow import parquet

from pipeline.errors import RunAborted
from router.feedback import Event, Offered, Removed, Reported
from router.feedback.events import decode_event
from router.feedback.files import complete_file, event_files
from router.search.search import clean_request
from router.snapshot.store.locking import lock_file

EVENTS_FILE = "events.parquet"
_LOCK = "compact.lock"
_DAY_S = 86_400
_TEXT = pa.string()
_SCHEMA = pa.schema(
    [
        pa.field("event", _TEXT, nullable=False),
        pa.field("at", pa.float64(), nullable=False),
        *(pa.field(name, _TEXT) for name in ("id", "snapshot")),
        *(pa.field(name, pa.list_(_TEXT)) for name in ("tools", "always")),
        *(pa.field(name, _TEXT) for name in ("caller", "request")),
        pa.field("named", pa.bool_()),
        pa.field("needs", pa.list_(_TEXT)),
        *(pa.field(name, _TEXT) for name in ("tool", "outcome")),
        pa.field("events", pa.int64()),
    ]
)


@dataclass(frozen=True, slots=True)
class FeedbackLimits:
    """What is kept: events of the last `days`, in a file of at most `max_bytes`. The oldest go first."""

    days: int = 90
    max_bytes: int = 67_108_864


@dataclass(frozen=True)
class StoredEvents:
    """The events of a folder, each once, the oldest first.

    `unreadable` counts lines that hold no event, as a full disk leaves behind; `writing` the files that a running
    router still writes, whose events are read all the same.
    """

    events: tuple[Event, ...] = ()
    unreadable: int = 0
    writing: int = 0

    @property
    def offered(self) -> tuple[Offered, ...]:
        """Return the answers."""
        return tuple(event for event in self.events if isinstance(event, Offered))

    @property
    def reported(self) -> tuple[Reported, ...]:
        """Return what was reported on them."""
        return tuple(event for event in self.events if isinstance(event, Reported))

    @property
    def removed(self) -> int:
        """Return how many events were removed for their size or age."""
        return sum(event.events for event in self.events if isinstance(event, Removed))


def read_events(folder: Path) -> StoredEvents:
    """Return all events of a folder, and change nothing. Raises RunAborted where it cannot be read."""
    writing = 0
    try:
        files = event_files(folder)
        for path in files:
            with complete_file(path) as descriptor:
                writing += descriptor is None and path.exists()
        events, unreadable = _read_lines(files)
        # Last: a build that runs meanwhile moves events into it. Those that were read twice count once.
        events += _read_table(folder / EVENTS_FILE)
    except OSError as error:
        raise _unreadable(folder, error) from error
    return StoredEvents(_once(events), unreadable, writing)


def compact_events(folder: Path, limits: FeedbackLimits | None = None, now: float | None = None) -> StoredEvents:
    """Move the events of complete files into the Parquet file, within the limits, and return all that the folder has.

    `now` is in seconds since 1970. Raises RunAborted where the folder cannot be read or written.
    """
    return _rewrite(folder, limits or FeedbackLimits(), time.time() if now is None else now)


def forget_request(folder: Path, request: str) -> int:
    """Erase the text of a request and its needs, whatever its case and spaces, and return how many answers had it.

    Files that a running router still writes are left as they are: `read_events` counts them. Raises RequestInvalid for
    a blank text, and RunAborted.
    """
    words = normal_words(clean_request(request))
    before = sum(_asks(event, words) for event in read_events(folder).offered)
    _rewrite(folder, None, time.time(), words)
    return before - sum(_asks(event, words) for event in read_events(folder).offered)


def normal_words(request: str) -> str:
    """Return a request without the differences of case and spaces."""
    return " ".join(request.casefold().split())


def _rewrite(folder: Path, limits: FeedbackLimits | None, now: float, forget: str | None = None) -> StoredEvents:
    """Write the Parquet file anew; without limits nothing is removed."""
    try:
        with ExitStack() as stack:
            stack.enter_context(lock_file(folder / _LOCK))
            complete = [path for path in event_files(folder) if stack.enter_context(complete_file(path)) is not None]
            events, unreadable = _read_lines(complete)
            events = [*_once([*_read_table(folder / EVENTS_FILE), *events])]
            for place, event in enumerate(events):
                if forget is not None and isinstance(event, Offered) and _asks(event, forget):
                    events[place] = msgspec.structs.replace(event, request=None, needs=())
            _write_table(folder, events, limits, now)
            for path in complete:
                path.unlink(missing_ok=True)
    except OSError as error:
        raise _unreadable(folder, error) from error
    return replace(read_events(folder), unreadable=unreadable)


def _write_table(folder: Path, events: Sequence[Event], limits: FeedbackLimits | None, now: float) -> None:
    """Put the events into place, without those that are too old, and the oldest where they take too many bytes."""
    part = folder / f"{EVENTS_FILE}.part"
    removals = [event for event in events if isinstance(event, Removed)]
    since = 0.0 if limits is None else now - limits.days * _DAY_S
    kept = [event for event in events if not isinstance(event, Removed) and event.at >= since]
    while True:
        lost = len(events) - len(removals) - len(kept)
        removed = [Removed(time.time(), lost)] if lost else []
        rows = [msgspec.to_builtins(event) for event in (*kept, *removals, *removed)]
        part.unlink(missing_ok=True)
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            parquet.write_table(pa.Table.from_pylist(rows, schema=_SCHEMA), stream, compression="zstd")
            stream.flush()
            os.fsync(stream.fileno())
        size = part.stat().st_size
        if limits is None or size <= limits.max_bytes or not kept:
            os.replace(part, folder / EVENTS_FILE)
            return
        kept = kept[len(kept) - int(len(kept) * 0.9 * limits.max_bytes / size) :]


def _read_table(path: Path) -> list[Event]:
    """Return the events of the Parquet file, none where there is none. Raises OSError where it is damaged."""
    if not path.exists():
        return []
    try:
        rows = parquet.read_table(path, schema=_SCHEMA).to_pylist()
        present = ({name: value for name, value in row.items() if value is not None} for row in rows)
        return msgspec.convert(list(present), list[Event])
    except (pa.ArrowException, msgspec.ValidationError) as error:
        raise OSError(0, f"is damaged: {error}", str(path)) from error


def _read_lines(paths: Iterable[Path]) -> tuple[list[Event], int]:
    """Return the events of files, and how many lines hold none; a file that a build removes meanwhile is left out."""
    events: list[Event | None] = []
    for path in paths:
        with suppress(FileNotFoundError):
            events += [decode_event(line) for line in path.read_bytes().split(b"\n") if line]
    found = [event for event in events if event is not None]
    return found, len(events) - len(found)


def _once(events: Iterable[Event]) -> tuple[Event, ...]:
    return tuple(sorted(dict.fromkeys(events), key=lambda event: event.at))


def _asks(event: Offered, words: str) -> bool:
    return event.request is not None and normal_words(event.request) == words


def _unreadable(folder: Path, error: OSError) -> RunAborted:
    place = error.filename or folder
    return RunAborted(f"the feedback log {place} cannot be read or written: {error.strerror or error}")
