"""The folder that a build shares with its workers, while other builds begin and end beside it."""

import fcntl
import threading
from pathlib import Path
from typing import IO

import pytest

from flows.engine.storage import build_folder


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


def test_the_folder_of_a_build_that_was_killed_is_removed_by_the_next(tmp_path: Path) -> None:
    killed = tmp_path / "builds" / "killed"
    killed.mkdir(parents=True)
    (killed / "lock").touch()
    with build_folder(tmp_path) as folder:
        assert [path.name for path in (tmp_path / "builds").iterdir()] == [folder.name]
