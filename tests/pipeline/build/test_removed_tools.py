"""Tools that a source no longer gives: too many of them hold the snapshot back, by name, until somebody accepts it."""

import json
from pathlib import Path

import duckdb
import pytest

from pipeline.build import build
from pipeline.build.report import BuildReport
from pipeline.ledger import LEDGER_FILE
from pipeline.settings import load
from router.contract import CATALOG_DB
from router.store import SnapshotStore
from tests.support.command_line import Done, called
from tests.support.quick import QUICK

NAMES = ("mail", "chat", "notes")


def _tools(name: str, first: int = 0, end: int = 10) -> str:
    rows = [{"name": f"{name}_{n}", "description": f"Does {n} for {name}."} for n in range(first, end)]
    return json.dumps(rows)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three sources of ten tools, each printed by the same program."""
    folder = tmp_path / "office"
    folder.mkdir()
    _write(folder, NAMES)
    return folder


def _write(folder: Path, names: tuple[str, ...]) -> None:
    for name in names:
        (folder / f"{name}.json").write_text(_tools(name), encoding="utf-8")
    sources = (f'[[source]]\ncommand = ["cat", "{name}.json"]\nformat = "function"\n' for name in names)
    (folder / "catalog.toml").write_text("".join(sources), encoding="utf-8")


def _build(folder: Path, **publish: float) -> BuildReport:
    settings = load(folder, {**QUICK, "publish": publish}, environment={})
    return build(settings, workspace=folder.parent / "ws")


@pytest.mark.parametrize("answer", ['{"tools": []}', "[]", _tools("mail", 5), _tools("mail", 0, 7)])
def test_a_source_that_answers_with_a_part_of_its_tools_is_held_and_named(folder: Path, answer: str) -> None:
    _build(folder)
    (folder / "mail.json").write_text(answer, encoding="utf-8")
    report = _build(folder)
    (reason,) = report.held
    lost = len(report.removed_tools)
    named = ", ".join(report.removed_tools[:5])
    assert report.outcome == "held" and reason.startswith(
        f"the source cat lost {lost} of its 10 serving tools: {named}"
    )
    assert "publish.max_removed_share (QUARTERMASTER_PUBLISH__MAX_REMOVED_SHARE) allows 20.0%" in reason


def test_two_tools_of_ten_may_go_from_each_source(folder: Path) -> None:
    _build(folder)
    for name in NAMES:
        (folder / f"{name}.json").write_text(_tools(name, 2), encoding="utf-8")
    report = _build(folder)
    assert report.outcome == "published" and len(report.removed_tools) == 6


def test_the_limit_is_a_setting(folder: Path) -> None:
    _build(folder)
    (folder / "mail.json").write_text(_tools("mail", 5), encoding="utf-8")
    assert _build(folder, max_removed_share=0.5).outcome == "published"


def test_a_source_that_is_taken_out_of_the_catalog_is_held_until_it_is_accepted_and_then_never_again(
    folder: Path,
) -> None:
    first = _build(folder)
    _write(folder, NAMES[:2])
    held = _build(folder)
    (reason,) = held.held
    assert held.outcome == "held" and "lost 10 of its 10 serving tools: cat/notes_0, " in reason
    assert "publish.max_removed_share" in reason
    assert _build(folder).snapshot == held.snapshot  # written once
    store = SnapshotStore(folder.parent / "ws", "office")
    assert store.current() == first.snapshot.name
    store.publish(held.snapshot.name)
    for _ in range(2):
        later = _build(folder)
        assert (later.outcome, later.held) == ("unchanged", ())
    (folder / "chat.json").write_text(_tools("chat", 0, 11), encoding="utf-8")
    assert _build(folder).outcome == "published"


def test_tools_that_move_to_another_source_are_not_removed(folder: Path) -> None:
    _build(folder)
    _write(folder, NAMES[:2])
    rows = json.loads(_tools("mail")) + json.loads(_tools("notes"))
    (folder / "mail.json").write_text(json.dumps(rows), encoding="utf-8")
    report = _build(folder)
    assert report.outcome == "unchanged" and not report.removed_tools


def test_the_ledger_has_the_changes_of_each_run_with_names(folder: Path) -> None:
    _build(folder)
    (folder / "mail.json").write_text(_tools("mail", 1, 11), encoding="utf-8")
    _build(folder)
    with duckdb.connect(str(folder.parent / "ws" / LEDGER_FILE), read_only=True) as connection:
        ((text,),) = connection.execute("SELECT counts -> 'changes' FROM runs ORDER BY run_id DESC LIMIT 1").fetchall()
    assert json.loads(text) == {
        "added": {"count": 1, "tools": ["cat/mail_10"]},
        "changed": {"count": 0, "tools": []},
        "removed": {"count": 1, "tools": ["cat/mail_0"]},
    }


def test_the_command_line_names_what_was_added_changed_and_removed(folder: Path) -> None:
    def run() -> Done:
        variables = {"QUARTERMASTER_VECTORS__ENCODER": "none", "COLUMNS": "200"}
        return called(folder.parent, "build", folder, "--allow-commands", **variables)

    first = run()
    assert first.returncode == 0 and "added:" not in first.stderr  # in the first build all are new
    rows = json.loads(_tools("mail", 1, 11))
    rows[0]["description"] = "Does something else."
    (folder / "mail.json").write_text(json.dumps(rows), encoding="utf-8")
    told = run().stderr
    assert "added: cat/mail_10\nchanged: cat/mail_1\nremoved: cat/mail_0\n" in told
    (folder / "mail.json").write_text(_tools("mail", 4), encoding="utf-8")
    done = run()
    assert done.returncode == 1 and "gate: the source cat lost 4 of its 10 serving tools: cat/mail_1" in done.stderr
    assert "quartermaster snapshots office --use" in done.stderr


def test_nothing_replaces_a_serving_snapshot_whose_tools_cannot_be_compared(folder: Path) -> None:
    serving = _build(folder).snapshot
    (serving / CATALOG_DB).write_bytes(b"half of a database")
    (folder / "mail.json").write_text("[]", encoding="utf-8")
    report = _build(folder)
    assert report.outcome == "held"
    assert report.held[0].startswith("what serves cannot be compared, so tools that would be lost are not known: ")
