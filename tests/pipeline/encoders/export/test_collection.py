"""Exports that nothing used for long are removed; those in use are not."""

import os
import time
from pathlib import Path

import pytest

from pipeline.encoders.export import Export, ExportCache, ExportUse, remove_unused
from tests.pipeline.encoders.export.test_cache import SPEC, Maker

_MONTHS = 60 * 86_400


def _age(path: Path) -> None:
    os.utime(path, (time.time() - _MONTHS,) * 2)


@pytest.fixture
def made(tmp_path: Path) -> Export:
    return ExportCache([tmp_path]).get(SPEC, Maker())


def test_an_export_that_nothing_used_for_a_month_is_removed_and_a_snapshot_keeps_its_link(
    made: Export, tmp_path: Path
) -> None:
    assert remove_unused(tmp_path) == remove_unused(tmp_path / "missing") == []
    os.link(made.folder / "model.onnx", tmp_path / "linked.onnx")
    content = (tmp_path / "linked.onnx").read_bytes()
    _age(made.folder / "export.json")
    assert remove_unused(tmp_path) == [made.folder.name]
    assert not made.folder.exists() and (tmp_path / "linked.onnx").read_bytes() == content


def test_finding_an_export_counts_as_its_use(made: Export, tmp_path: Path) -> None:
    _age(made.folder / "export.json")
    ExportCache([tmp_path]).find(SPEC)
    assert remove_unused(tmp_path) == []


def test_an_export_of_a_running_build_stays_whatever_the_clock_says(made: Export, tmp_path: Path) -> None:
    use = ExportUse(made.folder)
    _age(made.folder / "export.json")
    assert remove_unused(tmp_path) == []
    del use
    assert remove_unused(tmp_path) == [made.folder.name]


def test_what_a_killed_export_left_is_removed_after_a_day_and_other_folders_are_left_alone(tmp_path: Path) -> None:
    for name in (".making-old", ".making-new", "notes"):
        (tmp_path / name).mkdir()
    _age(tmp_path / ".making-old")
    _age(tmp_path / "notes")
    assert remove_unused(tmp_path) == []
    assert {path.name for path in tmp_path.iterdir()} == {".making-new", "notes"}
