"""Tools that a source no longer gives: too many of them hold the snapshot back, by name, until somebody accepts it."""

import json
from pathlib import Path
from shutil import copytree

import pytest

from pipeline.build import build
from pipeline.build.report import BuildReport
from pipeline.ledger import LEDGER_FILE
from pipeline.settings import load
from pipeline.store import SnapshotStore
from router.contract import CATALOG_DB
from router.store import current_folder
from tests.support.command_line import Done, called
from tests.support.quick import QUICK
from tests.support.rows import select

NAMES = ("mail", "chat", "notes")


def _tools(name: str, first: int = 0, end: int = 10) -> str:
    rows = [{"name": f"{name}_{n}", "description": f"Does {n} for {name}."} for n in range(first, end)]
    return json.dumps(rows)


def _write(folder: Path, names: tuple[str, ...]) -> None:
    for name in names:
        (folder / f"{name}.json").write_text(_tools(name), encoding="utf-8")
    sources = (f'[[source]]\ncommand = ["cat", "{name}.json"]\nformat = "function"\n' for name in names)
    (folder / "catalog.toml").write_text("".join(sources), encoding="utf-8")


def _build(folder: Path, **publish: float) -> BuildReport:
    settings = load(folder, {**QUICK, "publish": publish}, environment={})
    return build(settings, workspace=folder.parent / "ws")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three sources of ten tools, each printed by the same program, built once. To be copied."""
    folder = tmp_path_factory.mktemp("removed") / "office"
    folder.mkdir()
    _write(folder, NAMES)
    assert _build(folder).outcome == "published"
    return folder.parent


@pytest.fixture
def folder(built: Path, tmp_path: Path) -> Path:
    """The catalog beside its workspace."""
    return copytree(built, tmp_path / "place") / "office"


@pytest.mark.nightly
@pytest.mark.parametrize("answer", ['{"tools": []}', _tools("mail", 0, 7)], ids=["nothing", "seven of ten"])
def test_a_source_that_answers_with_a_part_of_its_tools_is_held_and_named(folder: Path, answer: str) -> None:
    (folder / "mail.json").write_text(answer, encoding="utf-8")
    report = _build(folder)
    (reason,) = report.held
    lost = len(report.removed_tools)
    named = ", ".join(report.removed_tools[:5])
    assert report.outcome == "held"
    assert reason.startswith(f"the source cat lost {lost} of its 10 serving tools: {named}")


def test_two_tools_of_ten_may_go_from_each_source_and_the_ledger_names_the_changes_of_each_run(folder: Path) -> None:
    for name in NAMES:
        (folder / f"{name}.json").write_text(_tools(name, 2, 11 if name == "mail" else 10), encoding="utf-8")
    report = _build(folder)
    assert report.outcome == "published" and len(report.removed_tools) == 6
    last = "SELECT counts -> 'changes' FROM runs ORDER BY run_id DESC LIMIT 1"
    ((text,),) = select(folder.parent / "ws" / LEDGER_FILE, last)
    assert json.loads(text) == {
        "added": {"count": 1, "tools": ["cat/mail_10"]},
        "changed": {"count": 0, "tools": []},
        "removed": {"count": 6, "tools": list(report.removed_tools)},
    }


def test_a_source_that_is_taken_out_of_the_catalog_is_held_until_it_is_accepted_and_then_never_again(
    folder: Path,
) -> None:
    store = SnapshotStore(folder.parent / "ws", "office")
    first = store.current()
    _write(folder, NAMES[:2])
    held = _build(folder)
    (reason,) = held.held
    assert held.outcome == "held" and reason.startswith("the source cat lost 10 of its 10 serving tools: cat/notes_0, ")
    assert "publish.max_removed_share (QUARTERMASTER_PUBLISH__MAX_REMOVED_SHARE) allows 20.0%" in reason
    assert _build(folder).snapshot == held.snapshot  # written once
    assert store.current() == first
    store.publish(held.snapshot.name)
    later = _build(folder)
    assert (later.outcome, later.held) == ("unchanged", ())


def test_tools_that_move_to_another_source_are_not_removed(folder: Path) -> None:
    _write(folder, NAMES[:2])
    rows = json.loads(_tools("mail")) + json.loads(_tools("notes"))
    (folder / "mail.json").write_text(json.dumps(rows), encoding="utf-8")
    report = _build(folder)
    assert report.outcome == "unchanged" and not report.removed_tools


@pytest.mark.nightly
def test_the_command_line_names_what_was_added_changed_and_removed(folder: Path) -> None:
    def run() -> Done:
        variables = {"QUARTERMASTER_VECTORS__ENCODER": "none", "COLUMNS": "200"}
        place = ("--workspace", folder.parent / "ws")
        return called(folder.parent, "build", folder, *place, "--allow-commands", **variables)

    rows = json.loads(_tools("mail", 1, 11))
    rows[0]["description"] = "Does something else."
    (folder / "mail.json").write_text(json.dumps(rows), encoding="utf-8")
    assert "added: cat/mail_10\nchanged: cat/mail_1\nremoved: cat/mail_0\n" in run().stderr
    (folder / "mail.json").write_text(_tools("mail", 4), encoding="utf-8")
    done = run()
    assert done.returncode == 1 and "gate: the source cat lost 4 of its 10 serving tools: cat/mail_1" in done.stderr
    assert "quartermaster snapshots office --use" in done.stderr


def test_nothing_replaces_a_serving_snapshot_whose_tools_cannot_be_compared(folder: Path) -> None:
    serving = current_folder(SnapshotStore(folder.parent / "ws", "office"))
    (serving / CATALOG_DB).write_bytes(b"half of a database")
    (folder / "mail.json").write_text("[]", encoding="utf-8")
    report = _build(folder)
    assert report.outcome == "held"
    assert report.held[0].startswith("what serves cannot be compared, so tools that would be lost are not known: ")
    assert str(report.difference) == "20 new, 0 changed, 0 removed: no snapshot served before"
