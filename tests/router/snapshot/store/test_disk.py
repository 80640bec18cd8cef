"""Files that did not change are one file for all snapshots, and the list of snapshots can tell what each takes."""

import os
from pathlib import Path

import pytest

from router.contract import Manifest
from router.fingerprint import file_sha256
from router.snapshot.store.disk import disk_size, share_unchanged


class _Stored:
    def __init__(self, files: dict[str, str]) -> None:
        self.files = files


@pytest.fixture
def snapshots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path, dict[str, str]]:
    """A stored snapshot and a staged one, with an equal encoder and different records."""
    for name, records in (("old", b"one"), ("new", b"two")):
        (tmp_path / name / "encoder").mkdir(parents=True)
        (tmp_path / name / "encoder" / "model.onnx").write_bytes(b"weights" * 10_000)
        (tmp_path / name / "records.jsonl").write_bytes(records)
    files = {
        name: {path: file_sha256(tmp_path / name / path) for path in ("encoder/model.onnx", "records.jsonl")}
        for name in ("old", "new")
    }
    monkeypatch.setattr(Manifest, "read", lambda folder: _Stored(files["old"]))
    return tmp_path / "old", tmp_path / "new", files["new"]


def test_an_unchanged_file_is_shared_and_a_changed_one_is_not(snapshots: tuple[Path, Path, dict[str, str]]) -> None:
    old, new, files = snapshots
    share_unchanged(new, files, old)
    assert (new / "encoder" / "model.onnx").samefile(old / "encoder" / "model.onnx")
    assert (new / "records.jsonl").read_bytes() == b"two"
    assert sorted(path.name for path in new.rglob("*")) == ["encoder", "model.onnx", "records.jsonl"]


def test_a_stored_file_that_is_damaged_is_not_shared(snapshots: tuple[Path, Path, dict[str, str]]) -> None:
    old, new, files = snapshots
    (old / "encoder" / "model.onnx").write_bytes(b"damaged")
    share_unchanged(new, files, old)
    assert file_sha256(new / "encoder" / "model.onnx") == files["encoder/model.onnx"]


def test_where_there_are_no_links_files_stay_as_they_were_written(
    snapshots: tuple[Path, Path, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    old, new, files = snapshots
    monkeypatch.setattr(os, "link", refuse)
    share_unchanged(new, files, old)
    assert {name: file_sha256(new / name) for name in files} == files


def test_the_size_tells_own_bytes_from_shared_ones(snapshots: tuple[Path, Path, dict[str, str]]) -> None:
    old, new, files = snapshots
    before = disk_size(new)
    share_unchanged(new, files, old)
    after = disk_size(new)
    assert before.shared == 0
    assert after.shared >= 70_000
    assert after.own + after.shared == before.own
    together = disk_size(new.parent)  # both of its links are inside
    assert (together.shared, together.own) == (0, disk_size(old).own + after.own + after.shared)
