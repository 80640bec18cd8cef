"""Processes that share a cache fetch a file once, never see half a snapshot, and outlive each other's deaths."""

import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from router.snapshot.snapshot import Snapshot
from router.snapshot.store.bucket import reader
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
    assert ending.communicate(timeout=150)[0].strip() == folder
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
    process.communicate(timeout=150)
    assert process.returncode == -signal.SIGKILL and not (store.cache.folder / "a").exists()
    proxy.plan.set()
    Snapshot.open(store.local_folder("a"), whole=True)
    assert {path.name for path in store.cache.folder.iterdir()} == {"a", "bucket", ".pulling.lock"}


def test_who_waits_too_long_for_another_does_without(store: BucketReader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_WAIT_S", 0.1)
    other = BucketReader(store.label, store.cache.folder)
    with other.cache.locked(0, threading.Event()):
        with pytest.raises(ObjectUnavailable, match="another process pulls into this cache"):
            store.local_folder("a")
        store.close()
        with pytest.raises(ObjectUnavailable):
            store.local_folder("a")
