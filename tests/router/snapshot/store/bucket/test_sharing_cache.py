"""Processes that share a cache fetch a file once, never see half a snapshot, and outlive each other's deaths."""

import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from router import SnapshotInvalid
from router.contract import Manifest
from router.snapshot.snapshot import Snapshot
from router.snapshot.store.bucket import pulling, reader
from router.snapshot.store.bucket.objects import ObjectUnavailable
from router.snapshot.store.bucket.reader import BucketReader
from tests.support.faults import Fault
from tests.support.faulty_proxy import FaultyProxy, faulty_proxy
from tests.support.object_storage import Bucket
from tests.support.places import ROOT
from tests.support.publishing import Publications
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
def proxy(bucket: Bucket) -> Iterator[FaultyProxy]:
    with faulty_proxy(bucket.port) as made:
        yield made


@pytest.fixture
def catalog(bucket: Bucket, tmp_path: Path, snapshot: Path) -> BucketCatalog:
    made = BucketCatalog(bucket)
    office = Publications(tmp_path / "built", snapshot)
    made.publish(made.upload(office.add("a")))
    return made


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "snapshots" / "office"


@pytest.fixture
def store(catalog: BucketCatalog, proxy: FaultyProxy, cache: Path, monkeypatch: pytest.MonkeyPatch) -> BucketReader:
    for name, value in catalog.bucket.through(proxy.port).environment.items():
        monkeypatch.setenv(name, value)
    return BucketReader(catalog.url, cache)


def start(store: BucketReader) -> "subprocess.Popen[str]":
    """Start a process that pulls `a`, prints its folder and waits for the end of its input."""
    command = [sys.executable, "-c", OPEN, store.label, str(store.cache.folder)]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_of_processes_that_start_at_once_one_fetches(store: BucketReader, proxy: FaultyProxy) -> None:
    processes = [start(store) for _ in range(3)]
    folders = {process.communicate(timeout=60)[0].strip() for process in processes}
    assert folders == {str(store.cache.folder / "a")}
    asked = Counter(e.key for e in proxy.plan.log if e.method == "GET" and "/files/" in e.key)
    assert set(asked.values()) == {1}


def test_a_killed_pull_is_finished_by_the_next(store: BucketReader, proxy: FaultyProxy) -> None:
    draw = random.Random(1)
    for _ in range(4):
        process = start(store)
        proxy.plan.set(Fault("delay", "GET", "*", skip=draw.randrange(20), times=1, act=process.kill))
        process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL
        assert not (store.cache.folder / "a").exists()
    proxy.plan.set()
    Snapshot.open(store.local_folder("a"), whole=True)
    assert {path.name for path in store.cache.folder.iterdir()} == {"a", "bucket", ".pulling.lock"}


class Killed(BaseException):
    """Ends a pull where a kill could."""


def test_a_pull_that_ends_at_any_step_leaves_nothing_or_a_whole_snapshot(
    store: BucketReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [(pulling, "_link_or_copy"), (pulling, "make_read_only"), (pulling, "sync_tree"), (pulling, "sync")]
    steps += [(Path, "unlink"), (Path, "rename"), (Path, "write_bytes"), (Path, "mkdir")]
    folder = store.cache.folder / "a"
    number = 0
    while number < 400:
        left = number
        number = number + 1 if number < 12 else number + 11

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


def test_whoever_waits_too_long_for_another_process_does_without(
    store: BucketReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "_WAIT_S", 0.1)
    other = BucketReader(store.label, store.cache.folder)
    with other.cache.locked(0, threading.Event()):
        with pytest.raises(ObjectUnavailable, match="another process pulls into this cache"):
            store.local_folder("a")
        store.close()
        with pytest.raises(ObjectUnavailable):
            store.local_folder("a")


def test_what_another_process_serves_is_not_removed(store: BucketReader) -> None:
    process = start(store)
    assert process.stdout is not None and process.stdout.readline()
    assert store.cache.remove_all_but(["b", "c"]) == []
    process.kill()
    process.communicate()
    assert store.cache.remove_all_but(["b", "c"]) == ["a"]
    assert not (store.cache.folder / "a").exists()


def test_readers_of_a_snapshot_that_is_removed_again_and_again_get_it_whole_or_not_at_all(
    store: BucketReader, tmp_path: Path
) -> None:
    ended = threading.Event()
    problems: list[BaseException] = []

    def read() -> None:
        mine = BucketReader(store.label, store.cache.folder)
        while not ended.is_set():
            try:
                folder = mine.local_folder("a")
                assert sorted(Manifest.read(folder).files)[0]
                assert (folder / "records.jsonl").stat().st_size
                mine.cache.hold_only(())
            except BaseException as error:  # noqa: BLE001 - told by the test
                problems.append(error)
                return

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    removed = 0
    while removed < 2 and not problems:
        try:
            removed += len(store.cache.remove_all_but(["b", "c"]))
        except BlockingIOError:
            continue
    ended.set()
    for thread in threads:
        thread.join()
    assert problems == []


def test_a_folder_that_cannot_be_read_is_no_snapshot(store: BucketReader, cache: Path) -> None:
    cache.mkdir(parents=True, exist_ok=True)
    os.mkfifo(cache / "a")
    with pytest.raises((SnapshotInvalid, OSError)):
        store.local_folder("a")
