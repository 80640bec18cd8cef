"""Once a snapshot serves, nothing that follows fails its build, and what it gives back of the disk is told."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest

from pipeline.build import build
from pipeline.build.publishing import remove_unused_caches
from pipeline.build.report import BuildReport
from pipeline.ledger.source_readings import SourceReadings
from pipeline.publish.served_files import slow_search_note
from pipeline.settings import load
from router.contract import CANDIDATES
from tests.support.notes import Notes
from tests.support.quick import QUICK
from tests.support.rows import write_rows


def _raising(error: Exception) -> Callable[..., None]:
    def _raise(*_: object, **__: object) -> None:
        raise error

    return _raise


def test_what_fails_once_the_snapshot_serves_is_told_and_fails_no_build(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write_rows(tmp_path / "tools.jsonl", [{"name": n, "description": f"Does {n}."} for n in ("mail", "chat")])
    settings = load(tmp_path / "tools.jsonl", {**QUICK, "enrichment": {"generator": "none"}}, environment={})
    notes = Notes()

    def run() -> BuildReport:
        return build(settings, workspace=tmp_path / "ws", progress=notes)

    refused = PermissionError(13, "Permission denied", "/srv/somebody")
    with monkeypatch.context() as patch:
        patch.setattr(SourceReadings, "accept", _raising(duckdb.IOException("IO Error: no space left on device")))
        for stage in ("remove_unused_caches", "stored_bytes"):
            patch.setattr(f"pipeline.build.publishing.{stage}", _raising(refused))
        report = run()
    assert report.outcome == "published"
    assert any("does not know yet that the snapshot serves: IO Error" in said for said in notes.said)
    for what in ("old snapshots", "caches that nothing uses"):
        assert f"{what} could not be removed: [Errno 13] Permission denied: '/srv/somebody'" in notes.said
    (tmp_path / "tools.jsonl").unlink()
    assert run().stale_sources[0].tools == 2, "what serves counts as good"


def test_a_build_without_faiss_says_what_each_request_will_be_held_against(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("router.retrieval.retrievers.dense.MOST_COMPARED", 330)
    vectors: Any = SimpleNamespace(documents=range(300), phrases=range(31))
    note = slow_search_note(tmp_path, vectors)
    assert note is not None and note.startswith("without faiss") and "331" in note and "[large]" in note
    for tools, phrases in ((300, 30), (256, 1_000)):  # few vectors, and no more tools than candidates
        few: Any = SimpleNamespace(documents=range(tools), phrases=range(phrases))
        assert slow_search_note(tmp_path, few) is None
    (tmp_path / CANDIDATES).touch()
    assert slow_search_note(tmp_path, vectors) is None


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
    gone = [_aged(workspace / "compared" / ".old.npz"), _aged(workspace / "computed" / "old.db")]
    kept[1].write_text("")  # of a catalog whose snapshots are elsewhere
    notes = Notes()
    remove_unused_caches(workspace, notes)
    assert all(path.exists() for path in kept)
    assert not any(path.exists() for path in gone)
    assert notes.said == [
        "cached checks that nothing used for 30 days were removed: compared/.old.npz, computed/old.db"
    ]
