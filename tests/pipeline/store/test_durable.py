"""What a disk refuses to write stops a publication, and files that did not change are one file for all snapshots."""

import errno
import os
import re
import shutil
from pathlib import Path

import pytest

from pipeline.store import SnapshotStore, decisions
from pipeline.store.disk import disk_size, share_unchanged
from router.contract import Manifest
from router.snapshot.store.durable import replace_text
from tests.support.bare_snapshots import write_bare_snapshot
from tests.support.publishing import Publications


class FailingSync:
    """An fsync whose call number `at` fails, from 0, as on a broken or a full disk."""

    def __init__(self, at: int, code: int) -> None:
        self.calls, self._at, self._code, self._fsync = 0, at, code, os.fsync

    def __call__(self, descriptor: int) -> None:
        self.calls += 1
        if self.calls == self._at + 1:
            raise OSError(self._code, os.strerror(self._code))
        self._fsync(descriptor)


@pytest.fixture
def store(tmp_path: Path, thinnest: Path) -> SnapshotStore:
    """A store of the snapshots `a` and `b`, of which `b` serves."""
    built = Publications(tmp_path, thinnest)
    for sequence, name in enumerate("ab", 1):
        built.add(name, sequence=sequence, content_hash=name * 64, inputs_hash="")
    built.publish("b")
    return SnapshotStore.at(built.folder)


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
def test_whichever_sync_of_a_publication_fails_the_old_snapshot_serves_and_nothing_is_stored(
    store: SnapshotStore, thinnest: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    sealed = False
    for at in range(1_000):
        failing = FailingSync(at, code)
        monkeypatch.setattr(os, "fsync", failing)
        try:
            with store.staging("c" * 64) as staged:
                shutil.copytree(thinnest, staged, dirs_exist_ok=True)
                sealed = False
                folder = store.seal(staged)
                sealed = True
                store.publish(folder.name)
            break
        except OSError as error:
            assert error.errno == code and error.filename
            assert store.current() == "b"
            assert not [path for path in store.folder.glob(".*") if path.name != ".lock"]
            if not sealed:
                assert {stored.name for stored in store.snapshots()} == {"a", "b"}
    assert at == failing.calls > len([path for path in thinnest.rglob("*") if path.is_file()])
    assert store.current() not in ("a", "b")


def test_a_rollback_that_is_not_remembered_is_none(store: SnapshotStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", FailingSync(0, errno.ENOSPC))
    with pytest.raises(OSError, match="No space left"):
        decisions.rollback(store)
    assert store.current() == "b" and store.state().rolled_back == ()


@pytest.mark.parametrize("before", ["old\n", None])
def test_a_text_that_may_not_be_on_disk_is_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str | None
) -> None:
    path = tmp_path / "text"
    if before:
        path.write_text(before, encoding="utf-8")
    monkeypatch.setattr(os, "fsync", FailingSync(1, errno.EIO))  # that of the folder, after the rename
    with pytest.raises(OSError, match=re.escape(str(tmp_path))):
        replace_text(path, "new\n")
    assert (path.read_text(encoding="utf-8") if path.exists() else None) == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["text"] * bool(before)


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
