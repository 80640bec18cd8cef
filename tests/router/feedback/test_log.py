"""A log takes events without waiting, and its files hold them whatever happens to threads, processes and disks."""

import logging
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quartermaster.serving.recent_answers import RecentAnswers
from router import FeedbackLog, Outcome, SettingsInvalid
from router.feedback import Event, Offered, Removed, Reported, files
from router.feedback import log as feedback_log
from router.feedback.events import decode_event, encode_events
from router.feedback.files import complete_file, event_files
from tests.support.waiting import until


@pytest.fixture
def log(tmp_path: Path) -> Iterator[FeedbackLog]:
    """A log in a folder of its own, with small bounds."""
    made = FeedbackLog(tmp_path / "log", max_queued=5)
    yield made
    made.close()


def events_in(folder: Path) -> list[Event]:
    """The events of all files, which must all be readable."""
    events = [decode_event(line) for path in event_files(folder) for line in path.read_bytes().splitlines()]
    assert None not in events
    return [event for event in events if event is not None]


def offered(folder: Path) -> list[str]:
    """The snapshots of the answers that the files of a log hold."""
    return [event.snapshot for event in events_in(folder) if isinstance(event, Offered)]


def held_back(monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, threading.Event]:
    """Hold back what a log writes; return what tells that it has begun to, and what lets it go on."""
    begun, go, append = threading.Event(), threading.Event(), files.EventFiles.append

    def later(self: files.EventFiles, lines: bytes) -> None:
        begun.set()
        assert go.wait(20)
        append(self, lines)

    monkeypatch.setattr(files.EventFiles, "append", later)
    return begun, go


def is_complete(path: Path) -> bool:
    with complete_file(path) as descriptor:
        return descriptor is not None


def test_an_answer_and_what_became_of_it_are_lines_of_a_file_that_only_the_user_reads(log: FeedbackLog) -> None:
    answer = log.offered("s1", ["a", "b"], always=["c"], request="my secret", caller="night")
    log.report(answer, "b", "succeeded", caller="night")
    log.close()
    first, second = events_in(log.folder)
    assert isinstance(first, Offered) and isinstance(second, Reported)
    assert (first.id, first.tools, first.always, first.caller) == (answer, ("a", "b"), ("c",), "night")
    assert (second.id, second.tool, second.outcome) == (answer, "b", Outcome.SUCCEEDED)
    assert len(answer) == 32 and log.statistics.written == 2
    (path,) = event_files(log.folder)
    assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)) == (0o600, 0o700)
    assert b"my secret" not in path.read_bytes()


def test_texts_are_kept_where_they_are_allowed(tmp_path: Path) -> None:
    log = FeedbackLog(tmp_path, texts=True)
    log.offered("s1", ["a"], request="my secret")
    log.close()
    assert b"my secret" in event_files(tmp_path)[0].read_bytes()


def test_events_that_come_faster_than_the_disk_takes_them_are_dropped_counted_and_told(
    log: FeedbackLog, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(feedback_log, "_CLOSE_S", 0.05)
    begun, go = held_back(monkeypatch)
    log.offered("s1", ["a"])
    assert begun.wait(10)
    with caplog.at_level(logging.WARNING):
        for _ in range(8):  # five wait, and three are lost
            log.offered("s1", ["a"])
    assert log.statistics.dropped == 3
    assert "loses events (1 so far): 5 events wait for the disk already" in caplog.text and len(caplog.messages) == 1
    log.close()  # which does not wait for a disk that hangs
    assert log.statistics.dropped == 8 and "has not taken them" in log.statistics.problem
    go.set()


def test_a_disk_that_cannot_be_written_loses_events_and_fails_nobody(
    log: FeedbackLog, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.folder.rmdir()
    begun, go = held_back(monkeypatch)
    log.offered("s1", ["a"])
    assert begun.wait(10)
    for _ in range(3):  # of one batch
        log.offered("s1", ["a"])
    go.set()
    assert log.flush()
    assert (log.statistics.written, log.statistics.dropped) == (0, 4)
    assert "No such file or directory" in log.statistics.problem and len(caplog.messages) == 1
    log.folder.mkdir()
    log.offered("s1", ["a"])
    assert log.flush() and (log.statistics.written, log.statistics.problem) == (1, "")


def test_a_line_that_a_full_disk_cuts_off_spoils_no_other(log: FeedbackLog, monkeypatch: pytest.MonkeyPatch) -> None:
    def half(file: int, data: bytes) -> int:
        return write(file, data[: len(data) // 2])

    write = os.write
    monkeypatch.setattr(os, "write", half)
    log.offered("s1", ["a"])
    assert log.flush() and log.statistics.dropped == 1
    monkeypatch.undo()
    log.offered("s2", ["a"])
    log.close()
    cut_off, kept = event_files(log.folder)[0].read_bytes().splitlines()
    event = decode_event(kept)
    assert decode_event(cut_off) is None and isinstance(event, Offered) and event.snapshot == "s2"


def test_the_oldest_events_go_first_and_are_counted_also_those_that_were_told_removed(tmp_path: Path) -> None:
    log = FeedbackLog(tmp_path, max_bytes=65_536)
    for number in range(4_000):
        log.offered(f"snapshot-{number:04}", ["vendor/tool"])
        if number % 50 == 49:
            assert log.flush()
    log.close()
    assert sum(path.stat().st_size for path in event_files(tmp_path)) <= 65_536 + 65_536 // 4
    kept = offered(tmp_path)
    removed = sum(event.events for event in events_in(tmp_path) if isinstance(event, Removed))
    assert kept[-1] == "snapshot-3999" and kept == sorted(kept) and len(kept) < 1_000
    assert removed == 4_000 - len(kept)


def test_a_forked_child_writes_a_file_of_its_own_and_lets_go_of_its_parents(log: FeedbackLog) -> None:
    log.offered("parent", ["a"])
    assert log.flush()
    (path,) = event_files(log.folder)
    (child_reads, parent_writes), (parent_reads, child_writes) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        log.offered("child", ["a"])
        log.flush()
        os.write(child_writes, b".")
        os.read(child_reads, 1)
        os._exit(0 if log.statistics.written == 1 else 1)
    os.read(parent_reads, 1)
    log.offered("parent", ["b"])
    log.close()
    assert is_complete(path), "though the child goes on"
    os.write(parent_writes, b".")
    assert os.waitpid(child, 0)[1] == 0
    assert len(event_files(log.folder)) == 2 and sorted(offered(log.folder)) == ["child", "parent", "parent"]


def test_a_file_that_a_build_removes_gets_no_events(log: FeedbackLog, monkeypatch: pytest.MonkeyPatch) -> None:
    locked, removed = files._locked, list[Path]()

    def locked_too_late(descriptor: int) -> bool:
        if not removed:
            removed.extend(event_files(log.folder))
            removed[0].unlink()
        return locked(descriptor)

    monkeypatch.setattr(files, "_locked", locked_too_late)
    log.offered("s1", ["a"])
    assert log.flush() and offered(log.folder) == ["s1"] and len(removed) == 1
    event_files(log.folder)[0].unlink()
    log.offered("s2", ["a"])
    assert log.flush() and offered(log.folder) == ["s2"]


def test_a_file_is_complete_after_an_hour_or_a_close(
    tmp_path: Path, log: FeedbackLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.offered("s1", ["a"])
    assert log.flush() and not is_complete(event_files(log.folder)[0])
    log.close()
    assert is_complete(event_files(log.folder)[0]) and not is_complete(tmp_path / "gone.jsonl")
    monkeypatch.setattr(files, "_OPEN_S", -1.0)  # the hour is over at once
    for _ in range(2):
        log.offered("s1", ["a"])
        assert log.flush()
    assert len(event_files(log.folder)) == 3
    monkeypatch.setattr(feedback_log, "_IDLE_S", 0.01)
    idle = FeedbackLog(tmp_path / "idle")
    idle.offered("s1", ["a"])
    assert idle.flush() and until(lambda: is_complete(event_files(idle.folder)[0]))
    idle.close()


def test_an_event_that_is_no_json_is_lost_alone_and_the_thread_goes_on(log: FeedbackLog) -> None:
    wrong: Any = object()
    for tool in ("a", wrong, "b"):
        log.report("x", tool, "called")
    log.offered("s1", ["c"])
    log.close()
    assert len(events_in(log.folder)) == log.statistics.written == 3
    assert log.statistics.dropped == 1


def test_threads_that_record_while_the_log_is_closed_again_and_again_lose_nothing(tmp_path: Path) -> None:
    log = FeedbackLog(tmp_path)
    threads = [threading.Thread(target=lambda: [log.offered("s", ["a"]) for _ in range(200)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        log.close()
    log.close()
    assert len({event.id for event in events_in(tmp_path) if isinstance(event, Offered)}) == 1_600
    assert log.statistics.dropped == 0


def test_a_line_that_is_no_event_is_told_apart() -> None:
    unknown = b'{"event":"reported","at":1.0,"id":"x","tool":"t","outcome":"loved"}'
    for line in (b'{"event": "offered", "at": 1, "id"', b"[" * 100_000, unknown):
        assert decode_event(line) is None
    (line,) = encode_events([Offered(1.0, "x", "s", ("half \ud800",))]).splitlines()
    assert decode_event(line) == Offered(1.0, "x", "s", ("half ?",))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"texts": 1}, "texts is 1, it must be true or false"),
        ({"max_bytes": 1_000}, "max_bytes is 1000, it must be a whole number from 65,536 up"),
        ({"max_queued": 0}, "max_queued is 0"),
        ({"folder": "file/log"}, "cannot be made"),
    ],
)
def test_wrong_settings_are_refused(tmp_path: Path, wrong: dict[str, Any], message: str) -> None:
    (tmp_path / "file").write_text("")
    folder = tmp_path / wrong.pop("folder", "log")
    with pytest.raises(SettingsInvalid, match=message):
        FeedbackLog(folder, **wrong)


def test_a_call_belongs_to_the_latest_answer_of_its_dialogue_that_offered_the_tool() -> None:
    recent = RecentAnswers()
    recent.add("one", "first", ["a", "b"])
    recent.add("one", "second", ["b"])
    recent.add("other", "third", ["a"])
    assert [recent.answer_of("one", tool) for tool in "abc"] == ["first", "second", None]
    assert recent.answer_of("nobody", "a") is None
    for number in range(1_000):
        recent.add(f"dialogue {number}", "later", ["a"])
    assert recent.answer_of("one", "a") is None
