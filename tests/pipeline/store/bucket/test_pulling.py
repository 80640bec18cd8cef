"""A pull brings what the cache lacks, whole and verified, or nothing."""

import errno
import shutil
import stat
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.store import SnapshotStore
from router import Router, SettingsInvalid, SnapshotInvalid
from router.contract import CATALOG_DB, MANIFEST, SIGNATURE, Manifest
from router.fingerprint import file_sha256
from router.snapshot.snapshot import Snapshot
from router.snapshot.store.bucket import downloading, pulling
from router.snapshot.store.bucket.objects import Objects, ObjectUnavailable
from router.snapshot.store.bucket.reader import BucketReader
from router.snapshot.store.bucket.url import cache_place
from tests.support.faults import Fault
from tests.support.faulty_proxy import FaultyProxy
from tests.support.publishing import Publications, corrupt, sign
from tests.support.uploading import BucketCatalog

FILES = "*/files/*"


@pytest.fixture
def store(catalog: BucketCatalog, proxy: FaultyProxy, tmp_path: Path) -> BucketReader:
    return BucketReader(catalog.url, tmp_path / "cache" / "snapshots" / "office")


def sha256_of(folder: Path, name: str) -> str:
    return Manifest.read(folder).files[name]


def fetched(proxy: FaultyProxy) -> Counter[str]:
    """Return how often each file was asked for."""
    return Counter(e.key.rpartition("/")[2] for e in proxy.plan.log if e.method == "GET" and "/files/" in e.key)


def test_a_pull_makes_a_catalog_of_read_only_files(store: BucketReader, office: Publications) -> None:
    folder = store.local_folder("a")
    Snapshot.open(folder, whole=True)
    assert (folder / MANIFEST).read_bytes() == (office.folder / "a" / MANIFEST).read_bytes()
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert {str(path.relative_to(folder)) for path in files} == {*Manifest.read(folder).files, MANIFEST}
    assert not any(stat.S_IMODE(path.stat().st_mode) & 0o222 for path in files)
    store.serves("a")
    local = SnapshotStore.at(store.cache.folder)
    assert local.current() == "a" and [stored.name for stored in local.snapshots()] == ["a"]
    assert Router.open(store.cache.folder).manifest.snapshot == "a"


def test_each_address_has_a_cache_of_its_own_in_a_folder_that_the_environment_names(
    store: BucketReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = (cache_place(f"s3://{bucket}/catalogs/demo", tmp_path) for bucket in ("one", "other"))
    assert one != other and one.name == other.name == "demo"
    assert one == cache_place("s3://one/catalogs/demo/", tmp_path)
    monkeypatch.setenv("QUARTERMASTER_CACHE_DIR", str(tmp_path / "named"))
    assert cache_place("s3://bucket/office").is_relative_to(tmp_path / "named")
    assert not cache_place("s3://bucket/office", tmp_path / "given").is_relative_to(tmp_path / "named")
    store.local_folder("a")
    with pytest.raises(SettingsInvalid, match=r"caches s3://.*/office: name another for s3://bucket/other"):
        BucketReader("s3://bucket/other", store.cache.folder)


def test_whole_files_are_linked_and_damaged_fetched(
    store: BucketReader, office: Publications, proxy: FaultyProxy
) -> None:
    one = store.local_folder("a")
    broken = corrupt(one).relative_to(one)
    proxy.plan.log.clear()
    other = store.local_folder("b")
    Snapshot.open(other, whole=True)
    assert list(fetched(proxy)) == [sha256_of(office.folder / "b", str(broken))]
    assert (other / CATALOG_DB).samefile(one / CATALOG_DB)


@pytest.mark.parametrize("kind", ["flip answer", "cut answer", "break", "slow down", "error"])
def test_a_fault_on_the_way_is_no_damage(store: BucketReader, proxy: FaultyProxy, kind: Any) -> None:
    damage = () if kind != "flip answer" else (Fault(kind, "GET", "*/manifest.json", times=1),)
    proxy.plan.set(*damage, Fault(kind, "GET", FILES, times=2), Fault(kind, "HEAD", FILES, times=2))
    Snapshot.open(store.local_folder("a"), whole=True)
    assert proxy.plan.counts[kind] >= 3


def test_an_object_with_a_wrong_content_is_refused_after_three_tries(
    store: BucketReader, catalog: BucketCatalog, office: Publications, proxy: FaultyProxy
) -> None:
    sha256 = sha256_of(office.folder / "a", "records.jsonl")
    catalog.overwrite(sha256, b"x" * (office.folder / "a" / "records.jsonl").stat().st_size)
    with pytest.raises(SnapshotInvalid, match=rf"files/{sha256} is not what its name says"):
        store.local_folder("a")
    assert fetched(proxy)[sha256] == 3
    assert not (store.cache.folder / "a").exists()
    catalog.remove("none", {"records.jsonl": sha256})
    with pytest.raises(SnapshotInvalid, match=rf"lacks files/{sha256}, a file of a"):
        store.local_folder("a")


def test_an_object_of_another_size_than_the_manifest_s_is_refused_before_any_is_fetched(
    store: BucketReader, catalog: BucketCatalog, office: Publications, proxy: FaultyProxy
) -> None:
    folder = office.folder / "a"
    sha256, size = sha256_of(folder, "records.jsonl"), (folder / "records.jsonl").stat().st_size
    sign(folder, lambda manifest: manifest.update(sizes={sha256: size}))
    catalog.upload(folder)
    catalog.overwrite(sha256, b"x" * (size + 1))
    with pytest.raises(SnapshotInvalid, match=rf"it has {size + 1:,} bytes, and the manifest of a says {size:,}"):
        store.local_folder("a")
    assert not fetched(proxy)


def test_the_manifest_of_another_is_refused(store: BucketReader, catalog: BucketCatalog, office: Publications) -> None:
    catalog.upload(Path(shutil.copytree(office.folder / "b", office.folder / "d")))
    with pytest.raises(SnapshotInvalid, match="has the manifest of 'b' in the place of d's"):
        store.local_folder("d")


@pytest.mark.parametrize("name", [MANIFEST, SIGNATURE])
def test_a_manifest_that_lists_itself_writes_into_no_other_snapshot(
    store: BucketReader, catalog: BucketCatalog, office: Publications, name: str
) -> None:
    records = store.local_folder("a") / "records.jsonl"
    before = records.read_bytes()
    shutil.copyfile(office.folder / "b" / "records.jsonl", office.folder / "b" / SIGNATURE)
    sha256 = sha256_of(office.folder / "b", "records.jsonl")
    sign(office.folder / "b", lambda manifest: manifest["files"].update({name: sha256}))
    catalog.upload(office.folder / "b")
    with pytest.raises(SnapshotInvalid, match=rf"lists {name}, which cannot be a file of a snapshot"):
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
    assert list(fetched(proxy)) == [sha256_of(office.folder / "a", "records.jsonl")]


def test_a_name_that_leads_elsewhere_is_refused(store: BucketReader) -> None:
    for name in ("../a", "a/b", "", ".pulling", "a\n", "CURRENT", "bucket", "state.json"):
        with pytest.raises(SnapshotInvalid, match="has no snapshot"):
            store.local_folder(name)


def test_what_a_broken_off_pull_has_fetched_is_not_fetched_again(
    store: BucketReader, proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloading, "_PAUSE_S", 0.001)
    proxy.plan.set(Fault("error", "GET", FILES, skip=6))
    with pytest.raises(OSError, match="does not answer as it should"):
        store.local_folder("a")
    kept = {path.name for path in store.cache.pulling.iterdir() if not path.suffix and path.is_file()}
    assert len(kept) >= 3
    proxy.plan.set()
    proxy.plan.log.clear()
    Snapshot.open(store.local_folder("a"), whole=True)
    assert kept.isdisjoint(fetched(proxy))


@pytest.mark.parametrize(
    ("part", "received"), [(-1000, 1000), (b"", None), (b"x" * 10, None), (b"y" * 100_000, None)], ids=str
)
def test_a_file_is_continued_where_it_broke_off_and_a_wrong_beginning_fetched_anew(
    store: BucketReader, office: Publications, proxy: FaultyProxy, part: Any, received: int | None
) -> None:
    content = (office.folder / "a" / CATALOG_DB).read_bytes()
    sha256 = file_sha256(office.folder / "a" / CATALOG_DB)
    store.cache.pulling.mkdir()
    if isinstance(part, int):
        part = content[:part]
    else:
        (store.cache.pulling / sha256).write_bytes(part)
    (store.cache.pulling / f"{sha256}.part").write_bytes(part)
    Snapshot.open(store.local_folder("a"), whole=True)
    assert not store.cache.pulling.exists()
    if received is not None:
        (entry,) = [entry for entry in proxy.plan.log if entry.method == "GET" and entry.key.endswith(sha256)]
        assert entry.received == received


def test_a_line_that_breaks_off_often_brings_the_file(store: BucketReader, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Objects.stream_range

    def broken_off(objects: Objects, name: str, start: int, length: int) -> Iterator[bytes]:
        yield from whole(objects, name, start, min(length, 1_000))
        if length > 1_000:
            raise ObjectUnavailable("the line broke off")

    monkeypatch.setattr(Objects, "stream_range", broken_off)
    Snapshot.open(store.local_folder("a"), whole=True)


def test_a_bucket_that_sends_too_much_is_not_read_on(store: BucketReader, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    def stream(*_: object) -> Any:
        for number in range(1_000):
            read.append(number)
            yield b"x" * 50_000

    monkeypatch.setattr(downloading, "_PAUSE_S", 0.001)
    monkeypatch.setattr(type(store._catalog.objects), "stream_range", stream)
    with pytest.raises(OSError, match="sends more than it was asked for"):
        store.local_folder("a")
    assert len(read) < 100


def test_what_is_too_large_for_its_tools_or_for_the_disk_is_not_fetched(
    store: BucketReader, proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(pulling, "_MOST_BYTES", 0)
        patched.setattr(pulling, "_MOST_BYTES_A_TOOL", 10)
        with pytest.raises(SnapshotInvalid, match=r"has at most .* nothing was fetched"):
            store.local_folder("a")
    monkeypatch.setattr(pulling, "_SPARE_BYTES", 1 << 60)
    with pytest.raises(SnapshotInvalid, match=r"has no room for a of s3://.* are free"):
        store.local_folder("a")
    assert fetched(proxy) == {}


def test_a_disk_that_fills_up_is_told_of_and_emptied(store: BucketReader, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/cache/file")

    monkeypatch.setattr(downloading, "sync", full)
    with pytest.raises(SnapshotInvalid, match=r"has no room for a of s3://.*No space left"):
        store.local_folder("a")
    assert not store.cache.pulling.exists()
