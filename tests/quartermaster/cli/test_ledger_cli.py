"""quartermaster ledger: what an operator does with the ledger, at a terminal and from programs."""

import json
import shutil
from pathlib import Path

import duckdb
import pytest

from pipeline.ledger import LEDGER_FILE, Ledger
from tests.pipeline.ledger.ledgers import entry, fill, held, keys
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
        ["openai", "gpt", "2", "0", "20", "4", "1", "0"]
    ]
    as_json = json.loads(ledger(folder, "show", "--json").stdout)
    assert as_json["held_by"] is None
    assert [run["outcome"] for run in as_json["runs"]] == ["published"]


def end(workspace: Path, outcome: str, message: str = "", **cost: float | None) -> None:
    """Store a run of the catalog that ended so, with an answer where it cost something."""
    with Ledger.open(workspace) as ledger:
        run = ledger.start_run("office")
        ledger.answers.put_entries(run, [entry(f"of run {run}", **cost)] if cost else [])
        if outcome != "running":
            ledger.finish_run(run, outcome, snapshot=None, message=message)


@pytest.mark.parametrize(
    ("outcome", "message", "code"),
    [
        ("published", "", 0),
        ("unchanged", "", 0),
        ("unchanged", "a gate would hold it", 1),
        ("held", "a gate holds it", 1),
        ("failed", "no server", 1),
        ("running", "", 1),
    ],
)
def test_the_last_build_decides_whether_the_night_succeeded(
    folder: Path, outcome: str, message: str, code: int
) -> None:
    end(folder / ".quartermaster", outcome, message)
    shown = called(folder, "status")
    said = "killed" if outcome == "running" else outcome  # nobody has the ledger
    assert (shown.returncode, shown.stdout.startswith(f"office: {said}, run 2, ")) == (code, True)
    assert message in shown.stdout


def test_a_build_that_is_missing_for_hours_is_no_success_and_an_unknown_catalog_is_refused(folder: Path) -> None:
    assert called(folder, "status", "--within", "1").returncode == 0
    late = called(folder, "status", "--within", "0")
    assert (late.returncode, "more than 0 hours ago" in late.stdout) == (1, True)
    assert called(folder, "status", "nobody").returncode == 2


def test_the_cost_of_each_build_is_told_by_model_and_is_unknown_where_a_price_is(folder: Path) -> None:
    workspace = folder / ".quartermaster"
    end(workspace, "failed", "no server", cost_usd=0.25)
    end(workspace, "published", cost_usd=None)
    lines = [line.split() for line in called(folder, "status", COLUMNS="80").stdout.splitlines()[2:]]
    assert [(line[0], *line[3:6], *line[-2:]) for line in lines] == [
        ("3", "published", "gpt", "1", "12", "unknown"),
        ("2", "failed", "gpt", "1", "12", "$0.2500"),
        ("1", "published", "gpt", "2", "24", "$1.0000"),
    ]
    shown = json.loads(called(folder, "status", "office", "--json", "--limit", 2).stdout)["catalogs"]["office"]
    costs = [(night["run_id"], night["cost_usd"]) for night in shown["nights"]]
    assert shown["good"] and costs == [(3, None), (2, 0.25)]


def test_it_answers_a_select(folder: Path) -> None:
    chosen = ledger(folder, "show", "--json", "--sql", "SELECT expansion_key FROM answers ORDER BY 1")
    assert json.loads(chosen.stdout)["rows"] == [{"expansion_key": "a"}, {"expansion_key": "b"}]


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
