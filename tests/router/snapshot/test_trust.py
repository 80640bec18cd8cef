"""A router with trusted keys opens what they signed, and nothing else."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from router import Router, SettingsInvalid, SnapshotInvalid, SnapshotUntrusted
from router.contract import CATALOG_DB, MANIFEST, SIGNATURE
from router.signing.private_keys import generate
from router.store import Signing as By
from router.store import SnapshotStore, decisions, sign_manifest
from tests.support.publishing import sign
from tests.support.signing import SignedOffice
from tests.support.zip_store import ZipStore


@pytest.fixture
def office(tmp_path: Path, snapshot: Path) -> SignedOffice:
    made = SignedOffice(tmp_path, snapshot)
    made.signed("first")
    made.publish("first")
    return made


def replaced(path: Path, data: bytes) -> None:
    """Replace a file, which may be a link to the session's."""
    path.unlink()
    path.write_bytes(data)


def test_a_signed_snapshot_opens_and_an_unsigned_one_does_not(office: SignedOffice) -> None:
    assert Router.open(office.folder, trusted_keys=office.keys).manifest.snapshot == "first"
    (office.folder / "first" / SIGNATURE).unlink()
    with pytest.raises(SnapshotUntrusted, match=r"not signed by a trusted key: it has no manifest\.sig\.json"):
        Router.open(office.folder, trusted_keys=office.keys)
    assert Router.open(office.folder).manifest.snapshot == "first"


def test_a_change_of_any_file_is_refused(office: SignedOffice) -> None:
    folder = office.folder / "first"
    names = [*json.loads((folder / MANIFEST).read_bytes())["files"], MANIFEST, SIGNATURE]
    assert CATALOG_DB in names and len(names) > 15
    for name in names:
        data = (folder / name).read_bytes()
        place = data.index(b'"sig": ') + 12 if name == SIGNATURE else len(data) // 2
        replaced(folder / name, data[:place] + bytes((data[place] ^ 1,)) + data[place + 1 :])
        with pytest.raises(SnapshotInvalid):
            Router.open(office.folder, trusted_keys=office.keys)
        replaced(folder / name, data)
    assert Router.open(office.folder, trusted_keys=office.keys)


def test_a_change_of_any_field_is_refused_though_every_checksum_is_right(office: SignedOffice) -> None:
    folder = office.folder / "first"
    before = (folder / MANIFEST).read_bytes()
    fields = json.loads(before)
    assert len(fields) > 20
    for name in fields.keys() - {"checksum"}:

        def change(manifest: dict[str, Any], name: str = name) -> None:
            value = manifest[name]
            manifest[name] = f"{value}x" if isinstance(value, str) else value + 1 if isinstance(value, int) else ["x"]

        sign(folder, change)
        with pytest.raises(SnapshotUntrusted if isinstance(fields[name], str | int) else SnapshotInvalid):
            Router.open(office.folder, trusted_keys=office.keys)
        replaced(folder / MANIFEST, before)
    sign(folder, lambda manifest: manifest.update(held=["a reason"]))
    with pytest.raises(SnapshotUntrusted, match=r"manifest\.json was changed after it was signed"):
        Router.open(office.folder, trusted_keys=office.keys)
    replaced(folder / MANIFEST, before)
    assert Router.open(office.folder, trusted_keys=office.keys)


def test_the_signature_of_another_snapshot_is_refused(office: SignedOffice) -> None:
    second = office.signed("second")
    shutil.copyfile(office.folder / "first" / SIGNATURE, second / SIGNATURE)
    with pytest.raises(SnapshotUntrusted, match="that of 'first'"):
        Router.open(second, trusted_keys=office.keys)


def test_another_catalog_of_the_same_key_does_not_serve_in_its_place(office: SignedOffice) -> None:
    office.signed("foreign", catalog="crm")
    office.publish("foreign")
    with pytest.raises(SnapshotUntrusted, match="of the catalog 'crm', and 'office' is expected"):
        Router.open(office.folder, trusted_keys=office.keys)
    assert Router.open(office.folder, trusted_keys=office.keys, catalog="crm").manifest.catalog == "crm"


def test_a_link_does_not_choose_the_catalog(office: SignedOffice, tmp_path: Path) -> None:
    link = tmp_path / "crm"
    link.symlink_to(office.folder)
    with pytest.raises(SnapshotUntrusted, match="'crm' is expected"):
        Router.open(link, trusted_keys=office.keys)


def test_a_copy_elsewhere_is_opened_where_its_catalog_is_named(office: SignedOffice, tmp_path: Path) -> None:
    copy = shutil.copytree(office.folder / "first", tmp_path / "elsewhere" / "first")
    os.unlink(copy / CATALOG_DB)  # no router needs it
    with pytest.raises(SnapshotUntrusted, match="'elsewhere' is expected"):
        Router.open(copy, trusted_keys=office.keys)
    assert Router.open(copy, trusted_keys=office.keys, catalog="office")


def test_a_store_elsewhere_needs_the_catalogs_name(office: SignedOffice, tmp_path: Path) -> None:
    store = ZipStore(tmp_path / "local")
    with store.staging("0" * 64) as staged:
        shutil.copytree(office.folder / "first", staged, dirs_exist_ok=True)
        store.seal(staged)
    store.publish("first")
    with pytest.raises(SettingsInvalid, match="zip://office does not tell its catalog's name"):
        Router.open(store, trusted_keys=office.keys)
    assert Router.open(store, trusted_keys=office.keys, catalog="office").manifest.snapshot == "first"
    with pytest.raises(SettingsInvalid, match="cannot keep a signed pointer"):
        store.publish("first")
        with store.staging("1" * 64) as staged:
            shutil.copytree(office.signed("second"), staged, dirs_exist_ok=True)
            store.seal(staged)
        store.publish("second")
        decisions.use(store, "first", By(office.signer))


def test_keys_are_rotated_without_a_pause(office: SignedOffice, tmp_path: Path) -> None:
    new = generate(tmp_path / "new.pem")
    sign_manifest(office.folder / "first", new)
    for keys in (office.keys, [*office.keys, new.public.text], [new.public.text]):
        assert Router.open(office.folder, trusted_keys=keys)
    other = generate(tmp_path / "other.pem")
    with pytest.raises(SnapshotUntrusted, match="is not trusted"):
        Router.open(office.folder, trusted_keys=[other.public.text])


def test_signing_again_signs_nothing_that_somebody_else_wrote(office: SignedOffice) -> None:
    folder = office.folder / "first"
    row = json.loads((folder / SIGNATURE).read_text())
    replaced(folder / SIGNATURE, json.dumps({**row, "payload": "e30="}).encode())
    sign_manifest(folder, office.signer)
    assert json.loads((folder / SIGNATURE).read_text()) == row


def test_catalog_and_state_without_keys_are_refused(office: SignedOffice, tmp_path: Path) -> None:
    for options in ({"catalog": "office"}, {"trust_state": tmp_path / "state.json"}):
        with pytest.raises(SettingsInvalid, match="give trusted_keys too"):
            Router.open(office.folder, **options)


def test_a_store_of_unsigned_snapshots_rolls_back_as_before(tmp_path: Path, snapshot: Path) -> None:
    made = SignedOffice(tmp_path, snapshot)
    for number, name in enumerate(("first", "second"), 1):
        made.add(name, sequence=number, content_hash=name, inputs_hash=name)
    made.publish("second")
    assert SnapshotStore(tmp_path, "office").rollback() == "first"
