"""A router over a bucket follows it, outlives it, starts without it, and mends its own cache."""

import logging
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from quartermaster.serving.http.metrics import Metrics
from router import Router, SettingsInvalid, SnapshotInvalid
from router.contract import CATALOG_DB, CURRENT, MANIFEST
from router.fingerprint import file_sha256
from router.snapshot import reloading
from router.snapshot.snapshot import Snapshot
from router.snapshot.store.bucket import reader
from tests.support.faults import Fault
from tests.support.faulty_proxy import FaultyProxy
from tests.support.object_storage import Bucket
from tests.support.places import ROOT
from tests.support.publishing import Publications, look, sign
from tests.support.uploading import BucketCatalog
from tests.support.waiting import until

Opened = Callable[[], Router]


@pytest.fixture
def own(office: Publications, catalog: BucketCatalog) -> str:
    """Publish `c` with a file that no other snapshot has, which no router reads, and return the file's sha256."""
    path = office.folder / "c" / CATALOG_DB
    path.unlink()
    path.write_bytes(os.urandom(1000))
    sign(office.folder / "c", lambda manifest: manifest["files"].update({CATALOG_DB: file_sha256(path)}))
    catalog.publish(catalog.upload(office.folder / "c"))
    return file_sha256(path)


def cut(path: Path) -> None:
    """Replace a file by its first half. Others may be links to it."""
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content[: len(content) // 2])


def put_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def cached(cache: Path) -> list[str]:
    return sorted(manifest.parent.name for manifest in cache.glob("*/manifest.json"))


def test_a_look_is_one_request_without_a_body(opened: Opened, catalog: BucketCatalog, proxy: FaultyProxy) -> None:
    router = opened()
    look(router)
    proxy.plan.log.clear()
    look(router)
    asked = [(e.method, e.key.rpartition("/")[2], e.status, e.received) for e in proxy.plan.log]
    assert asked == [("GET", "CURRENT", 304, 0)]
    assert router.route("refund").snapshot == "a" and router.reload() is False
    catalog.publish("b")
    assert router.reload() is True and router.route("refund").snapshot == "b"


def test_a_bucket_that_is_away_is_told_of_once_and_comes_back_by_itself(
    opened: Opened, catalog: BucketCatalog, proxy: FaultyProxy, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "router")
    router = opened()
    look(router)
    proxy.refuse()
    for _ in range(3):
        look(router)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "a goes on serving" in caplog.text and "does not answer" in router.refusal
    assert b"quartermaster_publication_refused 1.0" in Metrics(router).exposition()
    assert router.route("refund").snapshot == "a"
    proxy.accept()
    look(router)
    assert router.refusal == ""
    catalog.publish("b")
    look(router)
    assert router.manifest.snapshot == "b"


@pytest.mark.parametrize("key", ["*/CURRENT", "*/manifest.json"])
def test_nobody_waits_for_a_bucket_that_hangs(
    opened: Opened, catalog: BucketCatalog, proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setattr(reader, "_LOOK_REQUEST_S", 30.0)
    monkeypatch.setattr(reloading, "_CLOSING_S", 0.1)
    router = opened()
    catalog.publish("b")
    proxy.plan.set(Fault("hang", "GET", key, seconds=60))
    threading.Thread(target=lambda: look(router), daemon=True).start()
    assert until(lambda: proxy.plan.counts["hang"])
    began = time.monotonic()
    assert router.route("refund").snapshot == "a"
    router.remove([router.tools[0].tool_id])
    router.close()
    assert time.monotonic() - began < 30


def test_a_router_starts_without_the_bucket_with_what_served_last_and_says_so(
    opened: Opened, catalog: BucketCatalog, proxy: FaultyProxy, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "router")
    with opened() as before:
        for name in "ba":
            catalog.publish(name)
            look(before)
    proxy.refuse()
    router = opened()
    look(router)
    assert router.route("refund").snapshot == "a"
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
    opened: Opened,
    own: str,
    catalog: BucketCatalog,
    proxy: FaultyProxy,
    monkeypatch: pytest.MonkeyPatch,
    hanging: tuple[str, str],
) -> None:
    monkeypatch.setattr(reader, "_START_S", 0.3)
    catalog.publish("a")
    opened().close()
    catalog.publish("c")
    proxy.plan.set(Fault("hang", *hanging, seconds=60))
    began = time.monotonic()
    router = opened()
    assert time.monotonic() - began < 30
    assert router.manifest.snapshot == "a" and "c did not come within" in router.refusal
    proxy.plan.set()
    for _ in range(3):
        look(router)
    assert (router.manifest.snapshot, router.refusal) == ("c", "")


def test_what_nobody_has_is_told_of(opened: Opened, proxy: FaultyProxy, bucket: Bucket, tmp_path: Path) -> None:
    with pytest.raises(SnapshotInvalid, match=rf"{bucket.url}/catalogs/none serves no snapshot: none was published"):
        Router.open(f"{bucket.url}/catalogs/none", cache_dir=tmp_path / "cache")
    proxy.refuse()
    with pytest.raises(SnapshotInvalid, match=r"s3://.*CURRENT: the bucket does not answer"):
        opened()


def test_a_start_falls_back_from_what_is_damaged(opened: Opened, own: str, catalog: BucketCatalog) -> None:
    catalog.publish("a")
    opened().close()
    catalog.publish("c")
    catalog.overwrite(own, bytes(1000))
    router = opened()
    assert router.manifest.snapshot == "a" and "is not what its name says" in router.refusal


DAMAGES: dict[str, Callable[[Path], object]] = {
    "cut": lambda folder: cut(folder / "records.jsonl"),
    "missing file": lambda folder: (folder / "name" / "meta.json").unlink(),
    "no manifest": lambda folder: (folder / MANIFEST).unlink(),
    "cut manifest": lambda folder: cut(folder / MANIFEST),
    "extra file": lambda folder: (folder / "name" / "evil.store").write_bytes(b"x"),
    "folder for a file": lambda folder: put_folder(folder / "records.jsonl"),
    "no folder": shutil.rmtree,
    "no cache": lambda folder: shutil.rmtree(folder.parent),
    "damaged CURRENT": lambda folder: (folder.parent / CURRENT).write_bytes(b"../b\xff"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_cache_is_mended_and_never_served(opened: Opened, cache: Path, damage: str) -> None:
    opened().close()
    DAMAGES[damage](cache / "a")
    router = opened()
    assert (router.manifest.snapshot, router.refusal) == ("a", "")
    Snapshot.open(cache / "a", whole=True)


def test_a_damaged_cache_is_not_served_without_the_bucket(opened: Opened, cache: Path, proxy: FaultyProxy) -> None:
    opened().close()
    cut(cache / "a" / "records.jsonl")
    proxy.refuse()
    with pytest.raises(SnapshotInvalid, match=r"does not answer.*; and the cache cannot serve a: .*corrupt"):
        opened()
    (cache / CURRENT).write_text("x" * 5000)
    with pytest.raises(SnapshotInvalid, match="does not answer"):
        opened()


@pytest.mark.parametrize("moment", [("GET", "*/CURRENT"), ("GET", "*/manifest.json"), ("HEAD", "*/{own}")])
def test_a_snapshot_that_is_removed_during_a_pull_gives_way_to_the_newer_one(
    opened: Opened, own: str, catalog: BucketCatalog, proxy: FaultyProxy, cache: Path, moment: tuple[str, str]
) -> None:
    def remove() -> None:
        catalog.publish("b")
        catalog.remove("c", {CATALOG_DB: own})

    proxy.plan.set(Fault("delay", moment[0], moment[1].format(own=own), times=1, act=remove))
    assert opened().manifest.snapshot == "b"
    assert proxy.plan.counts["delay"] == 1 and not (cache / "c").exists()


def test_the_cache_keeps_the_current_snapshot_the_one_before_and_what_another_router_serves(
    opened: Opened, catalog: BucketCatalog, office: Publications, cache: Path
) -> None:
    behind, router = opened(), opened()
    for name in "bc":
        catalog.publish(catalog.upload(office.folder / name))
        look(router)
    assert cached(cache) == ["a", "b", "c"]
    behind.close()
    catalog.publish("b")
    look(router)
    assert cached(cache) == ["b", "c"] and not list(cache.glob(".building-*"))
    router.close()
    opened()
    assert cached(cache) == ["b", "c"]


def test_a_cache_that_cannot_be_made_or_has_no_address_is_refused(
    catalog: BucketCatalog, tmp_path: Path, proxy: FaultyProxy, thin: Path
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsInvalid, match=r"the cache .*file.* cannot be made"):
        Router.open(catalog.url, cache_dir=tmp_path / "file")
    with pytest.raises(SettingsInvalid, match="cache_dir is for an address"):
        Router.open(thin, cache_dir=tmp_path)


def test_a_path_does_not_need_obstore_and_an_address_names_the_extra(thin: Path) -> None:
    script = (
        "import sys; from router import Router, SettingsInvalid\n"
        f"Router.open({str(thin)!r})\n"
        "assert 'obstore' not in sys.modules; sys.modules['obstore'] = None\n"
        f"Router.open({str(thin)!r})\n"
        "try: Router.open('s3://bucket/catalogs/office')\n"
        "except SettingsInvalid as error: print(error)\n"
    )
    told = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "buckets need obstore: pip install '.[bucket]'" in told


def test_a_forked_child_follows_the_cache_that_its_parent_fills(opened: Opened, catalog: BucketCatalog) -> None:
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
