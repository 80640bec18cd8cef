"""A build without the sources that cannot be read: told everywhere, counted by the gate."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pytest

from pipeline.build import build
from pipeline.build.plan import plan
from pipeline.build.report import BuildReport
from pipeline.ledger import Ledger
from pipeline.settings import load
from router.contract import CATALOG_DB, Manifest
from tests.support.command_line import Done, called
from tests.support.quick import QUICK

NAMES = ("mail", "files", "chat", "notes", "tickets", "calendar")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of six files, two tools each, and one that holds none."""
    folder = tmp_path / "office"
    folder.mkdir()
    for name in NAMES:
        tools = [{"name": f"{verb}_{name}", "description": f"{verb} {name}."} for verb in ("read", "send")]
        (folder / f"{name}.json").write_text(json.dumps(tools), encoding="utf-8")
    (folder / "later.json").write_text('{"tools": []}', encoding="utf-8")
    return folder


def _build(folder: Path, skip: bool = True, **publish: float) -> BuildReport:
    over: dict[str, dict[str, Any]] = {
        **QUICK,
        "sources": {"skip_unreadable": skip, "max_age": 0},  # else its last known records would stand in
        "publish": publish,
    }
    return build(load(folder, over, environment={}), workspace=folder.parent / "ws")


def _break(folder: Path, *names: str) -> None:
    for name in names:
        (folder / f"{name}.json").write_text("{bad", encoding="utf-8")


def test_a_skipped_source_and_the_tools_that_go_with_it_are_told(folder: Path) -> None:
    assert _build(folder).outcome == "published"
    _break(folder, "mail")
    report = _build(folder)
    assert report.outcome == "published"  # one of seven sources, two of twelve tools
    (skipped,) = report.to_json()["skipped"]
    assert (skipped["source"], skipped["serving_tools"]) == ("mail.json", 2)
    assert "is not readable JSON" in skipped["reason"]
    assert report.to_json()["empty"] == [{"source": "later.json", "serving_tools": 0}]
    assert report.rejected == () and report.to_json()["sources"] == 7


def test_the_inspection_database_and_the_ledger_list_a_skipped_source_as_rejected(folder: Path) -> None:
    _break(folder, "mail")
    report = _build(folder)
    with duckdb.connect(str(report.snapshot / CATALOG_DB), read_only=True) as connection:
        ((file, pointer, reason),) = connection.execute("FROM rejections").fetchall()
    assert (file, pointer) == ("mail.json", "")
    assert reason.startswith("the whole source was skipped: the source ")
    with Ledger.open(folder.parent / "ws") as ledger:
        assert ledger.runs("office").num_rows == 1


def test_a_build_without_a_source_is_degraded_and_its_manifest_says_so(folder: Path) -> None:
    assert _build(folder).degraded == ()
    _break(folder, "mail")
    report = _build(folder)
    assert report.degraded == ("1 source could not be read: mail.json",)
    assert Manifest.read(report.snapshot).degraded == report.degraded == tuple(report.to_json()["degraded"])


def test_too_many_skipped_sources_hold_the_snapshot_back_until_the_setting_allows_them(folder: Path) -> None:
    _build(folder)
    _break(folder, "mail", "chat")
    report = _build(folder)
    assert report.outcome == "held"
    assert any("28.6% of the sources were skipped" in reason for reason in report.held)
    assert any("33.3% of the serving tools came from skipped sources" in reason for reason in report.held)
    assert _build(folder, max_skipped_share=0.5).outcome == "published"


def test_a_source_that_became_empty_says_how_many_tools_go_with_it(folder: Path) -> None:
    _build(folder)
    (folder / "notes.json").write_text("[]", encoding="utf-8")
    assert {"source": "notes.json", "serving_tools": 2} in _build(folder).to_json()["empty"]


def test_a_plan_tells_the_same(folder: Path) -> None:
    _build(folder)
    _break(folder, "mail")
    settings = load(folder, {"sources": {"skip_unreadable": True, "max_age": 0}}, environment={})
    told = plan(settings, workspace=folder.parent / "ws").to_json()
    assert [(gap["source"], gap["serving_tools"]) for gap in told["skipped"]] == [("mail.json", 2)]
    assert (told["sources"], told["removed"]) == (7, 2)


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Done]:
    """Call `quartermaster` in the test's folder, without an encoder."""
    return partial(called, tmp_path, QUARTERMASTER_VECTORS__ENCODER="none")


def test_the_command_line_tells_every_problem_and_the_way_out(run: Callable[..., Done], folder: Path) -> None:
    _break(folder, "mail", "chat")
    done = run("build", folder)
    assert done.returncode == 3 and done.stdout == ""
    assert "mail.json" in done.stderr and "chat.json" in done.stderr and "--skip-unreadable" in done.stderr


def test_skip_unreadable_is_an_option_of_build_and_plan_and_a_variable(run: Callable[..., Done], folder: Path) -> None:
    _break(folder, "mail")
    for done in (
        run("build", folder, "--skip-unreadable"),
        run("build", folder, "--skip-unreadable", "--plan"),
        run("build", folder, QUARTERMASTER_SOURCES__SKIP_UNREADABLE="true"),
    ):
        assert done.returncode == 0, done.stderr
        assert f"skipped: the source {folder / 'mail.json'} is not readable JSON" in done.stderr
        assert "1 of 7 sources holds no tool: later.json" in done.stderr


def test_a_held_build_ends_with_exit_code_1(run: Callable[..., Done], folder: Path) -> None:
    _break(folder, "mail", "chat")
    done = run("build", folder, "--skip-unreadable")
    assert done.returncode == 1 and "28.6% of the sources were skipped" in done.stderr


def test_what_a_folder_holds_that_is_not_read_is_told(run: Callable[..., Done], folder: Path) -> None:
    assert "not read:" not in run("build", folder, "--plan").stderr
    (folder / "more.csv").write_text("name\na\n", encoding="utf-8")
    (folder / "sub").mkdir()
    assert "not read: more.csv, sub/; a catalog.toml can name them" in run("build", folder, "--plan").stderr


def test_an_empty_source_is_told_once(run: Callable[..., Done], folder: Path) -> None:
    assert run("build", folder).stderr.count("later.json") == 1
