"""A build without the sources that cannot be read: told everywhere, counted by the gate."""

from functools import partial
from pathlib import Path

import pytest

from pipeline.build import build
from pipeline.build.plan import plan
from pipeline.settings import load
from router.contract import Manifest
from tests.pipeline.build.six_files import SKIPPING, spoil
from tests.support.command_line import called
from tests.support.rows import select


def test_a_skipped_source_and_the_tools_that_go_with_it_are_told_everywhere(folder: Path) -> None:
    spoil(folder, "mail")
    (folder / "notes.json").write_text("[]", encoding="utf-8")
    settings = load(folder, {**SKIPPING, "publish": {"max_removed_share": 0.5}}, environment={})
    planned = plan(settings, workspace=folder.parent / "ws").to_json()
    assert [(gap["source"], gap["serving_tools"]) for gap in planned["skipped"]] == [("mail.json", 2)]
    assert (planned["sources"], planned["removed"]) == (7, 4)
    report = build(settings, workspace=folder.parent / "ws")
    assert report.outcome == "published"  # one of seven sources, two of twelve tools
    told = report.to_json()
    (skipped,) = told["skipped"]
    assert (skipped["source"], skipped["serving_tools"]) == ("mail.json", 2)
    assert "is not readable JSON" in skipped["reason"]
    empty = {gap["source"]: gap["serving_tools"] for gap in told["empty"]}
    assert empty == {"later.json": 0, "notes.json": 2}
    assert report.rejected == () and told["sources"] == 7
    assert report.degraded == ("1 source could not be read: mail.json",)
    assert Manifest.read(report.snapshot).degraded == report.degraded == tuple(told["degraded"])
    ((file, pointer, reason),) = select(report.snapshot, "FROM rejections")
    assert (file, pointer) == ("mail.json", "")
    assert reason.startswith("the whole source was skipped: the source ")


@pytest.mark.nightly
def test_the_command_line_tells_every_problem_and_the_way_out(folder: Path) -> None:
    line = ("build", folder, "--workspace", folder.parent / "ws")
    run = partial(called, folder.parent, *line, QUARTERMASTER_VECTORS__ENCODER="none")
    assert "not read:" not in run("--plan").stderr
    (folder / "more.csv").write_text("name\na\n", encoding="utf-8")
    (folder / "sub").mkdir()
    assert "not read: more.csv, sub/; a catalog.toml can name them" in run("--plan").stderr
    spoil(folder, "mail")
    unread = {"QUARTERMASTER_SOURCES__MAX_AGE": "0"}
    for done in (
        run("--skip-unreadable", "--plan", **unread),
        run("--plan", QUARTERMASTER_SOURCES__SKIP_UNREADABLE="true", **unread),
    ):
        assert done.returncode == 0, done.stderr
        assert f"skipped: the source {folder / 'mail.json'} is not readable JSON" in done.stderr
        assert done.stderr.count("later.json") == 1 and "1 of 7 sources holds no tool: later.json" in done.stderr
    spoil(folder, "chat")
    done = run(**unread)
    assert done.returncode == 3 and done.stdout == ""
    assert "mail.json" in done.stderr and "chat.json" in done.stderr and "--skip-unreadable" in done.stderr
    done = run("--skip-unreadable", **unread)
    assert done.returncode == 1 and "28.6% of the sources were skipped" in done.stderr
