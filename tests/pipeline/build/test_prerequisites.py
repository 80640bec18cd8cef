"""What a build says and writes of the tools that must run first, and the setting that turns it off."""

from pathlib import Path
from typing import Any

import pytest

from pipeline.build import build
from pipeline.build.report import BuildReport
from pipeline.monitoring.report import PrerequisiteCounts
from pipeline.settings import load
from quartermaster.output.build import show_report
from router import Router
from router.contract import PREREQUISITE_OFFSETS, PREREQUISITES, PROVIDER_GROUPS
from tests.support.film_tools import FILM_TOOLS
from tests.support.quick import QUICK
from tests.support.rows import write_rows

_FILES = {PREREQUISITES, PREREQUISITE_OFFSETS, PROVIDER_GROUPS}


def built(folder: Path, **retrieval: Any) -> BuildReport:
    (folder / "shop").mkdir(exist_ok=True)
    write_rows(folder / "shop" / "tools.jsonl", FILM_TOOLS)
    chosen = {**QUICK, "enrichment": {"generator": "none"}, "retrieval": retrieval}
    return build(load(folder / "shop", chosen, environment={}), workspace=folder / "ws")


def test_the_report_and_the_manifest_say_on_how_many_tools_edges_act_and_the_setting_turns_them_off(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    on = built(tmp_path)
    assert on.to_json()["prerequisites"] == {"tools": 2, "edges": 2, "candidates": 5}
    assert "prerequisites" in on.seconds
    show_report(on)
    assert "2 of 5 tools need another first, 2 edges" in capsys.readouterr().out
    manifest = Router.open(on.snapshot).manifest
    assert (manifest.counts["prerequisites"], manifest.counts["prerequisite_edges"]) == (2, 2)
    assert set(manifest.files) >= _FILES
    off = built(tmp_path, prerequisites=False)
    router = Router.open(off.snapshot)
    assert off.outcome == "published" and manifest.content_hash != router.manifest.content_hash
    assert off.prerequisites is None and off.to_json()["prerequisites"] is None
    assert router.recipe().prerequisites is False and not _FILES & set(router.manifest.files)
    assert "prerequisites" not in router.manifest.counts and "prerequisites" not in off.seconds
    # Off in the snapshot is off for a recipe that a request names.
    answer = router.route("the films that Ana Torres has worked in", recipe="default")
    assert not any(tool.needed_by for tool in answer)


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        (PrerequisiteCounts(0, 0, 0), "none: no tool has a provider"),
        (PrerequisiteCounts(0, 0, 5), "none: no tool finds what another needs"),
        (PrerequisiteCounts(1, 1, 5), "1 of 2,750 tools need another first, 1 edge"),
    ],
)
def test_the_report_says_why_there_are_none(counts: PrerequisiteCounts, said: str) -> None:
    assert counts.described(2_750) == said
