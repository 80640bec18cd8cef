"""A router with trusted keys opens what they signed and nothing older, unless an operator signs that it shall."""

import json
import logging
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.store import Signing as By
from pipeline.store import SnapshotStore, decisions, publication, sign_manifest, sign_snapshot
from pipeline.store.private_keys import generate
from quartermaster.serving.http.metrics import Metrics
from router import Router, SettingsInvalid, SnapshotInvalid, SnapshotUntrusted
from router.contract import CATALOG_DB, MANIFEST, POINTER_SIGNATURE, SIGNATURE, Manifest
from router.signing.envelope import Statement
from tests.support.publishing import corrupt, look, sign
from tests.support.signing import SignedOffice
from tests.support.stores import OwnStore, put

REFUSED = b"quartermaster_publication_refused 1.0"


@pytest.fixture
def office(tmp_path: Path, thin: Path) -> SignedOffice:
    """Three signed snapshots, numbered 1 to 3, of which the second serves."""
    made = SignedOffice(tmp_path, thin)
    for name in ("first", "second", "third"):
        made.signed(name)
    made.publish("second")
    return made


@pytest.fixture
def store(office: SignedOffice, tmp_path: Path) -> SnapshotStore:
    return SnapshotStore(tmp_path, "office")


def replaced(path: Path, data: bytes) -> None:
    """Replace a file, which may be a link to the session's."""
    path.unlink()
    path.write_bytes(data)


def test_a_signed_snapshot_opens_and_an_unsigned_one_does_not(office: SignedOffice) -> None:
    router = office.open()
    assert router.manifest.snapshot == "second"
    for name in ("second", "third"):
        (office.folder / name / SIGNATURE).unlink()
    with pytest.raises(SnapshotUntrusted, match=r"not signed by a trusted key: it has no manifest\.sig\.json"):
        office.open()
    assert Router.open(office.folder).manifest.snapshot == "second"
    office.publish("third")
    with pytest.raises(SnapshotUntrusted):
        router.reload()
    assert router.manifest.snapshot == "second"


def test_a_change_of_any_field_is_refused_though_every_checksum_is_right(office: SignedOffice) -> None:
    folder = office.folder / "second"
    before = (folder / MANIFEST).read_bytes()
    fields = json.loads(before)
    assert len(fields) > 20
    for name in fields.keys() - {"checksum"}:

        def change(manifest: dict[str, Any], name: str = name) -> None:
            value = manifest[name]
            manifest[name] = f"{value}x" if isinstance(value, str) else value + 1 if isinstance(value, int) else ["x"]

        sign(folder, change)
        with pytest.raises(SnapshotUntrusted if isinstance(fields[name], str | int) else SnapshotInvalid):
            office.open()
        replaced(folder / MANIFEST, before)
    sign(folder, lambda manifest: manifest.update(held=["a reason"]))
    with pytest.raises(SnapshotUntrusted, match=r"manifest\.json was changed after it was signed"):
        office.open()
    replaced(folder / MANIFEST, before)
    assert office.open()


def test_a_statement_about_another_snapshot_or_of_another_catalog_is_refused(office: SignedOffice) -> None:
    signature, data = office.folder / "second" / SIGNATURE, (office.folder / "second" / MANIFEST).read_bytes()
    shutil.copyfile(office.folder / "first" / SIGNATURE, signature)
    with pytest.raises(SnapshotUntrusted, match="that of 'first'"):
        office.open()
    statement = Statement.of(data, Manifest.read(office.folder / "second"))
    for wrong, told in (
        (replace(statement, catalog="crm"), "'second' of the catalog 'crm'"),
        (replace(statement, snapshot="x"), "signs 'x'"),
    ):
        signature.write_text(wrong.envelope().signed_by(office.signer).to_json())
        with pytest.raises(SnapshotUntrusted, match=told):
            office.open()


def test_a_catalog_serves_in_no_others_place(office: SignedOffice, tmp_path: Path) -> None:
    (tmp_path / "crm").symlink_to(office.folder)  # a link does not choose the catalog
    copy = shutil.copytree(office.folder / "second", tmp_path / "elsewhere" / "second")
    os.unlink(copy / CATALOG_DB)  # no router needs it
    for place, expected in ((tmp_path / "crm", "crm"), (copy, "elsewhere")):
        with pytest.raises(SnapshotUntrusted, match=f"'{expected}' is expected"):
            Router.open(place, trusted_keys=office.keys)
    assert Router.open(copy, trusted_keys=office.keys, catalog="office")
    office.signed("foreign", catalog="crm")
    office.publish("foreign")
    with pytest.raises(SnapshotUntrusted, match="of the catalog 'crm', and 'office' is expected"):
        office.open()
    assert office.open(catalog="crm").manifest.catalog == "crm"


def test_a_store_without_a_name_needs_the_catalogs(office: SignedOffice, tmp_path: Path) -> None:
    store: Any = OwnStore(tmp_path / "own")
    for name in ("first", "second"):
        put(store, office.folder / name)
        store.publish(name)
    with pytest.raises(SettingsInvalid, match="own://office does not tell its catalog's name"):
        Router.open(store, trusted_keys=office.keys)
    assert Router.open(store, trusted_keys=office.keys, catalog="office").manifest.snapshot == "second"
    with pytest.raises(SettingsInvalid, match="cannot keep a signed pointer"):
        decisions.use(store, "first", By(office.signer))


def test_keys_are_rotated_without_a_pause(office: SignedOffice, tmp_path: Path) -> None:
    new, other = generate(tmp_path / "new.pem"), generate(tmp_path / "other.pem")
    sign_manifest(office.folder / "second", new)
    for keys in (office.keys, [*office.keys, new.public.text], [new.public.text]):
        assert Router.open(office.folder, trusted_keys=keys)
    with pytest.raises(SnapshotUntrusted, match="is not trusted"):
        Router.open(office.folder, trusted_keys=[other.public.text])


def test_signing_signs_nothing_that_somebody_else_wrote_or_damaged(office: SignedOffice) -> None:
    signature = office.folder / "first" / SIGNATURE
    row = json.loads(signature.read_text())
    signature.write_text(json.dumps({**row, "payload": "e30="}))
    sign_manifest(office.folder / "first", office.signer)
    assert json.loads(signature.read_text()) == row
    (office.folder / "third" / SIGNATURE).unlink()
    replaced(office.folder / "third" / CATALOG_DB, b"x")
    with pytest.raises(SnapshotInvalid, match="corrupt"):
        sign_snapshot(office.folder / "third", office.signer)
    assert not (office.folder / "third" / SIGNATURE).exists()


def test_catalog_and_state_without_keys_are_refused(office: SignedOffice, tmp_path: Path) -> None:
    for options in ({"catalog": "office"}, {"trust_state": tmp_path / "state.json"}):
        with pytest.raises(SettingsInvalid, match="give trusted_keys too"):
            Router.open(office.folder, **options)


def test_an_older_or_equal_number_is_refused_and_told(office: SignedOffice, caplog: pytest.LogCaptureFixture) -> None:
    router = office.open()
    office.publish("first")
    with caplog.at_level(logging.WARNING, "router"):
        look(router)
        look(router)
    assert router.manifest.snapshot == "second"
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "has number 1, and second with number 2 has served" in caplog.text
    assert "has number 1" in router.refusal and REFUSED in Metrics(router).exposition()
    office.signed("twin", sequence=2)
    office.publish("twin")
    with pytest.raises(SnapshotUntrusted, match="has number 2, and second with number 2 has served"):
        router.reload()
    office.publish("third")
    look(router)
    assert (router.manifest.snapshot, router.refusal) == ("third", "")
    assert REFUSED not in Metrics(router).exposition()


def test_an_operator_goes_back_by_a_later_number(office: SignedOffice, store: SnapshotStore, tmp_path: Path) -> None:
    state = tmp_path / "trust.json"
    router = office.open(trust_state=state)
    before = (office.folder / "first" / MANIFEST).read_bytes()
    assert decisions.rollback(store, By(office.signer)) == "first"
    look(router)
    assert router.manifest.snapshot == "first"
    assert json.loads(state.read_text())["office"]["counter"] == 4
    assert (office.folder / "first" / MANIFEST).read_bytes() == before
    replayed = (office.folder / POINTER_SIGNATURE).read_bytes()
    # The snapshot that was left is older now, also for a router that starts again.
    office.publish("second")
    for again in (router.reload, lambda: office.open(trust_state=state)):
        with pytest.raises(SnapshotUntrusted, match="has number 2, and first with number 4 has served"):
            again()
    decisions.use(store, "second", By(office.signer))
    look(router)
    assert router.manifest.snapshot == "second"
    # An old pointer that is put back makes nothing serve.
    (office.folder / POINTER_SIGNATURE).write_bytes(replayed)
    office.publish("first")
    with pytest.raises(SnapshotUntrusted, match="number 4, and second with number 5"):
        router.reload()


def test_a_build_that_a_rollback_overtook_is_signed_as_newest(office: SignedOffice, store: SnapshotStore) -> None:
    decisions.rollback(store, By(office.signer))
    router = office.open()
    store.publish("third")  # a build that took number 3 before the rollback took 4
    with pytest.raises(SnapshotUntrusted):
        router.reload()
    publication.sign_published(store, "third", office.signer)
    assert router.reload() and router.manifest.snapshot == "third"
    number = store.take_sequence()
    assert number == 6
    office.signed("fourth", sequence=number)
    office.publish("fourth")
    assert router.reload() and router.manifest.snapshot == "fourth"


def test_without_a_key_a_rollback_must_be_wanted(office: SignedOffice, store: SnapshotStore) -> None:
    with pytest.raises(SettingsInvalid, match="give --sign-key FILE, or --unsigned"):
        decisions.rollback(store)
    assert store.current() == "second"
    assert decisions.rollback(store, By(optional=True)) == "first"
    store.publish("second")
    for name in ("first", "second", "third"):
        (office.folder / name / SIGNATURE).unlink()
    (office.folder / POINTER_SIGNATURE).unlink(missing_ok=True)
    decisions.release(store, "second")
    assert decisions.rollback(store) == "first"


def test_a_held_snapshot_serves_once_it_is_signed(office: SignedOffice, store: SnapshotStore) -> None:
    held = office.signed("held", held=["too few tools"])
    (held / SIGNATURE).unlink()  # as a build leaves it
    before = (held / MANIFEST).read_bytes()
    router = office.open()
    with pytest.raises(SettingsInvalid, match="not signed"):
        decisions.use(store, "held")
    decisions.use(store, "held", By(office.signer))
    assert router.reload() and router.manifest.snapshot == "held"
    assert (held / MANIFEST).read_bytes() == before


def test_a_state_outlasts_a_restart_and_is_shared_by_catalogs(office: SignedOffice, tmp_path: Path) -> None:
    state = tmp_path / "state" / "trust.json"
    with pytest.raises(SnapshotUntrusted, match="Its folder must be writable"):
        office.open(trust_state=state)
    state.parent.mkdir()
    for _ in range(2):  # the same snapshot again
        office.open(trust_state=state)
    office.signed("foreign", catalog="crm", sequence=1)
    Router.open(office.folder / "foreign", trusted_keys=office.keys, catalog="crm", trust_state=state)
    office.publish("first")
    with pytest.raises(SnapshotUntrusted, match="second with number 2 has served"):
        office.open(trust_state=state)
    assert json.loads(state.read_text()).keys() == {"crm", "office"}
    for text in ("", "[]", '{"office": {"counter": 0}}', "{" * 90_000):
        state.write_text(text)
        with pytest.raises(SettingsInvalid, match=r"trust\.json cannot be read"):
            office.open(trust_state=state)


def test_a_snapshot_that_does_not_open_is_not_counted_as_served(office: SignedOffice) -> None:
    router = office.open()
    corrupt(office.folder / "third")
    office.publish("third")
    with pytest.raises(SnapshotInvalid, match="corrupt"):
        router.reload()
    office.signed("twin", sequence=3)
    office.publish("twin")
    assert router.reload()
