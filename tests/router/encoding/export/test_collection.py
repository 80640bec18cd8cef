"""Exports that nothing used for long are removed; those in use are not."""

import os
import time
from pathlib import Path

from router.encoding.export import ExportCache, ExportUse, remove_unused
from tests.router.encoding.export.test_cache import SPEC, Maker

_MONTHS = 60 * 86_400


def _age(path: Path) -> None:
    os.utime(path, (time.time() - _MONTHS,) * 2)


def test_an_export_that_nothing_used_for_a_month_is_removed_and_named(tmp_path: Path) -> None:
    made = ExportCache([tmp_path]).get(SPEC, Maker())
    assert remove_unused(tmp_path) == []
    _age(made.folder / "export.json")
    assert remove_unused(tmp_path) == [made.folder.name]
    assert not made.folder.exists()


def test_finding_an_export_counts_as_its_use(tmp_path: Path) -> None:
    made = ExportCache([tmp_path]).get(SPEC, Maker())
    _age(made.folder / "export.json")
    ExportCache([tmp_path]).find(SPEC)
    assert remove_unused(tmp_path) == []


def test_an_export_of_a_running_build_stays_whatever_the_clock_says(tmp_path: Path) -> None:
    made = ExportCache([tmp_path]).get(SPEC, Maker())
    use = ExportUse(made.folder)
    _age(made.folder / "export.json")
    assert remove_unused(tmp_path) == []
    del use
    assert remove_unused(tmp_path) == [made.folder.name]


def test_what_a_killed_export_left_is_removed_after_a_day(tmp_path: Path) -> None:
    left, new = tmp_path / ".making-old", tmp_path / ".making-new"
    left.mkdir()
    new.mkdir()
    _age(left)
    assert remove_unused(tmp_path) == []
    assert [path.name for path in tmp_path.iterdir()] == [".making-new"]


def test_a_snapshot_keeps_its_link_to_an_export_that_is_removed(tmp_path: Path) -> None:
    made = ExportCache([tmp_path / "cache"]).get(SPEC, Maker())
    os.link(made.folder / "model.onnx", tmp_path / "model.onnx")
    content = (tmp_path / "model.onnx").read_bytes()
    _age(made.folder / "export.json")
    remove_unused(tmp_path / "cache")
    assert (tmp_path / "model.onnx").read_bytes() == content


def test_other_folders_of_the_cache_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    _age(tmp_path / "notes")
    assert remove_unused(tmp_path) == []
    assert remove_unused(tmp_path / "missing") == []
    assert (tmp_path / "notes").is_dir()
