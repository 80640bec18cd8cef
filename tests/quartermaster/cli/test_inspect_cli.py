"""`quartermaster inspect`: what people read, what programs read, what is refused."""

import json
import shutil
from pathlib import Path

import pytest

from router.distribution import install_command
from tests.support.command_line import Done, Run, started
from tests.support.quick import QUICK

# What the extra `inspect` does not bring; nor pydantic, but typer takes that where it is installed.
_LIGHT = tuple("torch prefect openai sentence_transformers transformers pyarrow".split())


@pytest.fixture(scope="module")
def served(snapshot: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with the session's catalog, and a second snapshot that is newer, has a tool less and one changed."""
    from pipeline.build import build
    from pipeline.settings import load

    folder = tmp_path_factory.mktemp("inspected")
    catalog, workspace = folder / "office", folder / "ws"
    store = shutil.copytree(snapshot.parent, workspace / "snapshots" / "office")
    rows = [json.loads(line) for line in (store / snapshot.name / "records.jsonl").read_text("utf-8").splitlines()]
    tools = [{key: row["record"][key] for key in ("name", "provider", "description")} for row in rows[1:]]
    tools[-1]["description"] = "Rain, sun [red]and[/red] snow \u001b[2J\u202e."
    catalog.mkdir()
    (catalog / "tools.jsonl").write_text("".join(json.dumps(tool) + "\n" for tool in tools), encoding="utf-8")
    words = [{"id": f"{tool['provider']}/{tool['name']}", "user_phrases": ["please do", "do it"]} for tool in tools[1:]]
    (catalog / "expansions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in words), encoding="utf-8")
    build(load(catalog, QUICK, environment={}), workspace=workspace)
    return workspace


def readable(done: Done, width: int) -> str:
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "\x1b" not in done.stdout and "\u202e" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= width
    return done.stdout


def test_the_overview_says_what_there_is_and_what_can_be_asked(run: Run, served: Path, snapshot: Path) -> None:
    shown = readable(run("inspect", "--workspace", served, COLUMNS="80"), 80)
    for section in (
        "Providers (4)",
        "Answers in use (1)",
        "Worst tools (",
        "Failures",
        f"Changes since {snapshot.name}",
    ):
        assert section in shown
    lines = shown.splitlines()
    assert any(line.startswith("slack ") for line in lines)
    assert "and 3 more: quartermaster inspect --table changes --limit 8" in lines
    held = " ".join(shown.partition("Tables, views and macros")[2].split())
    for name in ("tools ", "history ", "builds ", "worst_tools", "macro neighbours", "empty "):
        assert name in held, name


def test_a_tools_page_shows_all_that_is_known_of_it(run: Run, snapshot: Path) -> None:
    shown = readable(run("inspect", "stripe/create_refund", "--snapshot", snapshot, COLUMNS="80"), 80)
    assert shown.splitlines()[0] == "stripe/create_refund"
    for known in ("Parameters (2)", "undo a payment", "Nearest tools", "What each signal reads", "expansion written"):
        assert known in shown, known
    assert "slack/chat_postMessage" in shown


def test_catalog_text_is_shown_as_text(run: Run, served: Path) -> None:
    shown = readable(run("inspect", "weather/getForecast", "--workspace", served), 120)
    assert "Rain, sun [red]and[/red] snow \N{REPLACEMENT CHARACTER}[2J\N{REPLACEMENT CHARACTER}." in shown
    said = "SELECT description FROM tools WHERE provider = 'weather'"
    assert "[red]and[/red]" in readable(run("inspect", "--sql", said, "--workspace", served), 120)
    wrong = run("inspect", "--sql", said.replace("description", "description::INT", 1), "--workspace", served)
    assert wrong.returncode == 2 and "snow" in wrong.stderr
    assert "\x1b" not in wrong.stderr and "\u202e" not in wrong.stderr


def test_a_table_is_shown_under_its_comment_as_far_as_the_limit(run: Run, served: Path) -> None:
    shown = readable(run("inspect", "--table", "phrases", "--limit", 2, "--workspace", served), 120).splitlines()
    assert shown[0].startswith("The phrases of each tool")
    assert shown[2].split() == ["tool_id", "position", "phrase", "language", "source"] and len(shown) == 6
    assert shown[-1].startswith("and ") and "more: --limit " in shown[-1]


def test_two_builds_are_compared_by_id_or_by_folder(run: Run, served: Path, snapshot: Path) -> None:
    by_id = readable(run("inspect", "--against", snapshot.name, "--workspace", served), 120)
    by_folder = readable(run("inspect", "--against", snapshot, "--workspace", served), 120)
    assert by_id == by_folder
    assert by_id.startswith(f"From {snapshot.name} to ")
    rows = json.loads(run("inspect", "--against", snapshot, "--workspace", served, "--json").stdout)["rows"]
    assert rows[0].items() > {"tool_id": "github/create_issue", "change": "removed", "added_phrases": []}.items()
    assert rows[0]["removed_phrases"]
    assert rows[-1]["what"] == ["description", "schema", "expansion"]


def test_programs_get_json(run: Run, served: Path, snapshot: Path) -> None:
    overview = json.loads(run("inspect", "--workspace", served, "--json").stdout)
    assert overview["snapshot"]["previous"] == snapshot.name
    first = overview["providers"]["rows"][0]
    assert (first["provider"], first["tools"], first["written_by"], first["cost_usd"]) == (
        "linear",
        2,
        "file 1, nobody 1",
        0,
    )
    assert {table["name"] for table in overview["tables"]} > {"tools", "providers", "neighbours"}
    page = json.loads(run("inspect", "slack/chat_postMessage", "--workspace", served, "--json").stdout)
    assert page["provider"] == "slack" and page["neighbours"] == []
    counted = run("inspect", "--sql", "SELECT count(*) AS n FROM tools", "--workspace", served, "--json")
    assert json.loads(counted.stdout) == {"columns": ["n"], "rows": [{"n": 7}], "more": 0}


def test_inspecting_needs_the_light_install_alone(served: Path, tmp_path: Path) -> None:
    done = started(tmp_path, "inspect", "slack/chat_postMessage", "--workspace", served, without=_LIGHT)
    assert done.returncode == 0, done.stderr


@pytest.mark.nightly
def test_without_duckdb_inspecting_names_the_extra_that_brings_it(served: Path, tmp_path: Path) -> None:
    done = started(tmp_path, "inspect", "--workspace", served, without=("duckdb",))
    assert done.returncode == 2 and f"this needs duckdb: {install_command('inspect')}\n" in done.stderr
