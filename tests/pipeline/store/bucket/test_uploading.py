"""Uploads: each file once, the manifest last, whatever the network and the disk do."""

import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from pipeline.store.bucket.store import BucketStore
from router.contract import MANIFEST
from router.errors import SnapshotInvalid
from router.snapshot.store.bucket.head import file_object
from router.snapshot.store.bucket.objects import PART
from router.store import StoreUnavailable
from tests.support.bare_snapshots import write_bare_snapshot
from tests.support.faults import Fault
from tests.support.faulty_proxy import FaultyProxy
from tests.support.places import ROOT

Stores = Callable[..., BucketStore]
FILES = {f"file{number}": f"content {number}".encode() * 100 for number in range(8)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A snapshot "first" of eight files."""
    return write_bare_snapshot(tmp_path / "built/first", FILES, sequence=1)


def files_sent(proxy: FaultyProxy) -> list[str]:
    return [
        key.rpartition("/")[2] for key, count in proxy.plan.uploads().items() if "/files/" in key for _ in range(count)
    ]


def test_each_content_is_sent_once(stores: Stores, folder: Path, tmp_path: Path, proxy: FaultyProxy) -> None:
    write_bare_snapshot(folder, FILES | {"copy": FILES["file1"]})
    stores().upload(folder)
    assert len(files_sent(proxy)) == len(set(files_sent(proxy))) == len(FILES)
    written = [entry.key for entry in proxy.plan.log if entry.method == "PUT"]
    assert written[-1].endswith(f"/snapshots/first/{MANIFEST}")
    proxy.plan.log.clear()
    stores().upload(folder)
    stores().upload(write_bare_snapshot(tmp_path / "built/second", FILES | {"file1": b"new"}, sequence=2))
    assert len(files_sent(proxy)) == 1


def test_sending_again_mends_and_never_replaces_another(stores: Stores, folder: Path, tmp_path: Path) -> None:
    store = stores()
    store.upload(folder)
    store.objects.put(next(store.objects.list("files/")).name, b"x" * 900)
    store.upload(folder, again=True)
    assert store.local_folder("first")
    with pytest.raises(SnapshotInvalid, match="another snapshot of the name first: nothing was replaced"):
        stores("two").upload(write_bare_snapshot(tmp_path / "other/first", FILES, sequence=2))
    assert [stored.order for stored in stores("three").snapshots()] == [(1, "first")]


KILLED = """
import sys
from pathlib import Path
from pipeline.store.bucket.store import BucketStore
BucketStore(sys.argv[1], Path(sys.argv[2])).upload(Path(sys.argv[3]))
"""


def test_a_killed_upload_goes_on_where_it_was(stores: Stores, folder: Path, tmp_path: Path, proxy: FaultyProxy) -> None:
    store = stores()
    killed: list[subprocess.Popen[bytes]] = []
    proxy.plan.set(Fault("delay", "PUT", "*/files/*", skip=3, times=1, act=lambda: killed[0].kill()))
    command = [sys.executable, "-c", KILLED, store.label, str(tmp_path / "cache/office"), str(folder)]
    killed.append(subprocess.Popen(command, cwd=ROOT))
    assert killed[0].wait() == -9
    assert store.snapshots() == []
    assert 3 <= len(set(files_sent(proxy))) < len(FILES)
    store.upload(folder)
    assert [stored.name for stored in store.snapshots()] == ["first"]
    assert len(files_sent(proxy)) == len(set(files_sent(proxy))) == len(FILES)


@pytest.mark.parametrize("kind", ["slow down", "error", "break", "cut request", "flip request", "lost answer"])
def test_an_upload_over_a_bad_line_is_whole(stores: Stores, folder: Path, proxy: FaultyProxy, kind: Any) -> None:
    proxy.plan.set(Fault(kind, "PUT", share=0.3))
    store = stores()
    for _ in range(8):  # a damaged request is refused, and is not tried again by itself
        try:
            store.upload(folder)
            break
        except StoreUnavailable:
            assert kind == "flip request"
    proxy.plan.set()
    assert proxy.plan.counts[kind] > 0
    fetched = stores("another").local_folder("first")
    assert {name: (fetched / name).read_bytes() for name in FILES} == FILES


def test_an_upload_that_fails_stores_nothing(stores: Stores, folder: Path, proxy: FaultyProxy, tmp_path: Path) -> None:
    proxy.plan.set(Fault("error", "PUT", "*/files/*", skip=3))
    with pytest.raises(StoreUnavailable, match="files/"):
        stores(patience_s=0.1).upload(folder)
    proxy.plan.set()
    assert stores().snapshots() == []
    nowhere = BucketStore("s3://nowhere/catalogs/office", tmp_path / "cache/snapshots/office", patience_s=1.0)
    with pytest.raises(StoreUnavailable, match="the bucket does not exist"):
        nowhere.begin_build()


def test_a_large_file_goes_in_parts_and_a_corrupt_one_leaves_nothing(stores: Stores, tmp_path: Path) -> None:
    content = bytes(range(256)) * (PART // 256) + b"the end"
    folder = write_bare_snapshot(tmp_path / "built/large", {"vectors.npy": content, "small": b"x"})
    with (folder / "vectors.npy").open("r+b") as file:
        file.seek(PART + 1)
        file.write(b"X")
    store = stores()
    with pytest.raises(SnapshotInvalid, match=r"vectors.npy is corrupt.*nothing of it was stored"):
        store.upload(folder)
    assert store.snapshots() == []
    (folder / "vectors.npy").write_bytes(content)
    store.upload(folder)
    assert (stores("another").local_folder("large") / "vectors.npy").read_bytes() == content


def test_what_is_old_and_named_by_no_manifest_is_sent_anew(stores: Stores, folder: Path, proxy: FaultyProxy) -> None:
    store = stores(grace=timedelta(0))  # everything is old
    for content in FILES.values():
        store.objects.put(file_object(sha256(content).hexdigest()), content)
    proxy.plan.log.clear()
    store.upload(folder)
    assert len(files_sent(proxy)) >= len(FILES)


def test_what_a_collector_takes_meanwhile_is_sent_again(stores: Stores, folder: Path, proxy: FaultyProxy) -> None:
    store, collector = stores(), stores("two")
    name = file_object(sha256(FILES["file0"]).hexdigest())
    proxy.plan.set(Fault("delay", "PUT", f"*/{MANIFEST}", times=1, act=lambda: collector.objects.delete([name])))
    store.upload(folder)
    assert proxy.plan.counts["delay"] == 1
    assert stores("three").local_folder("first").is_dir()


def test_two_builds_of_the_same_second_and_content_take_different_names(stores: Stores) -> None:
    with stores("one").staging("a" * 64) as one, stores("two").staging("a" * 64) as two:
        assert one.name != two.name
    assert list(stores().objects.list("snapshots/")) == []  # the names are free again
