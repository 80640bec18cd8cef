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


def running() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("quartermaster-hash")]


@pytest.mark.parametrize("threads", [0, 1, 2, 9, "no thread more"])
def test_every_file_has_its_sha256_or_its_error_whoever_hashes_it(
    opened: list[int], threads: int | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sha256 = hashing._sha256

    def failing(descriptor: int, buffer: memoryview) -> str:
        if descriptor == opened[2]:
            raise OSError(errno.EIO, "the disk fails")
        return sha256(descriptor, buffer)

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    if isinstance(threads, str):
        monkeypatch.setattr(threading.Thread, "start", refuse)
        threads = 2
    assert hash_opened([], threads, lambda: None) == {}
    expected = {one: hashlib.sha256(content).hexdigest() for one, content in zip(opened, CONTENTS, strict=True)}
    assert hash_opened(opened, threads, lambda: None) == expected
    for descriptor in opened:
        os.lseek(descriptor, 0, os.SEEK_SET)
    monkeypatch.setattr(hashing, "_sha256", failing)
    hashed = dict(hash_opened(opened, threads, lambda: None))
    assert isinstance(hashed.pop(opened[2]), OSError) and hashed.items() <= expected.items()
    assert running() == []


def test_no_thread_reads_on_after_two_interruptions(opened: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert running() == []
