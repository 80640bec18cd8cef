"""What a build says and writes of the tools that must run first, and the setting that turns it off."""

import json
from pathlib import Path
from typing import Any

import pytest

from flows.output.build import show_report
from pipeline.build import build
from pipeline.build.report import BuildReport
from pipeline.settings import load
from router import Router
from router.contract import PREREQUISITE_OFFSETS, PREREQUISITES, PROVIDER_GROUPS
from tests.support.film_tools import FILM_TOOLS
from tests.support.quick import QUICK

_FILES = {PREREQUISITES, PREREQUISITE_OFFSETS, PROVIDER_GROUPS}


def built(folder: Path, *rows: dict[str, Any], force: bool = False, **retrieval: Any) -> BuildReport:
    (folder / "shop").mkdir(exist_ok=True)
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "shop" / "tools.jsonl").write_text(lines, encoding="utf-8")
    chosen = {**QUICK, "enrichment": {"generator": "none"}, "retrieval": retrieval}
    return build(load(folder / "shop", chosen, environment={}), workspace=folder / "ws", force=force)


def test_the_report_says_on_how_many_tools_the_edges_act(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = built(tmp_path, *FILM_TOOLS)
    assert report.to_json()["prerequisites"] == {"tools": 2, "edges": 2, "candidates": 5}
    show_report(report)
    assert "2 of 5 tools need another first, 2 edges" in capsys.readouterr().out


def test_the_report_of_a_build_that_changed_nothing_says_the_same(tmp_path: Path) -> None:
    first, second = built(tmp_path, *FILM_TOOLS), built(tmp_path, *FILM_TOOLS)
    assert second.outcome == "unchanged" and second.prerequisites == first.prerequisites


def test_the_report_says_why_functions_get_none(tmp_path: Path) -> None:
    report = built(tmp_path, *({**row, "id": row["name"], "provider": None} for row in FILM_TOOLS))
    assert str(report.prerequisites) == "none: no tool has a provider"
    assert not _FILES & set(Router.open(report.snapshot).manifest.files)


def test_the_report_says_where_no_tool_finds_what_another_needs(tmp_path: Path) -> None:
    report = built(tmp_path, *(row for row in FILM_TOOLS if "search" not in row["id"]))
    assert str(report.prerequisites) == "none: no tool finds what another needs"


def test_the_manifest_counts_the_tools_that_need_another(tmp_path: Path) -> None:
    manifest = Router.open(built(tmp_path, *FILM_TOOLS).snapshot).manifest
    assert (manifest.counts["prerequisites"], manifest.counts["prerequisite_edges"]) == (2, 2)
    assert set(manifest.files) >= _FILES


def test_the_setting_turns_it_off_in_the_recipe_and_writes_no_file(tmp_path: Path) -> None:
    report = built(tmp_path, *FILM_TOOLS, prerequisites=False)
    router = Router.open(report.snapshot)
    assert report.prerequisites is None and report.to_json()["prerequisites"] is None
    assert router.recipe().prerequisites is False and not _FILES & set(router.manifest.files)
    assert "prerequisites" not in router.manifest.counts


def test_off_in_the_snapshot_is_off_for_a_recipe_that_a_request_names(tmp_path: Path) -> None:
    router = Router.open(built(tmp_path, *FILM_TOOLS, prerequisites=False).snapshot)
    answer = router.route("the films that Ana Torres has worked in", recipe="default")
    assert not any(tool.needed_by for tool in answer)


def test_changing_the_setting_publishes_a_new_snapshot(tmp_path: Path) -> None:
    on, off = built(tmp_path, *FILM_TOOLS), built(tmp_path, *FILM_TOOLS, prerequisites=False)
    assert (on.outcome, off.outcome) == ("published", "published")
    assert Router.open(on.snapshot).manifest.content_hash != Router.open(off.snapshot).manifest.content_hash


def test_a_recipe_that_brings_none_finds_none(tmp_path: Path) -> None:
    report = built(tmp_path, *FILM_TOOLS, recipe="lexical")
    assert report.prerequisites is None and "prerequisites" not in report.seconds


def test_the_stage_has_its_own_timing(tmp_path: Path) -> None:
    assert "prerequisites" in built(tmp_path, *FILM_TOOLS).seconds
