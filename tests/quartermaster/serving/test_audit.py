"""The audit log: appended, opened anew where it was moved, and never silent."""

import json
import os
import threading
from pathlib import Path

import anyio
import pytest

from quartermaster.serving.audit import AuditFailed, AuditLog
from quartermaster.serving.profiles import Caller
from router import Profile, Router, Selection


def test_a_line_has_what_was_offered_and_no_text_unless_asked(router: Router, tmp_path: Path) -> None:
    for text in (False, True):
        log = AuditLog(tmp_path / f"{text}.jsonl", text=text, fsync=True)
        caller = Caller(router, Profile("p", Selection()), "alice", audit=log)
        caller.actions.offer(["a/b"], ["my private wish"])
        anyio.run(caller.record, "x", "200")
        (line,) = log.path.read_text(encoding="utf-8").splitlines()
        row = json.loads(line)
        assert (row["token"], row["profile"], row["offered"], row["outcome"]) == ("alice", "p", ["a/b"], "200")
        assert row["time"].endswith("Z")
        assert ("my private wish" in line) is text
        assert log.path.stat().st_mode & 0o777 == 0o600


def test_a_log_that_was_moved_away_is_begun_anew(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit.jsonl")
    log.append({"n": 1})
    log.path.rename(tmp_path / "audit.jsonl.1")
    log.append({"n": 2})
    assert [path.read_text() for path in sorted(tmp_path.iterdir())] == ['{"n":2}\n', '{"n":1}\n']


def test_lines_of_several_writers_stay_whole(tmp_path: Path) -> None:
    logs = [AuditLog(tmp_path / "audit.jsonl") for _ in range(4)]

    def write(log: AuditLog) -> None:
        for number in range(200):
            log.append({"number": number, "ids": ["x" * 50] * 20})

    threads = [threading.Thread(target=write, args=(log,)) for log in logs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text().splitlines()]
    assert len(rows) == 800


def test_a_line_that_cannot_be_written_is_an_error_and_the_next_one_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(AuditFailed, match="cannot be written: No such file"):
        AuditLog(tmp_path / "none" / "audit.jsonl").append({})
    log, whole = AuditLog(tmp_path / "audit.jsonl"), os.write
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda file, line: whole(file, line[:5]))
        with pytest.raises(AuditFailed, match="the line was cut off"):
            log.append({"number": 1})
    log.append({"number": 2})
    assert log.path.read_text().splitlines() == ['{"num', '{"number":2}']
