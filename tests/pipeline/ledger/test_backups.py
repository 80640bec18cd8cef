"""The copies that builds make by themselves: before they ask anything, and again while they store answers."""

import shutil
from pathlib import Path

import duckdb
import pytest

from pipeline.ledger import LEDGER_FILE, Ledger, backups
from pipeline.settings import LedgerSettings
from pipeline.sources.last_reading import SourceReading
from tests.pipeline.ledger.ledgers import READ, entry, held, keys
from tests.support.factories import make_raw


def copies(workspace: Path) -> list[str]:
    return [copy.name for copy in backups.copies(workspace)]


def a_build(workspace: Path, settings: LedgerSettings, *new: str) -> tuple[str, ...]:
    """Store answers as a build does; return what it went without."""
    with Ledger.open(workspace) as ledger:
        run = ledger.start_run("office")
        ledger.keep_copies(settings, "office", run, lambda _: None)
        for key in new:
            ledger.put_entries(run, [entry(key)])
        ledger.finish_run(run, "published", snapshot=None, message="")
        return ledger.problems


def test_each_build_copies_the_ledger_before_it_stores_anything_and_the_newest_copies_stay(workspace: Path) -> None:
    for key in "cd":
        a_build(workspace, LedgerSettings(backups=1), key)
    assert copies(workspace) == ["ledger-000003.duckdb"]
    assert [keys(copy) for copy in backups.copies(workspace)] == [["a", "b", "c"]]


def test_a_ledger_in_which_nothing_new_was_stored_is_not_copied_again(workspace: Path) -> None:
    for _ in range(2):
        a_build(workspace, LedgerSettings())
    assert copies(workspace) == ["ledger-000002.duckdb"]


def test_a_build_that_goes_on_copies_what_it_stored_and_the_copy_can_be_read_meanwhile(tmp_path: Path) -> None:
    settings = LedgerSettings(backup_minutes=1e-9)
    with Ledger.open(tmp_path) as ledger:
        run = ledger.start_run("office")
        ledger.keep_copies(settings, "office", run, lambda _: None)
        ledger.put_entries(run, [entry("a")])
        (copy,) = backups.copies(tmp_path)
        assert keys(copy) == ["a"]
        with duckdb.connect(str(copy), read_only=True) as connection:
            assert connection.execute("SELECT outcome FROM runs").fetchall() == [("running",)]


def test_copying_leaves_the_ledger_locked_for_others(workspace: Path) -> None:
    with Ledger.open(workspace) as ledger:
        ledger.keep_copies(LedgerSettings(), "office", ledger.start_run("office"), lambda _: None)
        assert copies(workspace) == ["ledger-000002.duckdb"]
        with pytest.raises(AssertionError), held(workspace, READ):
            pass


def test_a_copy_that_cannot_be_made_is_told_and_stops_nothing(workspace: Path) -> None:
    (workspace / "backups").write_text("in the way", encoding="utf-8")
    (problem,) = a_build(workspace, LedgerSettings(backup_minutes=1e-9), "c", "d")
    assert problem.startswith("the ledger could not be copied: ") and "File exists" in problem
    assert keys(workspace) == ["a", "b", "c", "d"]


def test_a_ledger_above_the_bound_is_not_copied_and_that_is_told(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backups, "_MB", 1_000)
    (problem,) = a_build(workspace, LedgerSettings(max_backup_mb=1))
    assert "ledger.max_backup_mb allows 1" in problem
    assert copies(workspace) == []


def test_without_copies_none_is_made(tmp_path: Path) -> None:
    assert a_build(tmp_path, LedgerSettings(backups=0), "a") == ()
    assert not (tmp_path / "backups").exists()


def test_a_disk_without_room_is_told_before_anything_is_written(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(workspace)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=10))
    (problem,) = a_build(workspace, LedgerSettings())
    assert "0 MB free" in problem
    assert list((workspace / "backups").iterdir()) == []
    assert (workspace / LEDGER_FILE).is_file()


@pytest.mark.nightly
def test_a_source_that_gave_something_else_makes_a_new_copy_though_no_row_was_added(tmp_path: Path) -> None:
    for name in ("mail", "chat", "chat"):
        with Ledger.open(tmp_path) as ledger:
            run = ledger.start_run("office")
            ledger.keep_copies(LedgerSettings(), "office", run, lambda _: None)
            reading = SourceReading("k", "tools.json", (make_raw(name),))
            ledger.put_readings(run, "office", "snapshots", f"s{run}", [reading], held=False)
            ledger.accept_readings("office", "snapshots", f"s{run}")
    a_build(tmp_path, LedgerSettings())
    assert copies(tmp_path) == ["ledger-000003.duckdb", "ledger-000002.duckdb"]
