"""A log takes events without waiting, and its files hold them whatever happens to threads, processes and disks."""

import logging
import os
import stat
import threading
import time
from pathlib import Path

import pytest

from router import FeedbackLog, Outcome, SettingsInvalid
from router.feedback import Event, Offered, Removed, Reported, files
from router.feedback import log as feedback_log
from router.feedback.events import decode_event, encode_events
from router.feedback.files import complete_file, event_files
from router.feedback.recent import RecentAnswers


def events_in(folder: Path) -> list[Event]:
    """The events of all files, which must all be readable."""
    lines = [line for path in event_files(folder) for line in path.read_bytes().splitlines()]
    events = [decode_event(line) for line in lines]
    assert None not in events
    return [event for event in events if event is not None]


def test_an_answer_and_what_became_of_it_are_lines_of_one_file(tmp_path: Path) -> None:
    log = FeedbackLog(tmp_path / "log")
    answer = log.offered("s1", ["a", "b"], always=["c"], request="my secret", caller="night")
    log.report(answer, "b", "succeeded", caller="night")
    log.close()
    offered, reported = events_in(tmp_path / "log")
    assert isinstance(offered, Offered) and isinstance(reported, Reported)
    assert (offered.id, offered.tools, offered.always, offered.caller) == (answer, ("a", "b"), ("c",), "night")
    assert (reported.id, reported.tool, reported.outcome) == (answer, "b", Outcome.SUCCEEDED)
    assert len(answer) == 32 and log.statistics.written == 2


def test_texts_are_kept_only_where_they_are_allowed(tmp_path: Path) -> None:
    for texts in (False, True):
        log = FeedbackLog(tmp_path / str(texts), texts=texts)
        log.offered("s1", ["a"], request="my secret")
        log.close()
        (path,) = event_files(tmp_path / str(texts))
        assert (b"my secret" in path.read_bytes()) is texts


def test_only_the_user_may_read_the_log(tmp_path: Path) -> None:
    log = FeedbackLog(tmp_path / "log")
    log.offered("s1", ["a"])
    log.close()
    (path,) = event_files(tmp_path / "log")
    assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)) == (0o600, 0o700)


def test_events_that_come_faster_than_the_disk_takes_them_are_dropped_counted_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    blocked, go = threading.Event(), threading.Event()
    log = FeedbackLog(tmp_path, max_queued=5)

    def slow(lines: bytes) -> None:
        blocked.set()
        go.wait()

    monkeypatch.setattr(log._files, "append", slow)
    log.offered("s1", ["a"])
    assert blocked.wait(10)
    with caplog.at_level(logging.WARNING):
        for _ in range(8):  # five wait, and three are lost
            log.offered("s1", ["a"])
    assert log.statistics.dropped == 3
    assert caplog.messages == [
        f"the feedback log {tmp_path} loses events (1 so far): 5 events wait for the disk already"
    ]
    go.set()
    log.close()
    assert log.statistics.written == 6


def test_a_disk_that_cannot_be_written_loses_events_and_fails_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = FeedbackLog(tmp_path / "log")
    (tmp_path / "log").rmdir()
    log.offered("s1", ["a"])
    assert log.flush()
    assert (log.statistics.written, log.statistics.dropped) == (0, 1)
    assert "No such file or directory" in log.statistics.problem and len(caplog.messages) == 1
    (tmp_path / "log").mkdir()
    log.offered("s1", ["a"])
    log.close()
    assert (log.statistics.written, log.statistics.problem) == (1, "")


def test_the_oldest_events_go_first_and_are_counted(tmp_path: Path) -> None:
    log = FeedbackLog(tmp_path, max_bytes=65_536)
    for number in range(2_000):
        log.offered(f"snapshot-{number:04}", ["vendor/tool"])
        if number % 50 == 49:
            assert log.flush()
    log.close()
    assert sum(path.stat().st_size for path in event_files(tmp_path)) <= 65_536 + 65_536 // 4
    events = events_in(tmp_path)
    kept = [event.snapshot for event in events if isinstance(event, Offered)]
    removed = sum(event.events for event in events if isinstance(event, Removed))
    assert kept[-1] == "snapshot-1999" and kept == sorted(kept) and len(kept) < 1_000
    assert removed == 2_000 - len(kept)


def test_a_forked_child_writes_a_file_of_its_own_and_none_of_the_parents_events(tmp_path: Path) -> None:
    log = FeedbackLog(tmp_path)
    log.offered("parent", ["a"])
    assert log.flush()
    child = os.fork()
    if child == 0:
        log.offered("child", ["a"])
        log.close()
        os._exit(0 if log.statistics.written == 1 else 1)
    assert os.waitpid(child, 0)[1] == 0
    log.offered("parent", ["b"])
    log.close()
    assert len(event_files(tmp_path)) == 2
    assert sorted(event.snapshot for event in events_in(tmp_path) if isinstance(event, Offered)) == [
        "child",
        "parent",
        "parent",
    ]


def test_a_forked_child_lets_go_of_the_file_of_its_parent(tmp_path: Path) -> None:
    log = FeedbackLog(tmp_path)
    log.offered("parent", ["a"])
    assert log.flush()
    (path,) = event_files(tmp_path)
    (child_reads, parent_writes), (parent_reads, child_writes) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        log.offered("child", ["a"])
        log.flush()
        os.write(child_writes, b".")
        os.read(child_reads, 1)
        os._exit(0)
    os.read(parent_reads, 1)
    log.close()
    with complete_file(path) as descriptor:
        assert descriptor is not None
    os.write(parent_writes, b".")
    assert os.waitpid(child, 0)[1] == 0


def test_a_new_file_that_a_build_removes_before_it_is_locked_gets_no_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked, removed = files._locked, list[Path]()

    def locked_too_late(descriptor: int) -> bool:
        if not removed:
            removed.extend(event_files(tmp_path))
            removed[0].unlink()
        return locked(descriptor)

    monkeypatch.setattr(files, "_locked", locked_too_late)
    log = FeedbackLog(tmp_path)
    log.offered("s1", ["a"])
    log.close()
    assert len(removed) == 1 and len(events_in(tmp_path)) == log.statistics.written == 1


def test_a_file_is_complete_after_an_hour_whether_events_come_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_OPEN_S", -1.0)  # the hour is over at once
    log = FeedbackLog(tmp_path / "busy")
    for _ in range(2):
        log.offered("s1", ["a"])
        assert log.flush()
    assert len(event_files(tmp_path / "busy")) == 2
    log.close()
    monkeypatch.setattr(feedback_log, "_IDLE_S", 0.01)
    idle = FeedbackLog(tmp_path / "idle")
    idle.offered("s1", ["a"])
    assert idle.flush()
    (path,) = event_files(tmp_path / "idle")
    end, complete = time.monotonic() + 10, False
    while not complete and time.monotonic() < end:
        with complete_file(path) as descriptor:
            complete = descriptor is not None
    idle.close()
    assert complete


def test_an_event_that_is_no_json_is_lost_alone_and_the_thread_goes_on(tmp_path: Path) -> None:
    log = FeedbackLog(tmp_path)
    for tool in ("a", object(), "b"):
        log.report("x", tool, "called")  # type: ignore[arg-type]
    log.offered("s1", ["c"])
    log.close()
    assert len(events_in(tmp_path)) == log.statistics.written == 3
    assert log.statistics.dropped == 1


def test_a_log_that_is_closed_while_others_record_loses_nothing(tmp_path: Path) -> None:
    log = FeedbackLog(tmp_path)
    threads = [threading.Thread(target=lambda: [log.offered("s", ["a"]) for _ in range(400)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        log.close()
    log.close()
    assert len(events_in(tmp_path)) == 1_600 and log.statistics.dropped == 0


def test_closing_does_not_wait_for_a_disk_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go, blocked = threading.Event(), threading.Event()
    monkeypatch.setattr(feedback_log, "_CLOSE_S", 0.05)
    log = FeedbackLog(tmp_path, max_queued=2)

    def hangs(lines: bytes) -> None:
        blocked.set()
        go.wait()

    monkeypatch.setattr(log._files, "append", hangs)
    log.offered("s1", ["a"])
    assert blocked.wait(10)
    for _ in range(2):
        log.offered("s1", ["a"])
    log.close()
    assert log.statistics.dropped == 2 and "has not taken them" in log.statistics.problem
    go.set()


def test_many_threads_lose_nothing(tmp_path: Path) -> None:
    log = FeedbackLog(tmp_path)
    threads = [threading.Thread(target=lambda: [log.offered("s", ["a"]) for _ in range(200)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log.close()
    assert len({event.id for event in events_in(tmp_path) if isinstance(event, Offered)}) == 1_600


def test_a_file_is_complete_once_nobody_writes_it(tmp_path: Path) -> None:
    log = FeedbackLog(tmp_path)
    log.offered("s1", ["a"])
    assert log.flush()
    (path,) = event_files(tmp_path)
    with complete_file(path) as descriptor:
        assert descriptor is None
    log.close()
    with complete_file(path) as descriptor:
        assert descriptor is not None
    with complete_file(tmp_path / "gone.jsonl") as descriptor:
        assert descriptor is None


def test_a_line_that_is_no_event_is_told_apart(tmp_path: Path) -> None:
    assert decode_event(b'{"event": "offered", "at": 1, "id"') is None
    assert decode_event(b"[" * 100_000) is None
    assert decode_event(b'{"event":"reported","at":1.0,"id":"x","tool":"t","outcome":"loved"}') is None
    (line,) = encode_events([Offered(1.0, "x", "s", ("half \ud800",))]).splitlines()
    assert decode_event(line) == Offered(1.0, "x", "s", ("half ?",))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"texts": 1}, "texts is 1, it must be True or False"),
        ({"max_bytes": 1_000}, "max_bytes is 1000, it must be a whole number, at least 65,536"),
        ({"max_queued": 0}, "max_queued is 0"),
    ],
)
def test_wrong_settings_are_refused(tmp_path: Path, wrong: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsInvalid, match=message):
        FeedbackLog(tmp_path, **wrong)  # type: ignore[arg-type]


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsInvalid, match="cannot be made"):
        FeedbackLog(tmp_path / "file" / "log")


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
