"""What an operator does with a ledger: back it up, restore it, look into it, rewrite it."""

from pathlib import Path

import duckdb
import pytest

from pipeline.errors import RunAborted, SettingsInvalid
from pipeline.ledger import LEDGER_FILE, Ledger
from pipeline.ledger.commands import back_up, check, compact, open_to_read, restore
from pipeline.settings import LedgerSettings
from tests.pipeline.ledger.ledgers import begin, entry, fill, held, keys, names


def test_a_backup_goes_to_a_file_or_into_a_folder_and_is_a_whole_ledger(workspace: Path, tmp_path: Path) -> None:
    to_file = back_up(workspace, tmp_path / "kept.duckdb")
    into_folder = back_up(workspace, tmp_path)
    assert to_file.file == tmp_path / "kept.duckdb"
    assert into_folder.file.name.startswith("ledger-20")
    assert keys(to_file.file) == keys(into_folder.file) == ["a", "b"]
    assert not list(tmp_path.glob("*.unfinished*"))


def test_while_a_build_runs_its_backup_is_copied_and_read_and_nothing_is_restored_or_rewritten(
    workspace: Path, tmp_path: Path
) -> None:
    begin(workspace, LedgerSettings(backups=2))
    with held(workspace) as build:
        made = back_up(workspace, tmp_path / "kept.duckdb")
        readable = open_to_read(workspace)
        assert readable.connection.execute("SELECT count(*) FROM expansions").fetchall() == [(2,)]
        assert readable.note is not None and f"pid {build.pid}" in readable.note
        readable.connection.close()
        for refused in (lambda: restore(workspace, made.file), lambda: compact(workspace)):
            with pytest.raises(RunAborted, match="in use by another build"):
                refused()
    assert made.source == workspace / "backups" / "ledger-000002.duckdb"
    assert keys(made.file) == keys(workspace) == ["a", "b"]


def test_a_build_that_made_no_backup_is_named_and_waited_for(workspace: Path, tmp_path: Path) -> None:
    with held(workspace) as build:
        for refused in (lambda: back_up(workspace, tmp_path / "kept"), lambda: open_to_read(workspace)):
            with pytest.raises(RunAborted, match=f"pid {build.pid}"):
                refused()
    assert not (tmp_path / "kept").exists()


def test_the_ledger_is_no_place_for_its_backup(workspace: Path) -> None:
    with pytest.raises(SettingsInvalid, match="is the ledger itself"):
        back_up(workspace, workspace / LEDGER_FILE)


def test_a_restored_ledger_is_the_backup_and_the_one_before_is_kept_beside_it(workspace: Path, tmp_path: Path) -> None:
    kept = back_up(workspace, tmp_path / "kept.duckdb").file
    fill(workspace, "c")
    done = restore(workspace, kept)
    assert keys(workspace) == ["a", "b"]
    assert done.replaced is not None and keys(done.replaced) == ["a", "b", "c"]
    assert names(workspace) == {LEDGER_FILE, f"{LEDGER_FILE}.replaced-1"}


def test_what_is_no_whole_ledger_is_not_restored(workspace: Path, tmp_path: Path) -> None:
    half, foreign = tmp_path / "half", tmp_path / "foreign"
    half.write_bytes((workspace / LEDGER_FILE).read_bytes()[:20_000])
    duckdb.connect(str(foreign)).close()
    for file, said in (
        (half, "not a whole ledger"),
        (foreign, "is not a ledger"),
        (tmp_path / "none", "is not a file"),
        (None, "has no backup of the ledger"),
    ):
        with pytest.raises((RunAborted, SettingsInvalid), match=said):
            restore(workspace, file)
    assert (keys(workspace), names(workspace)) == (["a", "b"], {LEDGER_FILE})


def test_a_rewritten_ledger_is_smaller_and_holds_the_same(workspace: Path) -> None:
    many = [entry(f"k{n}", completion=f"{n} " * 2_000) for n in range(500)]
    with Ledger.open(workspace) as ledger:
        ledger.answers.put_entries(1, many)
    with duckdb.connect(str(workspace / LEDGER_FILE)) as connection:  # what a migration may do
        connection.execute("UPDATE expansions SET completion = NULL")
    done = compact(workspace)
    assert done.after < done.before
    assert len(keys(workspace)) == 502
    assert check(workspace).problems == (), "comments, views and numbers of runs are there"
    with Ledger.open(workspace) as ledger:
        assert ledger.vectors.known(["a"], "m", 4) == {"a"}
        assert ledger.start_run("office") == 2
    assert names(workspace) == {LEDGER_FILE}


def test_without_snapshots_no_vector_is_left_out(workspace: Path) -> None:
    with pytest.raises(RunAborted, match="which are in use is not known"):
        compact(workspace, drop_vectors=True)
    with Ledger.open(workspace) as ledger:
        assert ledger.vectors.known(["a"], "m", 4) == {"a"}


def test_a_half_ledger_is_a_problem_and_no_error(workspace: Path) -> None:
    checked = check(workspace)
    assert (checked.problems, checked.rows["expansions"], checked.rows["vectors_4"]) == ((), 2, 2)
    path = workspace / LEDGER_FILE
    path.write_bytes(path.read_bytes()[:20_000])
    checked = check(workspace)
    assert checked.version is None
    assert "it cannot be read" in checked.problems[0]


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE expansions SET run_id = 77 WHERE tool_id = 'tool a'", "1 answers belong to no run, such as run 77"),
        ("INSERT INTO questions (expansion_key) VALUES ('q')", "1 questions have lost their instructions, such as q"),
        (
            "INSERT INTO expansions FROM expansions WHERE tool_id = 'tool a'",
            "1 keys have several paid answers: 0.5 US dollars were paid twice",
        ),
        ("UPDATE expansions SET expansion = '{}' WHERE tool_id = 'tool b'", "1 answers are no JSON with a phrase"),
        ("UPDATE migrations SET number = number + 70", "written by a newer version"),
    ],
)
def test_each_fault_is_told_in_a_sentence(statement: str, problem: str, workspace: Path) -> None:
    with duckdb.connect(str(workspace / LEDGER_FILE)) as connection:
        connection.execute(statement)
    (found,) = check(workspace).problems
    assert problem in found
