"""quartermaster ledger: what an operator does with the ledger, at a terminal and from programs."""

import json
import shutil
from pathlib import Path

import duckdb
import pytest

from pipeline.ledger import LEDGER_FILE
from tests.pipeline.ledger.ledgers import fill, held, keys
from tests.support.command_line import Done, called


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a workspace. To be read, or copied."""
    folder = tmp_path_factory.mktemp("filled")
    fill(folder / ".quartermaster", "a", "b")
    return folder


@pytest.fixture
def folder(filled: Path, tmp_path: Path) -> Path:
    """A copy of it, in which commands are run."""
    return shutil.copytree(filled, tmp_path, dirs_exist_ok=True)


def ledger(folder: Path, *arguments: object) -> Done:
    return called(folder, "ledger", *arguments)


def test_it_shows_what_it_holds_and_what_that_cost(folder: Path) -> None:
    shown = ledger(folder, "show")
    assert shown.returncode == 0
    assert [line.split() for line in shown.stdout.splitlines() if line.startswith("openai")] == [
        ["openai", "gpt", "2", "20", "4", "1"]
    ]
    as_json = json.loads(ledger(folder, "show", "--json").stdout)
    assert as_json["held_by"] is None
    assert [run["outcome"] for run in as_json["runs"]] == ["published"]


def test_it_answers_a_select_and_refuses_anything_else(folder: Path) -> None:
    chosen = ledger(folder, "show", "--json", "--sql", "SELECT expansion_key FROM answers ORDER BY 1")
    assert json.loads(chosen.stdout)["rows"] == [{"expansion_key": "a"}, {"expansion_key": "b"}]
    for refused in ("DELETE FROM expansions", "SELECT 1; SELECT 2", "FROM nowhere", "FROM '/etc/passwd'"):
        done = ledger(folder, "show", "--sql", refused)
        assert (done.returncode, done.stdout) == (2, ""), refused
    assert keys(folder / ".quartermaster") == ["a", "b"]


@pytest.mark.nightly
def test_while_a_build_runs_its_copy_answers_and_the_build_is_named(folder: Path) -> None:
    with held(folder / ".quartermaster", backups=2) as other:
        shown = ledger(folder, "show", "--sql", "SELECT count(*) AS answers FROM expansions")
        made = ledger(folder, "backup", folder / "kept.duckdb")
    assert shown.stdout.split() == ["answers", "2"]
    assert f"pid {other.pid}" in shown.stderr
    assert "a build runs" in made.stderr
    assert keys(folder / "kept.duckdb") == ["a", "b"]


def test_a_backup_is_restored_and_the_ledger_before_it_is_kept(folder: Path) -> None:
    made = ledger(folder, "backup", folder)
    file = Path(made.stdout.strip())
    assert (made.returncode, file.parent) == (0, folder)
    fill(folder / ".quartermaster", "c")
    restored = ledger(folder, "restore", file)
    assert restored.returncode == 0
    assert f"{LEDGER_FILE}.replaced-1" in restored.stderr
    assert keys(folder / ".quartermaster") == ["a", "b"]
    assert json.loads(ledger(folder, "restore", file, "--json").stdout)["source"] == str(file)


def test_a_fault_sets_exit_code_1_and_is_told_in_a_sentence(folder: Path) -> None:
    whole = ledger(folder, "check")
    assert (whole.returncode, whole.stdout.splitlines()[-1]) == (0, "nothing is wrong")
    with duckdb.connect(str(folder / ".quartermaster" / LEDGER_FILE)) as connection:
        connection.execute("UPDATE expansions SET run_id = 9")
    faulty = ledger(folder, "check", "--json")
    assert (faulty.returncode, json.loads(faulty.stdout)["problems"]) == (
        1,
        ["2 answers belong to no run, such as run 9"],
    )
    assert "2 answers belong to no run" in ledger(folder, "check").stdout


def test_a_rewriting_tells_the_size_before_and_after(folder: Path) -> None:
    done = ledger(folder, "compact")
    assert done.returncode == 0 and " MB → " in done.stdout
    sizes = json.loads(ledger(folder, "compact", "--json").stdout)
    assert sizes["after"] <= sizes["before"] and sizes["vectors"] == 0


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("show", "--workspace", "none"), 3, "has no ledger: a build makes one"),
        (("check", "none.duckdb"), 2, "none.duckdb is not a file"),
        (("restore", "none.duckdb"), 2, "none.duckdb is not a file"),
        (("restore",), 3, "has no backup of the ledger"),
        (("backup", "nowhere/kept.duckdb"), 2, "choose another place"),
        (("backup", "disk/"), 2, "there is no folder disk/: make it, or name a file"),
        (("backup", f".quartermaster/{LEDGER_FILE}"), 2, "is the ledger itself"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_sentence(
    arguments: tuple[str, ...], code: int, said: str, filled: Path
) -> None:
    done = ledger(filled, *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr and not (filled / "disk").exists()
