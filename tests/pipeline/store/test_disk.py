"""Files that did not change are one file for all snapshots, and the list of snapshots can tell what each takes."""

import os
from pathlib import Path

import pytest

from pipeline.store.disk import disk_size, share_unchanged
from router.contract import Manifest
from tests.support.bare_snapshots import write_bare_snapshot

MODEL = b"weights" * 10_000


@pytest.fixture
def snapshots(tmp_path: Path) -> tuple[Path, Path, dict[str, str]]:
    """A stored snapshot and a staged one, with an equal encoder and different records, and the files of the latter."""
    old, new = (
        write_bare_snapshot(tmp_path / name, {"model.onnx": MODEL, "records.jsonl": name.encode()})
        for name in ("old", "new")
    )
    return old, new, dict(Manifest.read(new).files)


def test_unchanged_files_are_shared_and_counted_apart(snapshots: tuple[Path, Path, dict[str, str]]) -> None:
    old, new, files = snapshots
    before = disk_size(new)
    share_unchanged(new, files, old)
    after = disk_size(new)
    assert (new / "model.onnx").samefile(old / "model.onnx")
    assert (new / "records.jsonl").read_bytes() == b"new"
    assert sorted(path.name for path in new.iterdir()) == ["manifest.json", "model.onnx", "records.jsonl"]
    assert before.shared == 0 and after.shared >= len(MODEL) and after.own + after.shared == before.own
    together = disk_size(new.parent)  # both of its links are inside
    assert (together.shared, together.own) == (0, disk_size(old).own + after.own + after.shared)


@pytest.mark.parametrize("problem", ["damaged", "no links"])
def test_what_is_damaged_or_cannot_be_linked_is_not_shared(
    snapshots: tuple[Path, Path, dict[str, str]], monkeypatch: pytest.MonkeyPatch, problem: str
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    old, new, files = snapshots
    if problem == "damaged":
        (old / "model.onnx").write_bytes(b"damaged")
    else:
        monkeypatch.setattr(os, "link", refuse)
    share_unchanged(new, files, old)
    assert (new / "model.onnx").read_bytes() == MODEL
    assert not (new / "model.onnx").samefile(old / "model.onnx")
