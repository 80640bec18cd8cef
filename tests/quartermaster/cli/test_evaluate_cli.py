"""evaluate and compare on the command line: what they write, what they show, what they refuse."""

import json
import shutil
from pathlib import Path

import pytest

from router import RECIPES
from router.contract import DOCUMENT_SIGNALS
from router.distribution import install_command
from tests.support.command_line import Run, started

REQUESTS = {"undo a payment": "stripe/create_refund", "will it rain tomorrow": "linear/list_issues"}  # the second, no


@pytest.fixture
def bench(catalog_folder: Path, tmp_path: Path) -> Path:
    """The session's catalog with three judged requests, one of them markup that no tool answers."""
    folder = shutil.copytree(catalog_folder, tmp_path / "office")
    rows = [
        {"id": r, "query": r, "kind": "single", "required": [tool], "acceptable": [tool], "slice": "everyday"}
        for r, tool in REQUESTS.items()
    ]
    rows.append({"id": "x", "query": "[red]\x1b[31m", "kind": "single", "required": ["a/[b]"], "acceptable": ["a/[b]"]})
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return folder


def test_evaluate_writes_every_file_and_shows_every_part(run: Run, bench: Path, snapshot: Path, tmp_path: Path) -> None:
    options = ("--against-recipe", "lexical", "--ablate", "--worst", 2, "--html", "out.html", "--runs", "runs")
    done = run("evaluate", "--bench", bench, "--snapshot", snapshot, *options, "--json", "out.json", COLUMNS="80")
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert list(result["ablation"]) == ["name", "description", "expansion", "dense"]
    assert result["against"]["recipe"] == "lexical" and len(result["worst"]) == 2
    assert result["causes"]["missed"] == 1 and result["causes"]["by_cause"]["absent"]["steps"] == 1
    assert "office" in (tmp_path / "out.html").read_text(encoding="utf-8")
    assert (tmp_path / "runs" / "qrels.txt").read_text(encoding="utf-8").startswith("undo%20a%20payment 0 stripe/")
    assert (tmp_path / "runs" / "fused.run").is_file()
    for part in (
        "95 %",
        "everyday",
        "without a signal",
        "recipe lexical",
        "Missed steps by cause (1 of 3 steps)",
        "absent: no tool of the step is in the snapshot",
        "mended",
        "by cause: ",
        "The worst requests (2)",
        "not in this snapshot",
    ):
        assert part in done.stdout, part
    assert "1 tools that the judgements name are not in the snapshot: a/[b]" in done.stderr
    same = run("evaluate", "--bench", bench, "--snapshot", snapshot, "--against", snapshot, "--json", "-")
    assert json.loads(same.stdout)["against"]["difference"]["ndcg@10"] == {
        "difference": 0.0, "interval": [0.0, 0.0], "p": 1.0, "better": 0, "worse": 0
    }  # fmt: skip
    assert "\x1b" not in done.stdout and "[red]" in done.stdout  # a request is data
    tables = [line for line in done.stdout.splitlines() if not line.startswith("  ")]
    assert max(map(len, tables)) <= 80


def test_requests_are_asked_with_needs_and_compared_with_the_same_alone(
    run: Run, bench: Path, snapshot: Path, tmp_path: Path
) -> None:
    row = {"id": "will it rain tomorrow", "needs": ["show my open issues", "list issues by filter"]}
    (tmp_path / "needs.jsonl").write_text(json.dumps(row), encoding="utf-8")
    options = ("--recipe", "lexical", "--needs", "needs.jsonl", "--json", "-")
    result = json.loads(run("evaluate", "--bench", bench, "--snapshot", snapshot, *options).stdout)
    assert result["queries"] == 1 and result["against"]["difference"]["ndcg@10"]["better"] == 1


def test_compare_shows_recipes_and_signals_side_by_side(run: Run, bench: Path, snapshot: Path) -> None:
    done = run("compare", "--bench", bench, "--snapshot", snapshot, COLUMNS="80")
    assert done.returncode == 0, done.stderr
    rows = [line.split()[0] for line in done.stdout.splitlines()[3 : 3 + len(RECIPES) + len(DOCUMENT_SIGNALS)]]
    assert rows == [*RECIPES, *DOCUMENT_SIGNALS]
    assert f"worse than {rows[0]}" in done.stdout and max(map(len, done.stdout.splitlines()[:-1])) <= 80
    given = ("--recipe", "dense", "--recipe", "published", "--json", "-")
    found = json.loads(run("compare", "--bench", bench, "--snapshot", snapshot, *given).stdout)
    (only,) = found["benches"]
    assert [row["recipe"] for row in only["rows"]] == ["dense", "published"] and found["mean"] is None


def test_several_benches_are_built_and_have_a_mean(run: Run, bench: Path, tmp_path: Path) -> None:
    other = shutil.copytree(bench, tmp_path / "annex")
    benches = ("--bench", bench, "--bench", other, "--encoder", "none")
    done = run("compare", *benches, "--recipe", "lexical", "--recipe", "name", "--json", "out.json")
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert [b["bench"] for b in found["benches"]] == ["office", "annex"]
    assert [row["recipe"] for row in found["mean"]] == ["lexical", "name"]
    assert "mean of 2 benches" in done.stdout


@pytest.mark.nightly
def test_without_the_extra_a_report_is_refused_before_anything_is_measured(bench: Path, tmp_path: Path) -> None:
    done = started(tmp_path, "evaluate", "--bench", bench, "--html", "out.html", without=("matplotlib",))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"quartermaster: this needs matplotlib: {install_command('evaluation')}\n"
    assert not (tmp_path / ".quartermaster").exists()
