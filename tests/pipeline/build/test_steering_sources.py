"""A source of which many records steered the model is held back; where nothing else is there, so is the snapshot."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pipeline.build import build
from pipeline.build.report import BuildReport
from pipeline.ledger import Ledger
from pipeline.ledger.quarantine import RELEASED
from pipeline.phrase_checks.subject import Findings, Remark, WrittenTool
from pipeline.settings import load
from router import Router
from tests.support.quick import QUICK
from tests.support.rows import write_rows
from tests.support.small_encoder import vector_settings

_HONEST = ("clock", "timer", "alarm")
_HOSTILE = ("rhyme", "riddle", "limerick", "quiet")


class Catalog:
    """A source of honest tools, and one that says of all but its last tool what steers the model."""

    def __init__(self, folder: Path, encoder: Path) -> None:
        self.folder, self.workspace, self._encoder = folder / "office", folder / "ws", encoder
        self.folder.mkdir()

    def night(self, said: str = "shows", **sources: Sequence[str]) -> BuildReport:
        """Build sources of tools with these names, whose phrases say something."""
        for source, names in sources.items():
            tools = [{"id": f"{source}/{n}", "name": n, "provider": source, "description": f"A {n}."} for n in names]
            write_rows(self.folder / f"{source}.jsonl", tools)
        ids = [f"{source}/{name}" for source, names in sources.items() for name in names]
        write_rows(self.folder / "words.jsonl", ({"id": one, "user_phrases": [f"{said} {one[2:]}"]} for one in ids))
        listed = "".join(f'[[source]]\npath = "{source}.jsonl"\nformat = "jsonl"\n' for source in sources)
        (self.folder / "catalog.toml").write_text(f'[enrichment]\nexpansions = "words.jsonl"\n{listed}')
        sections = {**QUICK, "vectors": vector_settings(self._encoder), "tuning": {"adapter": False}}
        return build(load(self.folder, sections, environment={}), workspace=self.workspace)


@pytest.fixture
def catalog(tmp_path: Path, encoder_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Catalog:
    def find(tools: Sequence[WrittenTool], *_: Any) -> Findings:
        accused = [one.tool_id for one in tools if one.record.name in _HOSTILE[:3] or "orders" in str(one.texts)]
        return Findings(steering={tool_id: (Remark("description", "say refund"),) for tool_id in accused})

    monkeypatch.setattr("pipeline.build.assessing.find_steering", find)
    return Catalog(tmp_path, encoder_folder)


def test_a_first_build_holds_back_all_tools_of_a_hostile_source_and_publishes_the_rest(catalog: Catalog) -> None:
    report = catalog.night(honest=_HONEST, hostile=_HOSTILE)
    assert (report.outcome, report.exit_code) == ("published", 1)
    assert [one.tool_id for one in report.quarantined] == sorted(f"hostile/{name}" for name in _HOSTILE)
    assert "made the model write phrases of other tools" in str(report.quarantined[0])
    assert Router.open(report.snapshot).record("hostile/quiet") is None and len(Router.open(report.snapshot)) == 3


@pytest.mark.nightly
def test_a_source_that_is_held_back_is_told_once_and_serves_when_its_tools_are_released(catalog: Catalog) -> None:
    codes = [catalog.night(honest=_HONEST, hostile=_HOSTILE).exit_code for _ in range(2)]
    assert codes == [1, 0]
    with Ledger.open(catalog.workspace) as ledger:
        ledger.quarantine.decide("office", "snapshots", [f"hostile/{name}" for name in _HOSTILE], RELEASED)
    released = catalog.night(honest=_HONEST, hostile=_HOSTILE)
    assert (released.quarantined, len(Router.open(released.snapshot))) == ((), 7)


def test_one_hostile_tool_of_a_source_loses_its_texts_and_holds_nothing_back(catalog: Catalog) -> None:
    report = catalog.night(honest=_HONEST, hostile=(*_HOSTILE[:2], "quiet"))
    assert (report.outcome, report.quarantined) == ("published", ())


def test_a_first_build_of_nothing_but_a_hostile_source_is_held_and_names_its_tools(catalog: Catalog) -> None:
    report = catalog.night(hostile=_HOSTILE)
    assert (report.outcome, report.exit_code) == ("held", 1)
    (reason,) = report.held
    assert "3 of 4 records" in reason and "hostile/limerick, hostile/rhyme" in reason and "max_share" in reason


def test_where_tools_that_serve_are_suddenly_accused_they_keep_the_texts_that_serve(catalog: Catalog) -> None:
    catalog.night(honest=_HONEST)
    report = catalog.night("orders", honest=_HONEST)
    assert [one.kind for one in report.quarantined] == ["changed"] * 3
    assert Router.open(report.snapshot).phrases("honest/clock") == ("shows nest/clock",)
