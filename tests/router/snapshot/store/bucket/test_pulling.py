"""A pull brings what the cache lacks, whole and verified, or nothing."""

import errno
import os
import shutil
import stat
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from router import Router, SettingsInvalid, SnapshotInvalid
from router.contract import CATALOG_DB, MANIFEST, SIGNATURE, Manifest
from router.fingerprint import file_sha256
from router.snapshot.snapshot import Snapshot
from router.snapshot.store.bucket import downloading, pulling, reader
from router.snapshot.store.bucket.daemons import Stopped
from router.snapshot.store.bucket.place import cache_place
from router.snapshot.store.bucket.reader import BucketReader
from router.store import SnapshotStore
from tests.support.faults import Fault
from tests.support.faulty_proxy import FaultyProxy
from tests.support.object_storage import Bucket
from tests.support.publishing import Publications, corrupt, sign
from tests.support.uploading import BucketCatalog

FILES = "*/files/*"


@pytest.fixture
def office(tmp_path: Path, snapshot: Path) -> Publications:
    """Two snapshots of one catalog, `a` and `b`, which differ in their recipe alone."""
    made = Publications(tmp_path / "built", snapshot)
    made.add("a")
    made.add("b", weights={"description": 1.0})
    return made


@pytest.fixture
def catalog(bucket: Bucket, office: Publications) -> BucketCatalog:
    """The catalog in the bucket, where `a` is current."""
    made = BucketCatalog(bucket)
    made.publish(made.upload(office.folder / "a"))
    return made


@pytest.fixture
def store(catalog: BucketCatalog, proxy: FaultyProxy, tmp_path: Path) -> BucketReader:
    return BucketReader(catalog.url, tmp_path / "cache" / "snapshots" / "office")


def files_of(folder: Path) -> dict[str, str]:
    return dict(Manifest.read(folder).files)


def fetched(proxy: FaultyProxy) -> Counter[str]:
    """Return how often each file was asked for."""
    return Counter(e.key.rpartition("/")[2] for e in proxy.plan.log if e.method == "GET" and "/files/" in e.key)


def test_a_pulled_snapshot_is_byte_for_byte_the_one_that_was_uploaded(
    store: BucketReader, office: Publications
) -> None:
    folder = store.local_folder("a")
    Snapshot.open(folder, whole=True)
    assert (folder / MANIFEST).read_bytes() == (office.folder / "a" / MANIFEST).read_bytes()
    there = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert there == {*files_of(folder), MANIFEST}


def test_its_files_cannot_be_written(store: BucketReader) -> None:
    folder = store.local_folder("a")
    assert {stat.S_IMODE(path.stat().st_mode) & 0o222 for path in folder.rglob("*") if path.is_file()} == {0}


def test_the_cache_is_a_catalog_folder_to_local_commands_and_routers(store: BucketReader) -> None:
    store.local_folder("a")
    store.serves("a")
    local = SnapshotStore.at(store.cache.folder)
    assert local.current() == "a"
    assert [stored.name for stored in local.snapshots()] == ["a"]
    assert Router.open(store.cache.folder).manifest.snapshot == "a"


def test_caches_of_two_addresses_lie_beside_each_other(tmp_path: Path) -> None:
    one, other = (cache_place(f"s3://{bucket}/catalogs/demo", tmp_path) for bucket in ("one", "other"))
    assert one != other
    assert one.name == other.name == "demo"
    assert one == cache_place("s3://one/catalogs/demo/", tmp_path)


def test_the_environment_names_the_folder_of_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUARTERMASTER_CACHE_DIR", str(tmp_path))
    assert cache_place("s3://bucket/office").is_relative_to(tmp_path)
    assert cache_place("s3://bucket/office", tmp_path / "other").is_relative_to(tmp_path / "other")


def test_files_that_another_cached_snapshot_has_are_not_fetched_again(
    store: BucketReader, catalog: BucketCatalog, office: Publications, proxy: FaultyProxy
) -> None:
    store.local_folder("a")
    catalog.upload(office.folder / "b")
    proxy.plan.log.clear()
    store.local_folder("b")
    assert fetched(proxy) == {}
    assert (store.cache.folder / "b" / CATALOG_DB).samefile(store.cache.folder / "a" / CATALOG_DB)


def test_a_damaged_file_of_another_snapshot_is_fetched_rather_than_linked(
    store: BucketReader, catalog: BucketCatalog, office: Publications, proxy: FaultyProxy
) -> None:
    broken = corrupt(store.local_folder("a"))
    catalog.upload(office.folder / "b")
    proxy.plan.log.clear()
    Snapshot.open(store.local_folder("b"), whole=True)
    assert list(fetched(proxy)) == [files_of(office.folder / "b")[str(broken.relative_to(store.cache.folder / "a"))]]


def test_files_are_copied_where_there_are_no_links(
    store: BucketReader, catalog: BucketCatalog, office: Publications, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_: Any, **__: Any) -> None:
        raise PermissionError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", no_links)
    catalog.upload(office.folder / "b")
    for name in ("a", "b"):
        Snapshot.open(store.local_folder(name), whole=True)


@pytest.mark.parametrize("kind", ["flip answer", "cut answer", "break", "slow down", "error"])
def test_a_fault_on_the_way_is_no_damage(store: BucketReader, proxy: FaultyProxy, kind: Any) -> None:
    proxy.plan.set(Fault(kind, "GET", FILES, times=2), Fault(kind, "HEAD", FILES, times=2))
    Snapshot.open(store.local_folder("a"), whole=True)
    assert proxy.plan.counts[kind] > 0


def test_a_manifest_that_was_damaged_on_the_way_is_read_again(store: BucketReader, proxy: FaultyProxy) -> None:
    proxy.plan.set(Fault("flip answer", "GET", "*/manifest.json", times=1))
    assert store.local_folder("a").is_dir()


def test_an_object_with_a_wrong_content_is_refused_after_three_tries(
    store: BucketReader, catalog: BucketCatalog, office: Publications, proxy: FaultyProxy
) -> None:
    sha256 = files_of(office.folder / "a")["records.jsonl"]
    catalog.overwrite(sha256, b"x" * (office.folder / "a" / "records.jsonl").stat().st_size)
    with pytest.raises(SnapshotInvalid, match=rf"files/{sha256} is not what its name says"):
        store.local_folder("a")
    assert fetched(proxy)[sha256] == 3
    assert not (store.cache.folder / "a").exists()


def test_a_manifest_of_another_snapshot_is_refused(
    store: BucketReader, catalog: BucketCatalog, office: Publications
) -> None:
    shutil.copytree(office.folder / "b", office.folder / "c")
    catalog.upload(office.folder / "c")
    with pytest.raises(SnapshotInvalid, match="has the manifest of 'b' in the place of c's"):
        store.local_folder("c")


def test_a_folder_is_the_cache_of_one_address(store: BucketReader, bucket: Bucket) -> None:
    store.local_folder("a")
    with pytest.raises(SettingsInvalid, match=r"caches s3://.*/office: name another for s3://.*/other"):
        BucketReader(f"{bucket.url}/catalogs/other", store.cache.folder)


@pytest.mark.parametrize("name", [MANIFEST, SIGNATURE])
def test_a_manifest_that_lists_itself_writes_into_no_other_snapshot(
    store: BucketReader, catalog: BucketCatalog, office: Publications, name: str
) -> None:
    records = store.local_folder("a") / "records.jsonl"
    before = records.read_bytes()
    shutil.copyfile(office.folder / "b" / "records.jsonl", office.folder / "b" / SIGNATURE)
    sha256 = files_of(office.folder / "b")["records.jsonl"]
    sign(office.folder / "b", lambda manifest: manifest["files"].update({name: sha256}))
    catalog.upload(office.folder / "b")
    with pytest.raises(SnapshotInvalid, match=rf"lists {name}, which is no file of a snapshot"):
        store.local_folder("b")
    assert records.read_bytes() == before


def test_a_link_in_the_cache_is_not_taken_for_a_file(
    store: BucketReader, office: Publications, tmp_path: Path, proxy: FaultyProxy
) -> None:
    records = store.local_folder("a") / "records.jsonl"
    records.rename(tmp_path / "elsewhere")
    records.symlink_to(tmp_path / "elsewhere")
    proxy.plan.log.clear()
    assert BucketReader(store.label, store.cache.folder).repair("a")
    assert not records.is_symlink()
    assert list(fetched(proxy)) == [files_of(office.folder / "a")["records.jsonl"]]


@pytest.mark.parametrize("name", ["../a", "a/b", "", ".pulling", "a\n", "CURRENT", "bucket", "state.json"])
def test_a_name_that_leads_elsewhere_is_refused(store: BucketReader, name: str) -> None:
    with pytest.raises(SnapshotInvalid, match="has no snapshot"):
        store.local_folder(name)


def test_what_a_killed_pull_has_fetched_is_not_fetched_again(
    store: BucketReader, proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy.plan.set(Fault("error", "GET", FILES, skip=10))
    monkeypatch.setattr(reader, "_FILE_PATIENCE_S", 0.1)
    failing = BucketReader(store.label, store.cache.folder)
    with pytest.raises(OSError, match="does not answer as it should"):
        failing.local_folder("a")
    kept = {path.name for path in store.cache.pulling.iterdir() if not path.suffix and path.is_file()}
    assert len(kept) >= 4
    proxy.plan.set()
    proxy.plan.log.clear()
    Snapshot.open(store.local_folder("a"), whole=True)
    assert kept.isdisjoint(fetched(proxy))


def test_a_file_is_continued_where_it_broke_off(store: BucketReader, office: Publications, proxy: FaultyProxy) -> None:
    source = office.folder / "a" / CATALOG_DB
    sha256, content = file_sha256(source), source.read_bytes()
    store.cache.pulling.mkdir()
    (store.cache.pulling / f"{sha256}.part").write_bytes(content[: len(content) - 1000])
    Snapshot.open(store.local_folder("a"), whole=True)
    (entry,) = [entry for entry in proxy.plan.log if entry.method == "GET" and entry.key.endswith(sha256)]
    assert entry.received == 1000


@pytest.mark.parametrize("damage", [b"", b"x" * 10, b"y" * 100_000_000])
def test_a_wrong_beginning_is_fetched_anew(store: BucketReader, office: Publications, damage: bytes) -> None:
    sha256 = file_sha256(office.folder / "a" / CATALOG_DB)
    store.cache.pulling.mkdir()
    (store.cache.pulling / f"{sha256}.part").write_bytes(damage)
    (store.cache.pulling / sha256).write_bytes(damage)
    Snapshot.open(store.local_folder("a"), whole=True)
    assert not store.cache.pulling.exists()


def test_large_files_come_in_ranges(
    store: BucketReader, proxy: FaultyProxy, office: Publications, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloading, "_RANGE", 300_000)
    proxy.plan.set(Fault("cut answer", "GET", FILES, share=0.3, times=5))
    Snapshot.open(store.local_folder("a"), whole=True)
    assert max(fetched(proxy).values()) > 2


def test_a_bucket_that_sends_more_than_it_said_is_not_read_further(
    store: BucketReader, catalog: BucketCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloading, "_PAUSE_S", 0.001)
    monkeypatch.setattr(type(store._catalog.objects), "stream_range", lambda *_: iter([b"x" * 50_000_000] * 1000))
    with pytest.raises(OSError, match="sends more than it was asked for"):
        store.local_folder("a")


def test_a_snapshot_larger_than_its_tools_explain_is_not_fetched(
    store: BucketReader, proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulling, "_MOST_BYTES", 0)
    monkeypatch.setattr(pulling, "_MOST_BYTES_A_TOOL", 10)
    with pytest.raises(SnapshotInvalid, match=r"has at most .* nothing was fetched"):
        store.local_folder("a")
    assert fetched(proxy) == {}


def test_a_full_disk_is_told_of_before_anything_is_fetched(
    store: BucketReader, proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulling, "_SPARE_BYTES", 1 << 60)
    with pytest.raises(SnapshotInvalid, match=r"has no room for a of s3://.* are free"):
        store.local_folder("a")
    assert fetched(proxy) == {}


def test_a_disk_that_fills_up_meanwhile_is_told_of_and_emptied(
    store: BucketReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/cache/file")

    monkeypatch.setattr(downloading, "sync", full)
    with pytest.raises(SnapshotInvalid, match=r"has no room for a of s3://.*No space left"):
        store.local_folder("a")
    assert not store.cache.pulling.exists()


def test_a_snapshot_without_its_files_is_refused(
    store: BucketReader, catalog: BucketCatalog, office: Publications
) -> None:
    catalog.remove("none", {"records.jsonl": files_of(office.folder / "a")["records.jsonl"]})
    with pytest.raises(SnapshotInvalid, match=r"lacks files/[0-9a-f]{64}, a file of a"):
        store.local_folder("a")


def test_closing_ends_a_pull_at_once(store: BucketReader, proxy: FaultyProxy) -> None:
    proxy.plan.set(Fault("hang", "GET", FILES, seconds=60))
    ended = threading.Event()
    errors = []

    def pull() -> None:
        try:
            store.local_folder("a")
        except OSError as error:
            errors.append(error)
        ended.set()

    threading.Thread(target=pull, daemon=True).start()
    while not proxy.plan.counts["hang"]:
        pass
    store.close()
    assert ended.wait(2)
    assert isinstance(errors[0], Stopped)
