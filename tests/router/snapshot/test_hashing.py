"""Files are hashed by several threads, and a failure of one is told."""

import errno
import hashlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from router.snapshot import hashing
from router.snapshot.hashing import hash_opened

CONTENTS = [b"", b"a", b"b" * 5, b"c" * 4096, b"d" * 100_000]


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Descriptors of the files of CONTENTS, which are many bytes here, read in blocks of 4,097."""
    monkeypatch.setattr(hashing, "_FEW_BYTES", 0)
    monkeypatch.setattr(hashing, "_BLOCK", 4096)
    descriptors = []
    for number, content in enumerate(CONTENTS):
        path = tmp_path / str(number)
        path.write_bytes(content)
        descriptors.append(os.open(path, os.O_RDONLY))
    yield descriptors
    for descriptor in descriptors:
        os.close(descriptor)


@pytest.mark.parametrize("threads", [0, 1, 2, 9])
def test_every_file_has_its_sha256_whoever_hashes_it(opened: list[int], threads: int) -> None:
    expected = [hashlib.sha256(content).hexdigest() for content in CONTENTS]
    hashed = hash_opened(opened, threads, lambda: None)
    assert [hashed[descriptor] for descriptor in opened] == expected
    assert "quartermaster-hash" not in " ".join(thread.name for thread in threading.enumerate())


def test_no_file_is_a_result_too() -> None:
    assert hash_opened([], 2, lambda: None) == {}


def test_the_caller_goes_on_beside_the_threads(opened: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    callers = []
    began, go_on = threading.Event(), threading.Event()
    sha256 = hashing._sha256

    def waiting(descriptor: int, buffer: memoryview) -> str:
        if threading.current_thread() is not threading.main_thread():
            began.set()
            assert go_on.wait(30)
        return sha256(descriptor, buffer)

    def meanwhile() -> None:
        assert began.wait(30)  # a thread hashes before the caller has returned
        callers.append(threading.current_thread())
        go_on.set()

    monkeypatch.setattr(hashing, "_sha256", waiting)
    assert len(hash_opened(opened, 1, meanwhile)) == len(CONTENTS)
    assert callers == [threading.main_thread()]


@pytest.mark.parametrize("threads", [0, 2])
def test_a_file_that_cannot_be_read_has_its_error(
    opened: list[int], threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sha256 = hashing._sha256

    def failing(descriptor: int, buffer: memoryview) -> str:
        if descriptor == opened[2]:
            raise OSError(errno.EIO, "the disk fails")
        return sha256(descriptor, buffer)

    monkeypatch.setattr(hashing, "_sha256", failing)
    hashed = hash_opened(opened, threads, lambda: None)
    assert [isinstance(hashed[descriptor], OSError) for descriptor in opened] == [False, False, True, False, False]


def test_what_the_caller_raises_is_raised_after_the_threads_have_ended(opened: list[int]) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hash_opened(opened, 2, interrupted)
    assert "quartermaster-hash" not in " ".join(thread.name for thread in threading.enumerate())


def test_files_are_hashed_where_the_system_gives_no_thread_more(
    opened: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    hashed = hash_opened(opened, 2, lambda: None)
    assert [hashed[descriptor] for descriptor in opened] == [
        hashlib.sha256(content).hexdigest() for content in CONTENTS
    ]


def test_no_thread_reads_on_after_the_wait_for_it_was_interrupted_twice(
    opened: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    began, go_on = threading.Event(), threading.Event()
    interruptions = [KeyboardInterrupt(), KeyboardInterrupt()]
    sha256, join = hashing._sha256, threading.Thread.join

    def slow(descriptor: int, buffer: memoryview) -> str:
        if threading.current_thread() is not threading.main_thread():
            began.set()
            assert go_on.wait(30)
        return sha256(descriptor, buffer)

    def interrupted(worker: threading.Thread, timeout: float | None = None) -> None:
        if interruptions:
            raise interruptions.pop()
        go_on.set()
        join(worker, timeout)

    monkeypatch.setattr(hashing, "_sha256", slow)
    monkeypatch.setattr(threading.Thread, "join", interrupted)
    with pytest.raises(KeyboardInterrupt):
        hash_opened(opened, 1, lambda: began.wait(30))
    assert "quartermaster-hash" not in " ".join(thread.name for thread in threading.enumerate())
