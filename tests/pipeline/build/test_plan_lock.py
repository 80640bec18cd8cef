"""A plan holds the ledger for a moment only: a build that begins meanwhile goes on."""

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.build import build
from pipeline.build import plan as planning
from pipeline.build.report import BuildReport
from pipeline.settings import load
from pipeline.sources import Reading, read
from tests.support.quick import QUICK


def test_a_build_goes_on_while_a_plan_waits_for_a_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("slow", "other"):
        row = {"name": name, "description": f"Is {name}."}
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    slow, other = (load(tmp_path / f"{name}.jsonl", QUICK, environment={}) for name in ("slow", "other"))
    built: list[BuildReport] = []

    def read_slowly(*arguments: Any) -> Reading:
        monkeypatch.undo()
        built.append(build(other, workspace=tmp_path / "ws"))  # while the plan reads
        return read(*arguments)

    monkeypatch.setattr("pipeline.build.plan.sources.read", read_slowly)
    assert planning.plan(slow, workspace=tmp_path / "ws").new == 1
    assert built[0].outcome == "published"
