"""Processes that share a cache fetch a file once, never see half a snapshot, and outlive each other's deaths."""

import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from router.contract import Manifest
from router.snapshot.snapshot import Snapshot
from router.snapshot.store.bucket import pulling, reader
from router.snapshot.store.bucket.objects import ObjectUnavailable
from router.snapshot.store.bucket.reader import BucketReader
from tests.support.faults import Fault
from tests.support.faulty_proxy import FaultyProxy
from tests.support.places import ROOT
from tests.support.uploading import BucketCatalog

OPEN = """
import sys
from pathlib import Path
from router.snapshot.store.bucket.reader import BucketReader
store = BucketReader(sys.argv[1], Path(sys.argv[2]))
print(store.local_folder("a"), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def store(catalog: BucketCatalog, proxy: FaultyProxy, cache: Path) -> BucketReader:
    return BucketReader(catalog.url, cache)


def start(store: BucketReader) -> "subprocess.Popen[str]":
    """Start a process that pulls `a`, prints its folder and waits for the end of its input."""
    command = [sys.executable, "-c", OPEN, store.label, str(store.cache.folder)]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_one_process_fetches_for_all_and_keeps_what_it_serves(store: BucketReader, proxy: FaultyProxy) -> None:
    ending, serving = start(store), start(store)
    folder = str(store.cache.folder / "a")
    assert ending.communicate(timeout=60)[0].strip() == folder
    assert serving.stdout is not None and serving.stdout.readline().strip() == folder
    asked = Counter(e.key for e in proxy.plan.log if e.method == "GET" and "/files/" in e.key)
    assert set(asked.values()) == {1}
    assert store.cache.remove_all_but(["b", "c"]) == []
    serving.kill()
    serving.communicate()
    assert store.cache.remove_all_but(["b", "c"]) == ["a"] and not Path(folder).exists()


@pytest.mark.parametrize("skip", [10, *(pytest.param(skip, marks=pytest.mark.nightly) for skip in (0, 3, 15, 19))])
def test_a_killed_pull_is_finished_by_the_next(store: BucketReader, proxy: FaultyProxy, skip: int) -> None:
    process = start(store)
    proxy.plan.set(Fault("delay", "*", "*", skip=skip, times=1, act=process.kill))
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL and not (store.cache.folder / "a").exists()
    proxy.plan.set()
    Snapshot.open(store.local_folder("a"), whole=True)
    assert {path.name for path in store.cache.folder.iterdir()} == {"a", "bucket", ".pulling.lock"}


class Killed(BaseException):
    """Ends a pull where a kill could."""


def test_a_pull_that_ends_at_any_step_leaves_all_or_nothing(
    store: BucketReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[tuple[Any, str]] = [(pulling, name) for name in ("link_or_copy", "make_read_only", "sync_tree", "sync")]
    steps += [(pulling, "link_or_copy"), (Path, "unlink"), (Path, "rename"), (Path, "write_bytes"), (Path, "mkdir")]
    folder = store.cache.folder / "a"
    for number in range(400):
        left = number

        def counted(original: Any) -> Any:
            def step(*arguments: Any, **options: Any) -> Any:
                nonlocal left
                if threading.current_thread() is threading.main_thread():
                    left -= 1
                    if left < 0:
                        raise Killed
                return original(*arguments, **options)

            return step

        with monkeypatch.context() as patched:
            for owner, name in steps:
                patched.setattr(owner, name, counted(getattr(owner, name)))
            try:
                BucketReader(store.label, store.cache.folder).local_folder("a")
            except Killed:
                if folder.exists():
                    Snapshot.open(folder, whole=True)
                continue
        Snapshot.open(folder, whole=True)
        return
    pytest.fail("a pull takes more steps than that")


def test_who_waits_too_long_for_another_does_without(store: BucketReader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_WAIT_S", 0.1)
    other = BucketReader(store.label, store.cache.folder)
    with other.cache.locked(0, threading.Event()):
        with pytest.raises(ObjectUnavailable, match="another process pulls into this cache"):
            store.local_folder("a")
        store.close()
        with pytest.raises(ObjectUnavailable):
            store.local_folder("a")


def test_a_reader_of_a_snapshot_that_is_removed_again_and_again_gets_it_whole(store: BucketReader) -> None:
    ended = threading.Event()
    problems: list[BaseException] = []

    def read() -> None:
        mine = BucketReader(store.label, store.cache.folder)
        while not ended.wait(0.01) and not problems:
            try:
                folder = mine.local_folder("a")
                assert sorted(Manifest.read(folder).files)[0]
                assert (folder / "records.jsonl").stat().st_size
                mine.cache.hold_only(())
            except BaseException as error:  # noqa: BLE001 - told by the test
                problems.append(error)

    reading = threading.Thread(target=read)
    reading.start()
    removed = 0
    while removed < 2 and not problems:
        try:
            removed += len(store.cache.remove_all_but(["b", "c"]))
        except BlockingIOError:
            continue
    ended.set()
    reading.join()
    assert problems == []


@pytest.mark.parametrize("make", [os.mkfifo, Path.touch, lambda path: path.symlink_to("/tmp")])
def test_what_lies_in_its_place_is_replaced(store: BucketReader, cache: Path, make: Callable[[Path], object]) -> None:
    make(cache / "a")
    Snapshot.open(store.local_folder("a"), whole=True)
    assert not (cache / "a").is_symlink()
