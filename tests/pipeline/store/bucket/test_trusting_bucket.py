"""With trusted keys, neither a bucket's owner nor a cache makes a router serve what the keys did not sign."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.store import Signing, SnapshotStore, decisions, sign_manifest
from pipeline.store.bucket.store import BucketStore
from pipeline.store.bucket.uploading import add_signatures
from pipeline.store.private_keys import generate
from router import Router
from router.contract import POINTER_SIGNATURE, SIGNATURE
from router.signing.envelope import Envelope
from tests.support.bare_snapshots import write_bare_snapshot
from tests.support.faults import Fault
from tests.support.faulty_proxy import FaultyProxy
from tests.support.object_storage import Bucket
from tests.support.publishing import look, sign
from tests.support.signing import SignedOffice
from tests.support.uploading import BucketCatalog

Stores = Callable[..., BucketStore]
Opened = Callable[[], Router]


@pytest.fixture
def office(tmp_path: Path, thin: Path) -> SignedOffice:
    """Three signed snapshots, numbered 1 to 3, of which the second serves."""
    (tmp_path / "built").mkdir()
    made = SignedOffice(tmp_path / "built", thin)
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
def opened(catalog: BucketCatalog, proxy: FaultyProxy, office: SignedOffice, tmp_path: Path) -> Opened:
    """Opens a router that trusts the office's key, with one and the same cache and trust state."""
    return lambda: Router.open(
        catalog.url, cache_dir=tmp_path / "cache", trusted_keys=office.keys, trust_state=tmp_path / "trust.json"
    )


def test_a_signed_one_follows_whatever_pointer_nobody_trusts(opened: Opened, catalog: BucketCatalog) -> None:
    catalog.head = replace(catalog.head, pointer="{}")
    catalog.publish("second", "{}")
    router = opened()
    assert router.manifest.snapshot == "second"
    catalog.publish("third")
    look(router)
    assert (router.manifest.snapshot, router.refusal) == ("third", "")


def _forge(office: SignedOffice) -> str:
    return office.add("forged", sequence=9).name


def _change(office: SignedOffice) -> str:
    sign(office.folder / "third", lambda manifest: manifest["recipe"].update(depth=1))
    return "third"


@pytest.mark.parametrize(
    ("attack", "told"),
    [
        (_forge, "forged is not signed by a trusted key"),
        (_change, "was changed after it was signed"),
        (lambda office: "first", "first has number 1, and second with number 2 has served"),
    ],
    ids=["unsigned", "changed", "set back"],
)
def test_the_owner_of_a_bucket_makes_nothing_serve_or_be_fetched_that_was_not_signed(
    opened: Opened,
    catalog: BucketCatalog,
    office: SignedOffice,
    proxy: FaultyProxy,
    attack: Callable[[SignedOffice], str],
    told: str,
) -> None:
    router = opened()
    catalog.publish(catalog.upload(office.folder / attack(office)))
    proxy.plan.log.clear()
    look(router)
    assert router.manifest.snapshot == "second" and told in " ".join(router.refusal.split())
    assert not [entry for entry in proxy.plan.log if "/files/" in entry.key]
    router.close()
    with opened() as again:
        assert again.manifest.snapshot == "second" and again.refusal, "nor after a restart"


def test_an_operator_goes_back_by_a_signed_pointer_which_the_cache_keeps(
    opened: Opened, catalog: BucketCatalog, office: SignedOffice, tmp_path: Path, proxy: FaultyProxy, cache: Path
) -> None:
    router = opened()
    decisions.rollback(SnapshotStore(tmp_path / "built", "office"), Signing(office.signer))
    catalog.publish("first", (office.folder / POINTER_SIGNATURE).read_text())
    look(router)
    assert (router.manifest.snapshot, router.refusal) == ("first", "")
    proxy.refuse()
    assert opened().manifest.snapshot == "first"
    assert (cache / POINTER_SIGNATURE).is_file()


def test_a_signature_that_comes_later_is_found_at_the_next_publication(
    opened: Opened, catalog: BucketCatalog, office: SignedOffice, cache: Path, tmp_path: Path
) -> None:
    router = opened()
    signature = cache / "second" / SIGNATURE
    sign_manifest(office.folder / "second", generate(tmp_path / "second.pem"))
    catalog.upload(office.folder / "second")
    assert router.reload() is False
    assert len(Envelope.from_json(signature.read_bytes()).signatures) == 1
    catalog.publish("second")
    assert router.reload() is False
    assert len(Envelope.from_json(signature.read_bytes()).signatures) == 2
    router.close()
    signature.unlink()
    assert opened().manifest.snapshot == "second" and signature.is_file()


def test_a_start_without_the_bucket_checks_as_much(
    opened: Opened, catalog: BucketCatalog, cache: Path, proxy: FaultyProxy, tmp_path: Path
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
    (cache / "second" / SIGNATURE).unlink()
    with pytest.raises(Exception, match=r"the cache cannot serve second: .* is not signed by a trusted key"):
        opened()


def test_signatures_of_one_manifest_lie_side_by_side(stores: Stores, tmp_path: Path, proxy: FaultyProxy) -> None:
    def signed_by() -> set[str]:
        return {signature.keyid for signature in Envelope.from_json(store.signature("a") or b"").signatures}

    one, two = generate(tmp_path / "one.pem"), generate(tmp_path / "two.pem")
    store = stores()
    for signer, content, lost, expected in (
        (one, b"1", 0, {one.public.key_id}),
        (two, b"1", 1, {one.public.key_id, two.public.key_id}),
        (two, b"2", 0, {two.public.key_id}),
    ):
        folder = write_bare_snapshot(tmp_path / "built/a", {"x": content})
        (folder / SIGNATURE).unlink(missing_ok=True)
        sign_manifest(folder, signer)
        proxy.plan.set(Fault("lost answer", "PUT", "*/manifest.sig.json", times=lost))
        add_signatures(store.objects, "a", (folder / SIGNATURE).read_bytes())
        assert signed_by() == expected
    assert proxy.plan.counts["lost answer"] == 1
