"""What a build gives back of the disk, and that it says so."""

import os
import time
from pathlib import Path

import pytest

from pipeline.build.disk_space import remove_unused_caches
from tests.support.notes import Notes

_MONTHS = 60 * 86_400


def _aged(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}")
    os.utime(path, (time.time() - _MONTHS,) * 2)
    return path


def test_cached_checks_that_nothing_uses_are_removed_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUARTERMASTER_CACHE", str(tmp_path / "user"))
    workspace = tmp_path / "workspace"
    (workspace / "snapshots" / "shop").mkdir(parents=True)
    kept = [_aged(workspace / "compared" / "shop.npz"), workspace / "compared" / "new.npz"]
    gone = [_aged(workspace / "screened" / "shop.json"), _aged(workspace / "compared" / ".old.npz")]
    kept[1].write_text("")  # of a catalog whose snapshots are elsewhere
    notes = Notes()
    remove_unused_caches(workspace, notes)
    assert all(path.exists() for path in kept)
    assert not any(path.exists() for path in gone)
    told = "cached checks that nothing used for 30 days were removed: compared/.old.npz, screened/shop.json"
    assert notes.said == [told]
