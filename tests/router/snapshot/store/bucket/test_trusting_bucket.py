"""With trusted keys, neither a bucket's owner nor a cache makes a router serve what the keys did not sign."""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from router import Router, SnapshotUntrusted
from router.contract import POINTER_SIGNATURE, SIGNATURE
from router.snapshot.store.bucket import reader
from router.snapshot.store.bucket.place import cache_place
from router.store import Signing as By
from router.store import SnapshotStore, decisions
from tests.support.faulty_proxy import FaultyProxy, faulty_proxy
from tests.support.object_storage import Bucket
from tests.support.publishing import look, sign
from tests.support.signing import SignedOffice
from tests.support.uploading import BucketCatalog


@pytest.fixture
def proxy(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyProxy]:
    monkeypatch.setattr(reader, "_LOOK_PATIENCE_S", 0.2)
    with faulty_proxy(bucket.port) as made:
        for name, value in bucket.through(made.port).environment.items():
            monkeypatch.setenv(name, value)
        yield made


@pytest.fixture
def office(tmp_path: Path, snapshot: Path) -> SignedOffice:
    """Three signed snapshots, numbered 1 to 3, of which the second serves."""
    (tmp_path / "built").mkdir()
    made = SignedOffice(tmp_path / "built", snapshot)
    for name in ("first", "second", "third"):
        made.signed(name)
    made.publish("second")
    return made


@pytest.fixture
def catalog(bucket: Bucket, office: SignedOffice) -> BucketCatalog:
    """All three in the bucket, of which the second serves."""
    made = BucketCatalog(bucket)
    for name in ("first", "second", "third"):
        made.upload(office.folder / name)
    made.publish("second")
    return made


@pytest.fixture
def opened(catalog: BucketCatalog, proxy: FaultyProxy, office: SignedOffice, tmp_path: Path) -> Callable[[], Router]:
    """Opens a router that trusts the office's key, with one and the same cache and trust state."""
    return lambda: Router.open(
        catalog.url, cache_dir=tmp_path / "cache", trusted_keys=office.keys, trust_state=tmp_path / "trust.json"
    )


@pytest.fixture
def cache(catalog: BucketCatalog, tmp_path: Path) -> Path:
    return cache_place(catalog.url, tmp_path / "cache")


def test_a_signed_snapshot_serves_and_a_newer_one_follows(opened: Callable[[], Router], catalog: BucketCatalog) -> None:
    router = opened()
    assert router.manifest.snapshot == "second"
    catalog.publish("third")
    look(router)
    assert (router.manifest.snapshot, router.refusal) == ("third", "")


def test_the_owner_of_a_bucket_cannot_make_an_unsigned_snapshot_serve_nor_be_fetched(
    opened: Callable[[], Router], catalog: BucketCatalog, office: SignedOffice, proxy: FaultyProxy
) -> None:
    router = opened()
    catalog.publish(catalog.upload(office.add("forged", sequence=9)))
    proxy.plan.log.clear()
    look(router)
    assert router.manifest.snapshot == "second"
    assert "forged is not signed by a trusted key" in router.refusal
    assert not [entry for entry in proxy.plan.log if "/files/" in entry.key]


def test_nor_change_what_was_signed(opened: Callable[[], Router], catalog: BucketCatalog, office: SignedOffice) -> None:
    router = opened()
    sign(office.folder / "third", lambda manifest: manifest["recipe"].update(depth=1))
    catalog.publish(catalog.upload(office.folder / "third"))
    look(router)
    assert router.manifest.snapshot == "second"
    assert "was changed after it was signed" in router.refusal


def test_nor_set_it_back(opened: Callable[[], Router], catalog: BucketCatalog, proxy: FaultyProxy) -> None:
    router = opened()
    catalog.publish("first")
    proxy.plan.log.clear()
    look(router)
    assert "first has number 1, and second with number 2 has served" in " ".join(router.refusal.split())
    assert not [entry for entry in proxy.plan.log if "/files/" in entry.key]


def test_nor_after_a_restart(opened: Callable[[], Router], catalog: BucketCatalog) -> None:
    opened().close()
    catalog.publish("first")
    router = opened()
    assert router.manifest.snapshot == "second"
    assert "has number 1" in router.refusal


def test_nor_serve_a_snapshot_of_another_catalog(
    catalog: BucketCatalog, proxy: FaultyProxy, office: SignedOffice, tmp_path: Path
) -> None:
    with pytest.raises(SnapshotUntrusted, match="of the catalog 'office', and 'wiki' is expected"):
        Router.open(catalog.url, cache_dir=tmp_path / "cache", trusted_keys=office.keys, catalog="wiki")


def test_an_operator_goes_back_by_a_signed_pointer_which_the_cache_keeps(
    opened: Callable[[], Router],
    catalog: BucketCatalog,
    office: SignedOffice,
    tmp_path: Path,
    proxy: FaultyProxy,
    cache: Path,
) -> None:
    router = opened()
    decisions.rollback(SnapshotStore(tmp_path / "built", "office"), By(office.signer))
    catalog.publish("first", (office.folder / POINTER_SIGNATURE).read_text())
    look(router)
    assert (router.manifest.snapshot, router.refusal) == ("first", "")
    proxy.refuse()
    assert opened().manifest.snapshot == "first"
    proxy.accept()
    assert (cache / POINTER_SIGNATURE).is_file()


def test_a_signature_that_comes_later_is_found(
    opened: Callable[[], Router], catalog: BucketCatalog, office: SignedOffice, cache: Path
) -> None:
    opened().close()
    for folder in (office.folder, cache):
        (folder / "second" / SIGNATURE).rename(folder / "kept")
    catalog.publish("second")
    assert opened().manifest.snapshot == "second"


def test_the_start_without_the_bucket_checks_the_signature(
    opened: Callable[[], Router], cache: Path, proxy: FaultyProxy
) -> None:
    opened().close()
    (cache / "second" / SIGNATURE).unlink()
    proxy.refuse()
    with pytest.raises(Exception, match=r"the cache cannot serve second: .* is not signed by a trusted key"):
        opened()


def test_the_start_without_the_bucket_checks_the_trust_state(
    opened: Callable[[], Router], catalog: BucketCatalog, cache: Path, proxy: FaultyProxy, tmp_path: Path
) -> None:
    router = opened()
    shutil.copytree(cache, tmp_path / "old")
    catalog.publish("third")
    look(router)
    router.close()
    shutil.rmtree(cache)
    (tmp_path / "old").rename(cache)
    proxy.refuse()
    assert json.loads((tmp_path / "trust.json").read_text())["office"]["counter"] == 3
    with pytest.raises(Exception, match=r"the cache cannot serve second: .* third with number 3 has served"):
        opened()


def test_a_pointer_in_the_bucket_that_nobody_trusts_changes_nothing(
    opened: Callable[[], Router], catalog: BucketCatalog
) -> None:
    catalog.head = replace(catalog.head, pointer="{}")
    catalog.publish("second", "{}")
    assert opened().manifest.snapshot == "second"
