"""A plan holds the ledger for a moment only: a build that begins meanwhile goes on."""

from pathlib import Path
from typing import Any

import pytest

from pipeline.build import build
from pipeline.build import plan as planning
from pipeline.errors import RunAborted
from pipeline.settings import load
from pipeline.sources import Reading, read
from tests.support.quick import QUICK
from tests.support.rows import write_rows


def test_a_build_goes_on_while_a_plan_waits_for_a_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_rows(tmp_path / "slow.jsonl", [{"name": "slow", "description": "Is slow."}])
    write_rows(tmp_path / "empty.jsonl", [])
    slow, empty = (load(tmp_path / f"{name}.jsonl", QUICK, environment={}) for name in ("slow", "empty"))

    def read_slowly(*arguments: Any) -> Reading:
        monkeypatch.undo()
        with pytest.raises(RunAborted, match="no tool"):  # and not that the ledger is in use
            build(empty, workspace=tmp_path / "ws")
        return read(*arguments)

    monkeypatch.setattr("pipeline.build.plan.sources.read", read_slowly)
    assert planning.plan(slow, workspace=tmp_path / "ws").new == 1
