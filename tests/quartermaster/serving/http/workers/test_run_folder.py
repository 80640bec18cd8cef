"""The folder that workers share: who removes it, and what it says where the disk is full."""

import errno
import fcntl
import os
from pathlib import Path

import pytest

from quartermaster.serving.http.serving_state import tellable
from quartermaster.serving.http.workers import busy_clients, exposition
from quartermaster.serving.http.workers.exposition import count_in
from quartermaster.serving.http.workers.messages import Failed, MessageReader, encode_message
from quartermaster.serving.http.workers.run_folder import RunFolder
from router.errors import SettingsInvalid, SnapshotInvalid


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_the_last_that_leaves_removes_the_folder_and_a_start_removes_those_of_dead_servers(place: Path) -> None:
    first = RunFolder.make()
    second = RunFolder(first.folder)
    first.leave()
    assert first.folder.is_dir()
    second.leave()
    (place / "quartermaster-workers-dead").mkdir()
    third = RunFolder.make()
    assert list(place.iterdir()) == [third.folder]
    third.leave()


def test_where_nobody_can_know_whether_a_folder_is_used_it_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "no locks on this file system")

    monkeypatch.setattr(fcntl, "flock", without_locks)
    first = RunFolder.make()
    second = RunFolder.make()
    RunFolder(first.folder).leave()  # a worker of the first
    assert first.folder.is_dir() and second.folder.is_dir()


def test_a_full_disk_is_told_of_at_the_start_and_leaves_nothing(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(busy_clients, "allocate", full)
    with pytest.raises(SettingsInvalid, match=r"has no room .*: No space left on device; set TMPDIR"):
        RunFolder.make()
    assert list(place.iterdir()) == []


def test_a_worker_that_has_no_room_to_count_says_so(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exposition, "allocate", full)
    with pytest.raises(SettingsInvalid, match=r"free 262,144 bytes, or set TMPDIR"):
        count_in(place, 0)


def test_a_reason_with_a_path_that_is_no_utf_8_can_be_told() -> None:
    (told,) = MessageReader().read(encode_message(Failed.of(SnapshotInvalid("caf\udce9 is corrupt"))))
    assert isinstance(told, Failed)
    assert str(told.error()) == tellable("caf\udce9 is corrupt") == "caf\\udce9 is corrupt"
    assert type(told.error()) is SnapshotInvalid
