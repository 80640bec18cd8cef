"""The folder that a build shares with its workers, while other builds begin and end beside it."""

import fcntl
import threading
from pathlib import Path
from typing import IO

import pytest

from flows.engine.storage import build_folder, probe, share
from pipeline.errors import SettingsInvalid


def test_a_build_that_begins_meanwhile_leaves_a_folder_that_is_being_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locks, other_began = threading.Event(), threading.Event()
    lock = fcntl.flock

    def slow(file: IO[str], operation: int) -> None:
        if threading.current_thread().name == "first":
            locks.set()
            assert other_began.wait(10)
        lock(file, operation)

    monkeypatch.setattr(fcntl, "flock", slow)
    exists: list[bool] = []

    def first() -> None:
        with build_folder(tmp_path) as folder:
            exists.append(folder.exists())

    thread = threading.Thread(target=first, name="first")
    thread.start()
    assert locks.wait(10)
    with build_folder(tmp_path):
        other_began.set()
        thread.join()
    assert exists == [True]


def test_what_a_killed_build_left_is_removed_and_what_a_live_one_has_is_not(tmp_path: Path) -> None:
    killed = tmp_path / "builds" / "killed"
    killed.mkdir(parents=True)
    (killed / "lock").touch()
    with build_folder(tmp_path) as first, build_folder(tmp_path) as second:
        assert {*(tmp_path / "builds").iterdir()} == {first, second}
    assert not list((tmp_path / "builds").iterdir())


def test_values_that_were_shared_before_are_not_written_again_and_small_ones_never(tmp_path: Path) -> None:
    large = share(tmp_path, (b"x" * 100_000, 1))
    assert large == share(tmp_path, (b"x" * 100_000, 1)) and large.open() == (b"x" * 100_000, 1)
    assert share(tmp_path, (1, 2)).open() == (1, 2) and len(list(tmp_path.iterdir())) == 1


def test_a_worker_that_does_not_see_the_storage_says_so(tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid, match=r"^flow.storage: the worker on .* cannot read .*/probe \(No such file"):
        probe(tmp_path / "probe")
