"""The events of a log end up in one Parquet file, once each, within its bounds."""

import os
import resource
import signal
import stat
from collections.abc import Iterable
from pathlib import Path
from secrets import token_hex
from typing import Any

import duckdb
import pytest
from msgspec.structs import replace
from pyarrow import parquet

from pipeline.errors import RunAborted
from pipeline.feedback import FeedbackLimits, StoredEvents, compact_events, forget_request, read_events, storage
from pipeline.feedback.storage import EVENTS_FILE
from router import FeedbackLog, RequestInvalid
from router.feedback import Event, Offered, Removed
from router.feedback.events import encode_events
from router.feedback.files import event_files
from router.search.search import clean_request

DAY_S = 86_400


def count(found: StoredEvents) -> int:
    """How many answers and reports there are."""
    return len(found.offered) + len(found.reported)


def logged(folder: Path, *requests: str) -> list[str]:
    """The ids of answers to these requests, each of which led to its second tool."""
    log = FeedbackLog(folder, texts=True)
    given: dict[str, Any] = {"always": ["c"], "caller": "night"}
    answers = [log.offered("s1", ["a", "b"], request=asked, needs=[f"find {asked}"], **given) for asked in requests]
    for answer in answers:
        log.report(answer, "b", "succeeded", caller="night")
    log.close()
    return answers


def test_the_files_of_json_become_one_private_parquet_file_with_the_same_events(tmp_path: Path) -> None:
    logged(tmp_path, "refund", "pay")
    before = read_events(tmp_path)
    assert compact_events(tmp_path) == before == read_events(tmp_path)
    assert event_files(tmp_path) == [] and count(before) == 4
    assert stat.S_IMODE((tmp_path / EVENTS_FILE).stat().st_mode) == 0o600
    table = parquet.read_table(tmp_path / EVENTS_FILE)  # of a version without a column
    parquet.write_table(table.drop_columns(["named", "needs"]), tmp_path / EVENTS_FILE)
    old = [replace(event, needs=()) if isinstance(event, Offered) else event for event in before.events]
    assert [*read_events(tmp_path).events] == old
    logged(tmp_path, "cancel")
    assert [event.request for event in compact_events(tmp_path).offered] == ["refund", "pay", "cancel"]
    statement = f"SELECT event, tools, tool, outcome FROM '{tmp_path / EVENTS_FILE}' ORDER BY \"at\" LIMIT 1"
    assert duckdb.connect().execute(statement).fetchall() == [("offered", ["a", "b"], None, None)]


def test_a_file_that_a_router_writes_is_read_and_left(tmp_path: Path) -> None:
    log = FeedbackLog(tmp_path)
    log.offered("s1", ["a"])
    assert log.flush()
    found = compact_events(tmp_path)
    assert (len(found.offered), found.writing, len(event_files(tmp_path))) == (1, 1, 1)
    log.close()
    assert compact_events(tmp_path) == read_events(tmp_path)
    assert event_files(tmp_path) == []


def test_events_that_a_killed_build_left_in_both_files_count_once(tmp_path: Path) -> None:
    logged(tmp_path, "refund")
    (path,) = event_files(tmp_path)
    lines = path.read_bytes()
    compact_events(tmp_path)
    path.write_bytes(lines)  # as if the build had ended before it removed the file
    assert count(compact_events(tmp_path)) == 2
    for _ in range(2):  # so do removals
        (tmp_path / "one.jsonl").write_bytes(encode_events([Removed(1.0, 7)]))
        assert compact_events(tmp_path).removed == 7


def test_old_events_are_removed_and_counted(tmp_path: Path) -> None:
    logged(tmp_path, "refund")
    at = read_events(tmp_path).offered[0].at
    assert count(compact_events(tmp_path, FeedbackLimits(days=2), now=at + DAY_S)) == 2
    found = compact_events(tmp_path, FeedbackLimits(days=2), now=at + 3 * DAY_S)
    assert (count(found), found.removed) == (0, 2)
    assert compact_events(tmp_path).removed == 2


def test_the_oldest_go_first_where_the_file_is_too_large(tmp_path: Path) -> None:
    ids = logged(tmp_path, *(f"request number {number}" for number in range(3_000)))
    found = compact_events(tmp_path, FeedbackLimits(max_bytes=65_536))
    assert (tmp_path / EVENTS_FILE).stat().st_size <= 65_536
    assert 0 < count(found) < 6_000 and count(found) + found.removed == 6_000
    kept = [event.id for event in found.offered]
    assert kept == ids[len(ids) - len(kept) :]


def test_events_of_one_moment_are_bounded_too(tmp_path: Path) -> None:
    events: list[Event] = [Offered(1.0, token_hex(16), "s1", ("a",)) for _ in range(6_000)]
    (tmp_path / "one.jsonl").write_bytes(encode_events(events))
    found = compact_events(tmp_path, FeedbackLimits(max_bytes=65_536), now=2.0)
    assert (tmp_path / EVENTS_FILE).stat().st_size <= 65_536
    assert 0 < count(found) == 6_000 - found.removed


def test_events_that_a_build_moves_while_they_are_read_count_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged(tmp_path, "refund")
    compact_events(tmp_path)
    logged(tmp_path, "pay")
    read_lines = storage._read_lines

    def moved_meanwhile(paths: Iterable[Path]) -> tuple[list[Event], int]:
        monkeypatch.setattr(storage, "_read_lines", read_lines)
        compact_events(tmp_path)
        return read_lines(paths)

    monkeypatch.setattr(storage, "_read_lines", moved_meanwhile)
    assert [event.request for event in read_events(tmp_path).offered] == ["refund", "pay"]


def test_processes_that_write_while_a_build_moves_their_events_lose_none(tmp_path: Path) -> None:
    children = []
    for _ in range(2):
        child = os.fork()
        if child == 0:
            for _ in range(20):
                logged(tmp_path, *map(str, range(10)))
            os._exit(0)
        children.append(child)
    running = set(children)
    while running:
        compact_events(tmp_path)
        running -= {child for child in running if os.waitpid(child, os.WNOHANG)[0]}
    found = compact_events(tmp_path)
    assert (len(found.offered), len(found.reported), found.unreadable, found.writing) == (400, 400, 0, 0)


def test_a_killed_writer_costs_no_event_that_was_flushed(tmp_path: Path) -> None:
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        log = FeedbackLog(tmp_path)
        log.offered("s1", ["a"])
        log.flush()
        os.write(writes, b".")
        while True:
            log.offered("s1", ["a"])
    os.read(reads, 1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    found = compact_events(tmp_path)
    assert count(found) >= 1 and found.unreadable <= 1 and event_files(tmp_path) == []


def test_a_full_disk_costs_the_events_that_do_not_fit_and_no_others(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000))
        log = FeedbackLog(tmp_path)
        for _ in range(50):
            log.offered("s1", ["a"])
            log.flush()
        log.close()
        statistics = log.statistics
        os._exit(0 if statistics.written and statistics.dropped and statistics.problem else 1)
    assert os.waitpid(child, 0)[1] == 0
    found = compact_events(tmp_path)
    assert 0 < count(found) < 50 and found.unreadable <= 1


def test_a_text_that_the_log_has_cut_is_forgotten_by_its_whole(tmp_path: Path) -> None:
    whole = "refund Lindholm\0 \ud800 " * 20_000
    logged(tmp_path, clean_request(whole))
    assert forget_request(tmp_path, whole) == 1
    assert all(b"Lindholm" not in path.read_bytes() for path in tmp_path.iterdir())
    with pytest.raises(RequestInvalid, match="the request is empty"):
        forget_request(tmp_path, " ")


def test_a_line_that_was_cut_off_is_counted_and_costs_no_other(tmp_path: Path) -> None:
    logged(tmp_path, "refund")
    (path,) = event_files(tmp_path)
    path.write_bytes(path.read_bytes() + b'{"event": "offered", "at"')
    assert (count(read_events(tmp_path)), read_events(tmp_path).unreadable) == (2, 1)
    assert (compact_events(tmp_path).unreadable, compact_events(tmp_path).unreadable) == (1, 0)


def test_a_request_is_forgotten_whatever_its_case_and_spaces(tmp_path: Path) -> None:
    logged(tmp_path, "Refund  Lindholm", "pay")
    compact_events(tmp_path)
    logged(tmp_path, "refund lindholm")
    assert forget_request(tmp_path, " refund Lindholm ") == 2
    found = read_events(tmp_path)
    assert [event.request for event in found.offered] == [None, "pay", None] and len(found.reported) == 3
    assert all(b"indholm" not in path.read_bytes() for path in tmp_path.iterdir())
    assert forget_request(tmp_path, "refund lindholm") == 0


def test_a_damaged_file_or_no_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(RunAborted, match="missing cannot be read or written: No such file"):
        read_events(tmp_path / "missing")
    (tmp_path / EVENTS_FILE).write_bytes(b"PAR1 or not")
    with pytest.raises(RunAborted, match="is damaged"):
        compact_events(tmp_path)
    assert (tmp_path / EVENTS_FILE).read_bytes() == b"PAR1 or not"
