"""A ledger that is lost or damaged: restored from its copies, moved aside and never deleted, told in a sentence."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from pipeline.errors import RunAborted, SettingsInvalid
from pipeline.ledger import LEDGER_FILE, Ledger, opening
from pipeline.settings import LedgerSettings
from tests.pipeline.ledger.ledgers import begin, entry, fill, keys, names

LOG = f"{LEDGER_FILE}.wal"
# Commits a row into the log of a ledger, and ends before DuckDB writes it into the file.
_KILLED = """
import duckdb, os, sys
connection = duckdb.connect(sys.argv[1])
connection.execute("INSERT INTO expansions (expansion_key) VALUES ('of the log')")
os._exit(9)
"""


@pytest.fixture(scope="module")
def with_copy(filled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace whose ledger a build has copied. To be copied."""
    whole = shutil.copytree(filled, tmp_path_factory.mktemp("whole") / "ws")
    begin(whole, LedgerSettings())
    return whole


@pytest.fixture
def whole(with_copy: Path, tmp_path: Path) -> Path:
    """It again, to be damaged."""
    return shutil.copytree(with_copy, tmp_path / "whole")


@pytest.fixture(scope="module")
def with_log(filled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a ledger and its log, as a killed build leaves them. To be copied."""
    logged = shutil.copytree(filled, tmp_path_factory.mktemp("logged") / "ws")
    subprocess.run([sys.executable, "-c", _KILLED, str(logged / LEDGER_FILE)], check=False)
    assert (logged / LOG).stat().st_size
    return logged


@pytest.fixture
def logged(with_log: Path, tmp_path: Path) -> Path:
    """It again, to be damaged."""
    return shutil.copytree(with_log, tmp_path / "logged")


@pytest.mark.parametrize("share", [0, pytest.param(0.2, marks=pytest.mark.nightly), 0.5])
def test_half_a_ledger_is_replaced_by_its_copy(share: float, whole: Path) -> None:
    path = whole / LEDGER_FILE
    half = path.read_bytes()[: int(path.stat().st_size * share)] or b"this is no database"
    path.write_bytes(half)
    (whole / f"{LEDGER_FILE}.damaged-1").write_bytes(b"of an earlier night")
    told: list[str] = []
    with Ledger.open(whole, tell=told.append) as ledger:
        assert ledger.expansions(["a", "b"]).keys() == {"a", "b"}
        assert ledger.known_vectors(["a", "b"], "m", 4) == set()  # a copy has none: they are computed again
        assert "backups/ledger-000002.duckdb" in ledger.problems[0]
        assert ledger.start_run("office") == 3
    aside = whole / f"{LEDGER_FILE}.damaged-2"  # a name of its own: nothing is ever deleted
    assert aside.read_bytes() == half
    assert (whole / f"{LEDGER_FILE}.damaged-1").read_bytes() == b"of an earlier night"
    assert len(told) == 1 and "was damaged" in told[0] and str(aside) in told[0]


@pytest.mark.parametrize(
    "share", [0.3, *(pytest.param(n / 100, marks=pytest.mark.nightly) for n in (1, 10, 40, 60, 70, 80, 90)), 0.99]
)
def test_wherever_a_ledger_is_cut_off_nothing_known_is_lost(share: float, whole: Path) -> None:
    os.truncate(whole / LEDGER_FILE, int((whole / LEDGER_FILE).stat().st_size * share))
    with Ledger.open(whole) as ledger:  # its end may be room that DuckDB does not use
        ledger.put_entries(3, [entry("c")])
    assert keys(whole) == ["a", "b", "c"]


def test_a_damaged_copy_is_passed_over(whole: Path) -> None:
    (whole / "backups" / "ledger-000009.duckdb").write_bytes(b"half a copy")
    (whole / LEDGER_FILE).unlink()
    with Ledger.open(whole) as ledger:
        assert ledger.expansions(["a", "b"]).keys() == {"a", "b"}
        assert ledger.start_run("office") == 10, "numbers of runs never repeat"


def test_what_a_killed_build_committed_is_in_the_log_and_kept(logged: Path) -> None:
    with Ledger.open(logged) as ledger:
        assert ledger.problems == ()
    assert keys(logged) == ["a", "b", "of the log"]


def test_a_log_of_another_ledger_is_moved_aside_and_the_ledger_is_kept(logged: Path, tmp_path: Path) -> None:
    here = tmp_path / "here"
    fill(here, "c")
    shutil.copy(logged / LOG, here)
    with Ledger.open(here) as ledger:
        assert "could not be read" in ledger.problems[0]
    assert keys(here) == ["c"]
    assert f"{LOG}.damaged-1" in names(here)


def test_a_log_without_its_ledger_is_kept_beside_the_new_one(logged: Path) -> None:
    content = (logged / LOG).read_bytes()
    (logged / LEDGER_FILE).unlink()
    with Ledger.open(logged):
        pass
    assert (logged / f"{LOG}.damaged-1").read_bytes() == content
    assert keys(logged) == []


def test_a_damaged_ledger_without_copy_or_snapshot_stops_and_stays(tmp_path: Path) -> None:
    (tmp_path / LEDGER_FILE).write_bytes(b"this is no database")
    with pytest.raises(RunAborted, match=r"no copy and no snapshot to restore it from\. To begin a new one"):
        Ledger.open(tmp_path)
    assert names(tmp_path) == {LEDGER_FILE}


def test_a_missing_ledger_whose_copies_cannot_be_read_stops_rather_than_pay_again(tmp_path: Path) -> None:
    (tmp_path / "backups").mkdir()
    (tmp_path / "backups" / "ledger-000004.duckdb").write_bytes(b"half a copy")
    with pytest.raises(RunAborted, match=r"it is missing\. There is no copy"):
        Ledger.open(tmp_path)
    assert LEDGER_FILE not in names(tmp_path)


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
        ("Corrupt database file: computed checksum", opening.LedgerDamaged, "checksum"),
    ],
)
def test_only_errors_about_the_file_itself_say_that_it_is_damaged(
    message: str, kind: type[Exception], said: str, tmp_path: Path
) -> None:
    error = opening.explained(duckdb.IOException(message), tmp_path / LEDGER_FILE)
    assert type(error) is kind and said in str(error)


def test_a_mistake_in_a_statement_damages_nothing(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_is_vector", lambda kind: True)  # arithmetic on texts
    with pytest.raises(RunAborted, match="cannot be opened"):
        Ledger.open(whole)
    assert names(whole) == {LEDGER_FILE}


def test_an_error_in_the_middle_of_a_restoration_begins_it_anew(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (whole / LEDGER_FILE).unlink()
    with monkeypatch.context() as patched, pytest.raises(RunAborted, match="No space left"):
        patched.setattr("pipeline.ledger.recovery.replace_file", _full)
        Ledger.open(whole)
    with Ledger.open(whole) as ledger:
        ledger.put_entries(3, [entry("c")])
    assert keys(whole) == ["a", "b", "c"]
    assert names(whole) == {LEDGER_FILE}


def _full(*_: Path) -> None:
    raise OSError(28, "No space left on device")


def test_a_memory_that_does_not_suffice_is_not_taken_for_snapshots_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "snapshots" / "office" / "20260101T000000Z-0"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text("{}", encoding="utf-8")
    with duckdb.connect(str(folder / "catalog.duckdb")):
        pass

    def out_of_memory(*_: object) -> None:
        raise duckdb.OutOfMemoryException("Out of Memory Error: could not allocate block")

    monkeypatch.setattr("pipeline.ledger.from_snapshots._add", out_of_memory)
    with pytest.raises(RunAborted, match="the memory does not suffice"):
        Ledger.open(tmp_path)
    assert names(tmp_path) == {"snapshots"}
