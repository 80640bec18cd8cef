"""Signatures in a bucket: what an operator signs, routers with trusted keys accept."""

from collections.abc import Callable
from pathlib import Path

import pytest

from router import Router
from router.errors import SettingsInvalid
from router.signing.envelope import Envelope
from router.signing.private_keys import generate
from router.snapshot.store.bucket.signatures import add_signatures
from router.snapshot.store.bucket.store import BucketStore
from router.store import Signing, decisions, sign_manifest
from tests.support.bare_snapshots import write_bare_snapshot
from tests.support.faults import Fault
from tests.support.faulty_proxy import FaultyProxy
from tests.support.signing import SignedOffice

Stores = Callable[..., BucketStore]


@pytest.fixture
def office(tmp_path: Path, snapshot: Path, stores: Stores) -> SignedOffice:
    """Signed snapshots "a" and "b" in the bucket, the second of which is current."""
    (tmp_path / "built").mkdir()
    made = SignedOffice(tmp_path / "built", snapshot)
    store = stores()
    for name in "ab":
        store.upload(made.signed(name))
    store.publish("b")
    return made


def test_a_signed_rollback_is_followed_by_routers_that_trust_the_key(
    office: SignedOffice, stores: Stores, tmp_path: Path
) -> None:
    store = stores("operator")
    options = {"trusted_keys": office.keys, "cache_dir": tmp_path / "cache"}
    with Router.open(store.label, **options) as router:  # type: ignore[arg-type]
        assert router.manifest.snapshot == "b"
        with pytest.raises(SettingsInvalid, match="give --sign-key FILE"):
            decisions.rollback(store)
        assert store.current() == "b"
        decisions.rollback(store, Signing(office.signer))
        assert router.reload() and router.manifest.snapshot == "a"
    assert stores("build").take_sequence() == 4  # the pointer took number 3


def test_a_snapshot_is_signed_without_being_there_and_both_keys_count(
    office: SignedOffice, stores: Stores, tmp_path: Path, proxy: FaultyProxy
) -> None:
    second = generate(tmp_path / "second.pem")
    folder = office.folder / "b"
    ours = Envelope.from_json(stores().signature("b") or b"")
    (folder / "manifest.sig.json").unlink()
    sign_manifest(folder, second)
    proxy.plan.set(Fault("lost answer", "PUT", "*/manifest.sig.json", times=1))
    add_signatures(stores().objects, "b", (folder / "manifest.sig.json").read_bytes())
    assert proxy.plan.counts["lost answer"] == 1
    both = Envelope.from_json(stores().signature("b") or b"")
    assert {key for key, _ in both.signatures} == {key for key, _ in ours.signatures} | {second.public.key_id}


def test_a_signature_of_another_manifest_is_replaced(stores: Stores, tmp_path: Path) -> None:
    one, two = generate(tmp_path / "one.pem"), generate(tmp_path / "two.pem")
    store = stores()
    for signer, content in ((one, b"1"), (two, b"2")):
        folder = write_bare_snapshot(tmp_path / "built/a", {"x": content})
        sign_manifest(folder, signer)
        add_signatures(store.objects, "a", (folder / "manifest.sig.json").read_bytes())
    assert [key for key, _ in Envelope.from_json(store.signature("a") or b"").signatures] == [two.public.key_id]
