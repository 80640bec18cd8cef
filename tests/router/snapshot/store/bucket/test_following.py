"""A router over a bucket follows it, outlives it, starts without it, and mends its own cache."""

import logging
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from router import Router, SettingsInvalid, SnapshotInvalid
from router.contract import CATALOG_DB, CURRENT, MANIFEST
from router.fingerprint import file_sha256
from router.serving.http.metrics import Metrics
from router.snapshot import reloading
from router.snapshot.snapshot import Snapshot
from router.snapshot.store.bucket import reader
from router.snapshot.store.bucket.place import cache_place
from router.snapshot.store.bucket.reader import BucketReader
from tests.support.faults import Fault
from tests.support.faulty_proxy import FaultyProxy, faulty_proxy
from tests.support.object_storage import Bucket
from tests.support.places import ROOT
from tests.support.publishing import Publications, live, look, sign
from tests.support.uploading import BucketCatalog

REQUEST = "give the customer their money back"


@pytest.fixture
def proxy(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyProxy]:
    monkeypatch.setattr(reader, "_LOOK_PATIENCE_S", 0.2)
    monkeypatch.setattr(reader, "_LOOK_REQUEST_S", 1.0)
    monkeypatch.setattr(reader, "_FILE_PATIENCE_S", 0.2)
    with faulty_proxy(bucket.port) as made:
        for name, value in bucket.through(made.port).environment.items():
            monkeypatch.setenv(name, value)
        yield made


@pytest.fixture
def office(tmp_path: Path, snapshot: Path) -> Publications:
    made = Publications(tmp_path / "built", snapshot)
    for name in ("a", "b", "c"):
        made.add(name)
    return made


@pytest.fixture
def catalog(bucket: Bucket, office: Publications) -> BucketCatalog:
    """A catalog in the bucket with the snapshots `a` and `b`; `a` is current."""
    made = BucketCatalog(bucket)
    for name in ("a", "b"):
        made.upload(office.folder / name)
    made.publish("a")
    return made


@pytest.fixture
def opened(catalog: BucketCatalog, proxy: FaultyProxy, tmp_path: Path) -> Callable[[], Router]:
    """Opens a router over the catalog with one and the same cache."""
    return lambda: Router.open(catalog.url, cache_dir=tmp_path / "cache")


@pytest.fixture
def cache(catalog: BucketCatalog, tmp_path: Path) -> Path:
    return cache_place(catalog.url, tmp_path / "cache")


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_a_router_takes_an_address_and_follows_it(opened: Callable[[], Router], catalog: BucketCatalog) -> None:
    router = opened()
    assert router.route(REQUEST).snapshot == "a"
    assert router.reload() is False
    catalog.publish("b")
    assert router.reload() is True
    assert router.route(REQUEST).snapshot == "b"


def test_a_look_at_an_unchanged_bucket_is_one_request_without_a_body(
    opened: Callable[[], Router], proxy: FaultyProxy
) -> None:
    router = opened()
    look(router)
    proxy.plan.log.clear()
    look(router)
    assert [(e.method, e.key.rpartition("/")[2], e.status, e.received) for e in proxy.plan.log] == [
        ("GET", "CURRENT", 304, 0)
    ]


def test_a_bucket_that_is_away_is_told_of_once_and_comes_back_by_itself(
    opened: Callable[[], Router], catalog: BucketCatalog, proxy: FaultyProxy, caplog: pytest.LogCaptureFixture
) -> None:
    router = opened()
    look(router)
    proxy.refuse()
    with caplog.at_level(logging.WARNING, "router"):
        for _ in range(3):
            look(router)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "a goes on serving" in caplog.text
    assert "does not answer" in router.refusal
    assert b"quartermaster_publication_refused 1.0" in Metrics(router).exposition()
    assert router.route(REQUEST).snapshot == "a"
    proxy.accept()
    look(router)
    assert router.refusal == ""
    catalog.publish("b")
    look(router)
    assert router.manifest.snapshot == "b"


def test_a_failure_in_the_middle_of_a_pull_leaves_the_old_one_serving(
    opened: Callable[[], Router], catalog: BucketCatalog, proxy: FaultyProxy
) -> None:
    router = opened()
    catalog.publish("b")
    proxy.plan.set(Fault("error", "GET", "*/manifest.json"))
    look(router)
    assert router.manifest.snapshot == "a" and router.refusal
    proxy.plan.set()
    for _ in range(4):
        look(router)
    assert router.manifest.snapshot == "b" and not router.refusal


def test_nobody_waits_for_a_bucket_that_hangs(
    opened: Callable[[], Router],
    catalog: BucketCatalog,
    proxy: FaultyProxy,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reader, "_LOOK_REQUEST_S", 30.0)
    with Router.open(catalog.url, cache_dir=tmp_path / "cache", watch=0.01) as router:
        proxy.plan.set(Fault("hang", seconds=60))
        wait_for(lambda: bool(proxy.plan.counts["hang"]))
        began = time.monotonic()
        assert router.route(REQUEST).snapshot == "a"
        router.remove([router.tools[0].tool_id])
        answered = time.monotonic() - began
        monkeypatch.setattr(reloading, "_CLOSING_S", 0.1)
    assert answered < 5
    assert time.monotonic() - began < 5


def test_closing_in_the_middle_of_a_pull_is_no_refusal(
    opened: Callable[[], Router],
    catalog: BucketCatalog,
    office: Publications,
    proxy: FaultyProxy,
    caplog: pytest.LogCaptureFixture,
) -> None:
    router = opened()
    with_own_file(office.folder / "c")
    catalog.publish(catalog.upload(office.folder / "c"))
    proxy.plan.set(Fault("hang", "GET", "*/files/*", seconds=60))
    looking = threading.Thread(target=lambda: look(router), daemon=True)
    looking.start()
    wait_for(lambda: bool(proxy.plan.counts["hang"]))
    with caplog.at_level(logging.WARNING, "router"):
        router.close()
        looking.join(10)
    assert not looking.is_alive()
    assert caplog.text == ""


def test_registered_tools_do_not_wait_for_a_pull(
    opened: Callable[[], Router], catalog: BucketCatalog, proxy: FaultyProxy
) -> None:
    router = opened()
    catalog.publish("b")
    proxy.plan.set(Fault("hang", "GET", "*/manifest.json", seconds=60))
    threading.Thread(target=lambda: look(router), daemon=True).start()
    wait_for(lambda: bool(proxy.plan.counts["hang"]))
    began = time.monotonic()
    router.remove([router.tools[0].tool_id])
    assert time.monotonic() - began < 5
    router.close()


def test_a_look_at_a_bucket_that_hangs_ends(opened: Callable[[], Router], proxy: FaultyProxy) -> None:
    router = opened()
    proxy.plan.set(Fault("hang", seconds=60))
    began = time.monotonic()
    look(router)
    assert time.monotonic() - began < 10
    assert "CURRENT" in router.refusal


def test_a_router_starts_without_the_bucket_and_says_so(
    opened: Callable[[], Router], catalog: BucketCatalog, proxy: FaultyProxy, caplog: pytest.LogCaptureFixture
) -> None:
    opened().close()
    proxy.refuse()
    with caplog.at_level(logging.WARNING, "router"):
        router = opened()
        look(router)
    assert router.route(REQUEST).snapshot == "a"
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "a of the cache serves" in caplog.text and "does not answer" in router.refusal
    proxy.accept()
    look(router)
    assert (router.manifest.snapshot, router.refusal) == ("a", "")
    catalog.publish("b")
    look(router)
    assert router.manifest.snapshot == "b"


@pytest.mark.parametrize("hanging", [("GET", "*/manifest.json"), ("HEAD", "*/files/*"), ("GET", "*/files/*")])
def test_a_router_starts_in_time_where_a_newer_snapshot_does_not_come(
    opened: Callable[[], Router],
    catalog: BucketCatalog,
    office: Publications,
    proxy: FaultyProxy,
    monkeypatch: pytest.MonkeyPatch,
    hanging: tuple[str, str],
) -> None:
    monkeypatch.setattr(reader, "_START_S", 1.0)
    opened().close()
    with_own_file(office.folder / "c")
    catalog.publish(catalog.upload(office.folder / "c"))
    proxy.plan.set(Fault("hang", *hanging, seconds=60))
    began = time.monotonic()
    router = opened()
    assert time.monotonic() - began < 5
    assert router.manifest.snapshot == "a" and "c did not come within 1 s" in router.refusal
    proxy.plan.set()
    for _ in range(3):
        look(router)
    assert (router.manifest.snapshot, router.refusal) == ("c", "")


def test_what_serves_from_the_cache_is_what_served_last(
    opened: Callable[[], Router], catalog: BucketCatalog, proxy: FaultyProxy
) -> None:
    router = opened()
    catalog.publish("b")
    look(router)
    catalog.publish("a")
    look(router)
    proxy.refuse()
    assert opened().manifest.snapshot == "a"


def test_without_the_bucket_and_with_an_empty_cache_there_is_no_snapshot(
    opened: Callable[[], Router], proxy: FaultyProxy
) -> None:
    proxy.refuse()
    with pytest.raises(SnapshotInvalid, match=r"s3://.*CURRENT: the bucket does not answer"):
        opened()


def test_an_address_without_a_catalog_is_told_of(proxy: FaultyProxy, bucket: Bucket, tmp_path: Path) -> None:
    with pytest.raises(SnapshotInvalid, match=rf"{bucket.url}/catalogs/none serves no snapshot: none was published"):
        Router.open(f"{bucket.url}/catalogs/none", cache_dir=tmp_path / "cache")


def test_a_snapshot_that_the_bucket_has_damaged_is_refused_at_the_start_for_the_one_before(
    opened: Callable[[], Router], catalog: BucketCatalog, office: Publications
) -> None:
    opened().close()
    sha256 = with_own_file(office.folder / "c")
    catalog.publish(catalog.upload(office.folder / "c"))
    catalog.overwrite(sha256, bytes(1000))
    router = opened()
    assert router.manifest.snapshot == "a"
    assert "is not what its name says" in router.refusal


@pytest.mark.parametrize(
    "damage", ["cut", "missing file", "no manifest", "cut manifest", "extra file", "folder for a file", "no folder"]
)
def test_a_damaged_cache_is_mended_and_never_served(opened: Callable[[], Router], cache: Path, damage: str) -> None:
    opened().close()
    folder = cache / "a"
    match damage:
        case "cut":
            cut(folder / "records.jsonl")
        case "missing file":
            (folder / "name" / "meta.json").unlink()
        case "no manifest":
            (folder / MANIFEST).unlink()
        case "cut manifest":
            cut(folder / MANIFEST)
        case "extra file":
            (folder / "name" / "evil.store").write_bytes(b"x")
        case "folder for a file":
            (folder / "records.jsonl").unlink()
            (folder / "records.jsonl").mkdir()
        case "no folder":
            shutil.rmtree(folder)
    router = opened()
    assert (router.manifest.snapshot, router.refusal) == ("a", "")
    Snapshot.open(folder, whole=True)


def test_a_router_follows_on_after_its_cache_was_removed(
    opened: Callable[[], Router], catalog: BucketCatalog, cache: Path
) -> None:
    router = opened()
    shutil.rmtree(cache.parent)
    catalog.publish("b")
    look(router)
    assert router.route(REQUEST).snapshot == "b"


def test_a_damaged_cache_is_not_served_without_the_bucket(
    opened: Callable[[], Router], cache: Path, proxy: FaultyProxy
) -> None:
    opened().close()
    cut(cache / "a" / "records.jsonl")
    proxy.refuse()
    with pytest.raises(SnapshotInvalid, match=r"does not answer.*; and the cache cannot serve a: .*corrupt"):
        opened()


@pytest.mark.parametrize("text", ["", "../b", "\xff", "none", "x" * 5000])
def test_a_damaged_current_of_the_cache_is_written_anew(opened: Callable[[], Router], cache: Path, text: str) -> None:
    opened().close()
    (cache / CURRENT).write_bytes(text.encode("latin-1"))
    assert opened().manifest.snapshot == "a"
    assert (cache / CURRENT).read_text() == "a\n"


def test_a_damaged_current_of_the_cache_is_no_snapshot_without_the_bucket(
    opened: Callable[[], Router], cache: Path, proxy: FaultyProxy
) -> None:
    opened().close()
    (cache / CURRENT).write_text("x" * 5000)
    proxy.refuse()
    with pytest.raises(SnapshotInvalid, match="does not answer"):
        opened()


def test_a_snapshot_named_like_a_file_of_the_cache_leaves_the_cache_whole(
    opened: Callable[[], Router], catalog: BucketCatalog, office: Publications
) -> None:
    opened().close()
    office.add("bucket")
    catalog.upload(office.folder / "bucket")
    catalog.publish("bucket")
    with opened() as router:
        assert router.manifest.snapshot == "a"
    catalog.publish("b")
    with opened() as router:
        assert router.manifest.snapshot == "b"


def cut(path: Path) -> None:
    """Replace a file by its first half. Others may be links to it."""
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content[: len(content) // 2])


@pytest.mark.parametrize("gone", ["manifest", "file before its size", "file after its size"])
def test_a_snapshot_that_is_removed_during_a_pull_gives_way_to_the_newer_one(
    opened: Callable[[], Router],
    catalog: BucketCatalog,
    office: Publications,
    proxy: FaultyProxy,
    cache: Path,
    gone: str,
) -> None:
    sha256 = with_own_file(office.folder / "c")
    catalog.publish(catalog.upload(office.folder / "c"))

    def remove() -> None:
        catalog.publish("b")
        catalog.remove("c", {CATALOG_DB: sha256})

    moment = {"manifest": ("GET", "*/CURRENT"), "file before its size": ("GET", "*/manifest.json")}
    proxy.plan.set(Fault("delay", *moment.get(gone, ("HEAD", f"*/{sha256}")), times=1, act=remove))
    assert opened().manifest.snapshot == "b"
    assert proxy.plan.counts["delay"] == 1
    assert not (cache / "c").exists()


def with_own_file(folder: Path) -> str:
    """Give a snapshot a file that no other one has, which no router reads, and return its sha256."""
    path = folder / CATALOG_DB
    path.unlink()
    path.write_bytes(os.urandom(1000))
    sign(folder, lambda manifest: manifest["files"].update({CATALOG_DB: file_sha256(path)}))
    return file_sha256(path)


def test_the_cache_keeps_the_current_snapshot_and_the_one_before(
    opened: Callable[[], Router], catalog: BucketCatalog, office: Publications, cache: Path
) -> None:
    router = opened()
    for name in ("b", "c"):
        catalog.upload(office.folder / name)
        catalog.publish(name)
        look(router)
    assert sorted(manifest.parent.name for manifest in cache.glob("*/manifest.json")) == ["b", "c"]
    assert not list(cache.glob(".building-*"))
    router.close()
    opened()
    assert sorted(manifest.parent.name for manifest in cache.glob("*/manifest.json")) == ["b", "c"]


def test_a_snapshot_that_another_router_serves_stays_in_the_cache(
    opened: Callable[[], Router], catalog: BucketCatalog, office: Publications, cache: Path
) -> None:
    behind, router = opened(), opened()
    for name in ("b", "c"):
        catalog.upload(office.folder / name)
        catalog.publish(name)
        look(router)
    assert (cache / "a" / MANIFEST).is_file()
    behind.close()
    catalog.publish("b")
    look(router)
    assert not (cache / "a").exists()


def test_a_forked_child_follows_the_cache_that_its_parent_fills(
    opened: Callable[[], Router], catalog: BucketCatalog
) -> None:
    router = opened()
    ready, go = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            look(router)
            os.write(ready[1], b".")
            os.read(go[0], 1)
            look(router)
            status = 0 if router.manifest.snapshot == "b" and not router.refusal else 2
        finally:
            os._exit(status)
    assert os.read(ready[0], 1) == b"."
    catalog.publish("b")
    look(router)
    assert router.manifest.snapshot == "b"
    os.write(go[1], b".")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    for descriptor in (*ready, *go):
        os.close(descriptor)


def test_a_router_is_freed_with_what_it_holds(opened: Callable[[], Router], cache: Path) -> None:
    import gc

    router = opened()
    store = live(router)._store
    assert isinstance(store, BucketReader) and store.cache._held
    held = dict(store.cache._held)
    del router, store
    gc.collect()
    for descriptor in held.values():
        with pytest.raises(OSError):
            os.fstat(descriptor)


def test_a_cache_dir_without_an_address_is_refused(office: Publications, tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid, match="cache_dir is for an address"):
        Router.open(office.folder / "a", cache_dir=tmp_path)


def test_a_cache_that_cannot_be_made_is_named(catalog: BucketCatalog, tmp_path: Path, proxy: FaultyProxy) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsInvalid, match=r"the cache .*file.* cannot be made"):
        Router.open(catalog.url, cache_dir=tmp_path / "file")


def test_without_obstore_an_address_names_the_extra_and_a_path_needs_none(office: Publications, tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['obstore'] = None\n"
        "from router import Router, SettingsInvalid\n"
        f"Router.open({str(office.folder / 'a')!r})\n"
        "try: Router.open('s3://bucket/catalogs/office')\n"
        "except SettingsInvalid as error: print(error)\n"
    )
    environment = {**os.environ, "QUARTERMASTER_CACHE": str(tmp_path)}
    told = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    ).stdout
    assert "buckets need obstore: pip install 'tool-quartermaster[bucket]'" in told


def test_a_path_does_not_import_obstore(office: Publications) -> None:
    script = f"import sys; from router import Router; Router.open({str(office.folder / 'a')!r}); print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "obstore" not in modules.stdout.split()
