"""Backups that builds make, and the ledger that is restored from the last of them."""

import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from pipeline.errors import RunAborted, SettingsInvalid
from pipeline.ledger import LEDGER_FILE, Batch, Ledger, backups, database
from pipeline.ledger.quarantine import RELEASED, QuarantinedTool
from pipeline.settings import LedgerSettings
from tests.pipeline.ledger.ledgers import READ, entry, fill, held, keys, names

LOG = f"{LEDGER_FILE}.wal"
# Commits a row into the log of a ledger, and ends before DuckDB writes it into the file.
_KILLED = """
import duckdb, os, sys
connection = duckdb.connect(sys.argv[1])
connection.execute("INSERT INTO expansions (expansion_key) VALUES ('of the log')")
os._exit(9)
"""
# Stores answers and backs the ledger up until it is killed.
_BUSY = """
import sys
from itertools import count
from pathlib import Path
from pipeline.ledger import Ledger
from pipeline.settings import LedgerSettings
from tests.pipeline.ledger.ledgers import entry
with Ledger.open(Path(sys.argv[1])) as ledger:
    ledger.close_killed_runs()
    for number in count():
        run = ledger.start_run("office")
        ledger.back_up(LedgerSettings(), run, print)
        ledger.answers.put_entries(run, [entry(f"{run}-{n}", completion="x" * 9_999) for n in range(20)])
        print(run, flush=True)
"""


def a_build(workspace: Path, settings: LedgerSettings, *new: str) -> tuple[str, ...]:
    """Store answers as a build does; return what it went without."""
    with Ledger.open(workspace) as ledger:
        run = ledger.start_run("office")
        ledger.back_up(settings, run, lambda _: None)
        ledger.answers.put_entries(run, [entry(key) for key in new])
        ledger.finish_run(run, "published", snapshot=None, message="")
        return ledger.problems


def of(workspace: Path) -> dict[str, list[str]]:
    """Return the keys that the backups of a workspace hold, by name."""
    return {backup.name: keys(backup) for backup in backups.backups_of(workspace)}


def test_what_was_stored_since_the_last_backup_is_copied_and_the_newest_backups_stay(workspace: Path) -> None:
    for key in "cd":
        a_build(workspace, LedgerSettings(backups=1), key)
    assert of(workspace) == {"ledger-000003.duckdb": ["a", "b", "c"]}


def test_a_settled_batch_and_a_released_tool_are_copied_and_a_run_that_stored_nothing_is_not(workspace: Path) -> None:
    tool = QuarantinedTool("a", "new", "h", datetime.now(UTC), 1, 2, 0.5)
    with Ledger.open(workspace) as ledger:
        ledger.batches.put("server", "model", Batch("token", 0, 1, datetime(2026, 1, 1)), [])
        ledger.quarantine.put(1, "office", "snapshots", [tool], {"a": "h"})
    a_build(workspace, LedgerSettings())
    with Ledger.open(workspace) as ledger:
        ledger.batches.mark_settled("token", "failed")
    a_build(workspace, LedgerSettings())
    with Ledger.open(workspace) as ledger:
        ledger.quarantine.decide("office", "snapshots", ["a"], RELEASED)
    for _ in range(2):
        a_build(workspace, LedgerSettings(backups=5))
    assert [*of(workspace)] == [f"ledger-00000{run}.duckdb" for run in (4, 3, 2)]


def test_a_backup_leaves_the_ledger_locked_for_others_and_is_private(workspace: Path) -> None:
    with Ledger.open(workspace) as ledger:
        ledger.back_up(LedgerSettings(), ledger.start_run("office"), lambda _: None)
        (backup,) = (workspace / "backups").iterdir()
        assert backup.stat().st_mode & 0o777 == 0o600
        with pytest.raises(AssertionError), held(workspace, READ):
            pass


def test_a_backup_that_cannot_be_made_is_told_and_stops_nothing(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(workspace)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=10))
        assert "0 MB free" in a_build(workspace, LedgerSettings(), "c")[0]
    assert list((workspace / "backups").iterdir()) == []
    assert "ledger.max_backup_mb allows 1" in a_build(workspace, LedgerSettings(max_backup_mb=1), "d")[0]
    (workspace / "backups").rmdir()
    assert a_build(workspace, LedgerSettings(backups=0)) == () and not (workspace / "backups").exists()
    (workspace / "backups").write_text("in the way", encoding="utf-8")
    assert "File exists" in a_build(workspace, LedgerSettings(), "e")[0]
    assert keys(workspace) == ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize("share", [0, 0.5])
def test_half_a_ledger_is_replaced_by_its_backup_and_moved_aside(share: float, whole: Path) -> None:
    path = whole / LEDGER_FILE
    half = path.read_bytes()[: int(path.stat().st_size * share)] or b"this is no database"
    path.write_bytes(half)
    (whole / f"{LEDGER_FILE}.damaged-1").write_bytes(b"of an earlier night")
    told: list[str] = []
    with Ledger.open(whole, tell=told.append) as ledger:
        assert ledger.vectors.known(["a", "b"], "m", 4) == {"a", "b"}
        assert ledger.start_run("office") == 3
        assert list(ledger.problems) == told
    assert keys(whole) == ["a", "b"]
    aside = whole / f"{LEDGER_FILE}.damaged-2"  # a name of its own: nothing is ever deleted
    assert aside.read_bytes() == half
    assert (whole / f"{LEDGER_FILE}.damaged-1").read_bytes() == b"of an earlier night"
    for said in ("is damaged", "restored from", "backups/ledger-000002.duckdb", "after that is lost", str(aside)):
        assert said in told[0]


@pytest.mark.parametrize(
    "share", [0.3, *(pytest.param(n / 100, marks=pytest.mark.nightly) for n in (1, 10, 40, 60, 70, 80, 90)), 0.99]
)
def test_wherever_a_ledger_is_cut_off_nothing_known_is_lost(share: float, whole: Path) -> None:
    os.truncate(whole / LEDGER_FILE, int((whole / LEDGER_FILE).stat().st_size * share))
    with Ledger.open(whole) as ledger:  # its end may be room that DuckDB does not use
        ledger.answers.put_entries(3, [entry("c")])
    assert keys(whole) == ["a", "b", "c"]


def test_a_damaged_backup_is_passed_over_and_run_numbers_never_repeat(whole: Path) -> None:
    (whole / "backups" / "ledger-000009.duckdb").write_bytes(b"half a backup")
    (whole / LEDGER_FILE).unlink()
    with Ledger.open(whole) as ledger:
        assert ledger.start_run("office") == 10
    assert keys(whole) == ["a", "b"]


def test_a_log_keeps_what_a_killed_build_committed_and_costs_no_more_than_itself(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backups, "connect", database.connect)  # copies of one ledger would take each other's logs
    subprocess.run([sys.executable, "-c", _KILLED, str(workspace / LEDGER_FILE)], check=False)
    assert (workspace / LOG).stat().st_size
    here = tmp_path / "here"
    fill(here, "c")
    shutil.copy(workspace / LOG, here)  # the log of another ledger
    with Ledger.open(workspace) as ledger:
        assert ledger.problems == ()
    assert keys(workspace) == ["a", "b", "of the log"]
    with Ledger.open(here) as ledger:
        assert "opens without its log, whose end is lost" in ledger.problems[0]
    assert keys(here) == ["c"]
    assert f"{LOG}.damaged-1" in names(here)


@pytest.mark.nightly
def test_a_kill_at_any_moment_leaves_a_ledger_that_opens_with_all_that_was_committed(workspace: Path) -> None:
    for _ in range(12):
        command = [sys.executable, "-c", _BUSY, str(workspace)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as busy:
            assert busy.stdout is not None
            last = int(busy.stdout.readline())
            busy.kill()
            last = max([last, *map(int, busy.stdout.read().split())])
        with Ledger.open(workspace) as ledger:
            assert ledger.problems == ()
            assert len(ledger.answers.expansions([f"{last}-{n}" for n in range(20)])) == 20


@pytest.mark.parametrize(
    ("left", "said"),
    [
        ({LEDGER_FILE: b"this is no database"}, "is damaged"),
        ({LOG: b"of a ledger that is gone"}, "is missing"),
        ({f"{LEDGER_FILE}.replaced-1": b"half restored"}, "is missing"),
        ({"backups/ledger-000004.duckdb": b"half a backup"}, "is missing"),
    ],
)
def test_what_is_left_of_a_ledger_without_a_backup_stops_the_build_rather_than_pay_again(
    tmp_path: Path, left: dict[str, bytes], said: str
) -> None:
    (tmp_path / "backups").mkdir()
    for name, content in left.items():
        (tmp_path / name).write_bytes(content)
    with pytest.raises(RunAborted, match=rf"{said}.* no backup .*To begin a new one.*{next(iter(left))}"):
        Ledger.open(tmp_path)
    assert names(tmp_path) == {name for name in left if "/" not in name}


def test_a_workspace_with_snapshots_and_neither_ledger_nor_backup_begins_a_new_one_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "snapshots" / "office" / "20260101T000000Z-0").mkdir(parents=True)
    (tmp_path / "snapshots" / "office" / "20260101T000000Z-0" / "manifest.json").write_text("{}", encoding="utf-8")
    with Ledger.open(tmp_path) as ledger:
        assert "a new one was begun: what was asked before is asked and paid for again" in ledger.problems[0]


def test_an_error_in_the_middle_of_a_restoration_begins_it_anew(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (whole / LEDGER_FILE).unlink()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched, pytest.raises(RunAborted, match="No space left"):
        patched.setattr(database, "sync", full)
        Ledger.open(whole)
    with Ledger.open(whole) as ledger:
        ledger.answers.put_entries(3, [entry("c")])
    assert (keys(whole), names(whole)) == (["a", "b", "c"], {LEDGER_FILE})


def test_a_folder_in_its_place_is_a_wrong_setting(tmp_path: Path) -> None:
    (tmp_path / LEDGER_FILE).mkdir()
    with pytest.raises(SettingsInvalid, match=r"ledger\.duckdb is a folder: move it away"):
        Ledger.open(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_ledger_that_may_not_be_written_is_a_wrong_setting_and_is_not_replaced(whole: Path) -> None:
    (whole / LEDGER_FILE).chmod(0o400)
    with pytest.raises(SettingsInvalid, match=r"cannot be written .*give this user the right to"):
        Ledger.open(whole)
    assert names(whole) == {LEDGER_FILE}


@pytest.mark.parametrize(
    ("message", "kind", "said"),
    [
        ('Could not write file "x.wal": No space left on device', RunAborted, "the disk is full"),
        ('Could not write file "x": File too large', RunAborted, "the disk is full"),
        ("Trying to read a database file with version number 99, but", RunAborted, "a newer DuckDB"),
        ("Out of Memory Error: failed to allocate", RunAborted, "the memory does not suffice"),
        ('Cannot open file "x": Permission denied', SettingsInvalid, "give this user the right"),
        ('Cannot open file "x": Read-only file system', SettingsInvalid, "give this user the right"),
        ("Corrupt database file: computed checksum", database.LedgerDamaged, "checksum"),
    ],
)
def test_only_errors_about_the_file_itself_say_that_it_is_damaged(
    message: str, kind: type[Exception], said: str, tmp_path: Path
) -> None:
    error = database.explained(duckdb.IOException(message), tmp_path / LEDGER_FILE)
    assert type(error) is kind and said in str(error)


def test_a_ledger_and_its_log_are_their_owners_alone_and_a_stricter_mode_stays(workspace: Path) -> None:
    (workspace / LEDGER_FILE).chmod(0o644)  # as an earlier version left it
    with Ledger.open(workspace) as ledger:
        ledger.answers.put_entries(1, [entry("c")])
        assert [(workspace / name).stat().st_mode & 0o777 for name in (LEDGER_FILE, LOG)] == [0o600, 0o600]
    (workspace / LOG).write_bytes(b"")
    (workspace / LOG).chmod(0o400)
    database.keep_private(workspace / LEDGER_FILE)
    assert (workspace / LOG).stat().st_mode & 0o777 == 0o400
